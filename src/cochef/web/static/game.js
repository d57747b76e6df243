// A game: the kitchen, score, time, orders and hands; keys go to the server, ticks come back.

import { icon, loadSprites, showIcon } from "./art.js";
import { button, element, fill, plain } from "./dom.js";
import { nextStep } from "./guide.js";
import { ACTIONS, listen, touchButton } from "./keys.js";
import { openSpeech } from "./speech.js";
import { openStage } from "./stage.js";
import { clockWords, contentsWords, itemWords } from "./words.js";

const QUIET_SECONDS = 2; // without a tick until the page says that it waits
const REASONS = {
  hidden: "You looked at something else, so the game has paused.",
  stall: "The connection was too slow, so the game has paused.",
};
const HATS = ["blue, with a 1 on the hat", "green, with a 2 on the hat"];

/** The orders of a kitchen as a list. */
export function orderList(kitchen) {
  return element(
    "ul",
    { class: "orders", "aria-label": "Orders" },
    kitchen.orders.map(({ contents, value, time }) =>
      element(
        "li",
        { title: `A soup of ${contentsWords(contents)} pays ${value} and cooks ${time} ticks` },
        icon(`soup:${contents}`, 30),
        element("span", { class: "hidden" }, `A soup of ${contentsWords(contents)} pays `),
        icon("sign:coin", 14),
        element("strong", {}, String(value)),
        element("span", { class: "hidden" }, " and cooks "),
        icon("sign:clock", 14),
        element("span", {}, String(time)),
        element("span", { class: "hidden" }, " ticks"),
      ),
    ),
  );
}

function hand(seat, who) {
  const picture = icon(null, 26);
  picture.hidden = true;
  const words = element("span", { class: "holds" }, "nothing");
  const says = element("span", { class: "says" }, `${who} `, picture, " ", words);
  const box = element("div", { class: `hand seat${seat}` }, icon(`portrait:${seat}`, 26), says);
  let shown = "";
  return {
    box,
    show(item) {
      if (item === shown) return;
      shown = item;
      showIcon(picture, item);
      picture.hidden = !item;
      words.textContent = itemWords(item);
    },
  };
}

function touchPads(press, release) {
  const pad = (name, text) => touchButton(name, text, ACTIONS[name], press, release);
  const cross = element("div", { class: "pad cross" }, pad("north", "▲"), pad("west", "◀"), pad("east", "▶"), pad("south", "▼"));
  return [cross, element("div", { class: "pad" }, pad("interact", "Use"))];
}

/** The view of the game that the server announced; `earlier` has its moments so far. `moments` is for a replay. */
export async function openGame(game, send, earlier = []) {
  await loadSprites();
  const own = game.seat;
  const partner = game.partner ? (game.phase === "play" ? "Your partner" : `Partner ${game.partner}`) : "";
  const stage = await openStage(game.kitchen, own, `The kitchen ${plain(game.kitchen.name)}`);
  const score = element("strong", { class: "number" }, String(game.score));
  const time = element("strong", { class: "number" });
  const bar = element("progress", { max: game.ticks, value: game.ticks - game.t, "aria-label": "Time left" });
  const hands = [0, 1].map((seat) => hand(seat, seat === own ? "You hold" : `${partner} holds`));
  const order = (own === 0 ? hands : [hands[1], hands[0]]).slice(0, partner ? 2 : 1);
  const speech = openSpeech(game, partner);
  const guide = game.phase === "tutorial" ? element("p", { class: "guide", role: "status", "aria-live": "polite" }) : null;
  const overlay = element("div", { class: "overlay" });
  const moments = earlier.length ? [...earlier] : [{ t: game.t, state: game.state, score: game.score, events: [[], []] }];
  let waiting = true;
  let counting = 0;
  let quiet = 0; // the timer that runs out when no tick comes

  const press = (action) => {
    if (waiting) return action === ACTIONS.interact ? ready() : undefined;
    send({ type: "down", action });
  };
  const release = (action) => send({ type: "up", action });
  const silence = listen(press, release);

  function ready() {
    if (waiting) send({ type: "ready", seconds: game.countdown ?? 3 });
    stage.canvas.focus({ preventScroll: true });
  }

  function ask(why = "") {
    waiting = true;
    clearInterval(counting);
    clearTimeout(quiet);
    const begun = game.t > 0 || moments.length > 1;
    const words = why || (begun ? "Your game waits for you." : `You are the chef in ${HATS[own]}${partner ? `. ${partner} is the other one` : ""}.`);
    const start = button(begun ? "Go on" : "Start", ready, { class: "main" });
    const help = element("p", { class: "small keys" }, "Arrows or W A S D to walk, space to take, put and serve.");
    panel(element("p", { role: "alert" }, words), start, help);
    start.focus({ preventScroll: true });
  }

  function panel(...content) {
    overlay.hidden = false;
    fill(overlay, element("div", { class: "panel" }, content));
  }

  function paused({ reason, stands, left }) {
    if (!stands) return panel(element("p", { role: "alert" }, "The game goes on: it has been paused too often."));
    const more = left === null ? "" : left === 0 ? " From now on it will not pause any more." : ` It can pause ${left === 1 ? "once" : `${left} times`} more.`;
    ask(REASONS[reason] + more);
  }

  /** The server has not been heard for a while: say so, it may have paused the game or not. */
  function noWord() {
    panel(element("p", { role: "alert" }, "No word from the kitchen: the connection is slow. The game pauses if this lasts."));
  }

  function hide() {
    if (document.visibilityState === "hidden" && !waiting) send({ type: "pause" });
  }
  document.addEventListener("visibilitychange", hide);

  function count(seconds) {
    waiting = false;
    const number = element("p", { class: "count" });
    const end = performance.now() + 1000 * seconds;
    panel(number);
    clearInterval(counting);
    const step = () => {
      number.textContent = String(Math.max(1, Math.ceil((end - performance.now()) / 1000)));
    };
    step();
    counting = setInterval(step, 100);
    overlay.hidden = seconds <= 0;
    stage.canvas.focus({ preventScroll: true });
  }

  function draw(moment, milliseconds, drawn = null) {
    stage.show(moment.state, milliseconds, drawn);
    if (guide) advise(moment.state);
    score.textContent = String(moment.score);
    time.textContent = clockWords((game.ticks - moment.t) / game.rate);
    bar.value = game.ticks - moment.t;
    moment.state.chefs.forEach(([, , , held], seat) => hands[seat].show(held));
  }

  function advise(state) {
    const { text, cells } = nextStep(game.kitchen, state, own);
    if (guide.textContent !== text) guide.textContent = text;
    stage.mark(cells);
  }

  function tick(message) {
    const before = moments[moments.length - 1];
    moments.push({ t: message.t, state: message.state, score: message.score, events: message.events });
    clearInterval(counting);
    overlay.hidden = true;
    waiting = false;
    draw(message, 1000 / game.rate, () => send({ type: "seen", t: message.t }));
    const gained = message.score - before.score;
    message.events.forEach((events, seat) => events.includes("delivery") && stage.gain(seat, `+${gained}`));
    speech.tell(message, before);
    clearTimeout(quiet);
    if (message.t < game.ticks) quiet = setTimeout(noWord, 1000 * Math.max(QUIET_SECONDS, 3 / game.rate));
  }

  const root = element(
    "section",
    { class: "game" },
    element("h1", { class: "hidden" }, `Game${partner ? ` with ${partner}` : ""}`),
    element(
      "div",
      { class: "top" },
      element("span", { class: "score" }, icon("sign:coin", 22), element("span", { class: "hidden" }, "Score "), score),
      orderList(game.kitchen),
      element("span", { class: "time" }, icon("sign:clock", 20), element("span", { class: "hidden" }, "Time left "), time),
      game.may_stop ? button("End this game", () => send({ type: "stop" }), { class: "quiet" }) : null,
    ),
    bar,
    guide,
    element("div", { class: "pane" }, stage.box),
    element("div", { class: "hands" }, order.map((one) => one.box)),
    ...touchPads(press, release),
    overlay,
    ...speech.regions,
  );

  return {
    root,
    moments,
    begin() {
      draw(moments[moments.length - 1], 0);
      ask();
    },
    hear(message) {
      if (message.type === "tick") tick(message);
      else if (message.type === "count") count(message.seconds);
      else if (message.type === "paused") paused(message);
      else if (message.type === "lost") ask();
    },
    close() {
      clearInterval(counting);
      clearTimeout(quiet);
      document.removeEventListener("visibilitychange", hide);
      silence();
      stage.close();
    },
  };
}
