// A game: the kitchen, score, time, orders and hands; keys go to the server, ticks come back.

import { icon, loadSprites, showIcon } from "./art.js";
import { button, element, fill, plain } from "./dom.js";
import { ACTIONS, listen, touchButton } from "./keys.js";
import { openStage } from "./stage.js";
import { clockWords, contentsWords, itemWords } from "./words.js";

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
  const words = element("span", { class: "holds" }, "nothing");
  const box = element("div", { class: `hand seat${seat}` }, icon(`portrait:${seat}`, 26), element("span", {}, who), picture, words);
  let shown = "";
  return {
    box,
    show(item) {
      if (item === shown) return;
      shown = item;
      showIcon(picture, item);
      words.textContent = itemWords(item);
    },
  };
}

function touchPad(press, release) {
  const pad = (name, text) => touchButton(name, text, ACTIONS[name], press, release);
  return element(
    "div",
    { class: "pads" },
    element("div", { class: "cross" }, pad("north", "▲"), pad("west", "◀"), pad("east", "▶"), pad("south", "▼")),
    pad("interact", "Use"),
  );
}

/** The view of the game that the server announced. `moments` has all that happened, for a replay. */
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
  const news = element("p", { class: "hidden", role: "status", "aria-live": "polite" });
  const overlay = element("div", { class: "overlay" });
  const known = earlier.filter(({ t }) => t < game.t);
  const moments = [...known, { t: game.t, state: game.state, score: game.score, events: [[], []] }];
  let waiting = true;
  let counting = 0;

  const press = (action) => {
    if (waiting && action === ACTIONS.interact) return ready();
    send({ type: "down", action });
  };
  const release = (action) => send({ type: "up", action });
  const silence = listen(press, release);

  function ready() {
    if (waiting) send({ type: "ready", seconds: game.countdown ?? 3 });
    stage.canvas.focus({ preventScroll: true });
  }

  function ask() {
    waiting = true;
    clearInterval(counting);
    const words = game.t > 0 ? "Your game waits for you." : `You are the chef in ${HATS[own]}${partner ? `. ${partner} is the other one` : ""}.`;
    const start = button(game.t > 0 ? "Go on" : "Start", ready, { class: "main" });
    overlay.hidden = false;
    const help = element("p", { class: "small" }, "Arrows or W A S D to walk, space to take, put and serve.");
    fill(overlay, element("div", { class: "panel" }, element("p", {}, words), start, help));
    start.focus({ preventScroll: true });
  }

  function count(seconds) {
    waiting = false;
    const number = element("p", { class: "count" });
    const end = performance.now() + 1000 * seconds;
    fill(overlay, element("div", { class: "panel" }, number));
    clearInterval(counting);
    const step = () => {
      number.textContent = String(Math.max(1, Math.ceil((end - performance.now()) / 1000)));
    };
    step();
    counting = setInterval(step, 100);
    overlay.hidden = seconds <= 0;
    stage.canvas.focus({ preventScroll: true });
  }

  function draw(moment, milliseconds) {
    stage.show(moment.state, milliseconds);
    score.textContent = String(moment.score);
    time.textContent = clockWords((game.ticks - moment.t) / game.rate);
    bar.value = game.ticks - moment.t;
    moment.state.chefs.forEach(([, , , held], seat) => hands[seat].show(held));
  }

  function tick(message) {
    const before = moments[moments.length - 1];
    moments.push({ t: message.t, state: message.state, score: message.score, events: message.events });
    clearInterval(counting);
    overlay.hidden = true;
    waiting = false;
    draw(message, 1000 / game.rate);
    const gained = message.score - before.score;
    message.events.forEach((events, seat) => {
      if (!events.includes("delivery")) return;
      stage.gain(seat, `+${gained}`);
      news.textContent = `${seat === own ? "You deliver" : `${partner} delivers`} a soup: ${gained}. Score ${message.score}.`;
    });
    send({ type: "seen", t: message.t });
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
    ),
    bar,
    element("div", { class: "pane" }, stage.box, overlay),
    element("div", { class: "hands" }, order.map((one) => one.box)),
    touchPad(press, release),
    news,
    game.may_stop ? button("End this game", () => send({ type: "stop" }), { class: "quiet" }) : null,
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
      else if (message.type === "lost") ask();
    },
    close() {
      clearInterval(counting);
      silence();
      stage.close();
    },
  };
}
