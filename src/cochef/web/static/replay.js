// A game played again: the kitchen, a timeline of events, and what both chefs did.

import { icon, loadSprites } from "./art.js";
import { button, element, plain } from "./dom.js";
import { openStage } from "./stage.js";
import { SEEN_EVENTS, clockWords, eventWords, itemWords } from "./words.js";

/** Every event that people see: when, whose, what. */
function happenings(moments) {
  return moments.flatMap(({ t, events }, index) =>
    events.flatMap((names, seat) => names.filter((name) => SEEN_EVENTS.includes(name)).map((name) => ({ t, index, seat, name }))),
  );
}

function eventTable(found, names) {
  const counts = (name) => [0, 1].map((seat) => found.filter((one) => one.name === name && one.seat === seat).length);
  const rows = SEEN_EVENTS.map((name) => [name, counts(name)]).filter(([, [one, two]]) => one + two > 0);
  if (!rows.length) return element("p", {}, "Nothing was taken or put anywhere.");
  const heads = [0, 1].map((seat) => element("th", { scope: "col" }, icon(`portrait:${seat}`, 18), ` ${names[seat]}`));
  return element(
    "table",
    {},
    element("caption", {}, "Who did what how often"),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Event"), ...heads)),
    element("tbody", {}, rows.map(([name, [one, two]]) => element("tr", {}, element("th", { scope: "row" }, eventWords(name)), element("td", {}, String(one)), element("td", {}, String(two))))),
  );
}

/** The view of a replay: `film` has kitchen, seat and moments. */
export async function openReplay(film, rate, names) {
  await loadSprites();
  const { kitchen, moments, seat } = film;
  const stage = await openStage(kitchen, seat, `Replay in the kitchen ${plain(kitchen.name)}`);
  const found = happenings(moments);
  const last = moments.length - 1;
  let index = 0;
  let timer = 0;

  const slider = element("input", { type: "range", min: "0", max: String(last), value: "0", "aria-label": "Moment of the game" });
  const clock = element("output", {});
  const saying = element("p", { class: "saying" });
  const playing = button("Play", () => (timer ? pause() : play()), { class: "main" });
  const speed = element("select", { "aria-label": "Speed of the replay", onchange: () => timer && (pause(), play()) }, [1, 2, 4, 8].map((n) => element("option", { value: String(n) }, `${n} ×`)));
  const marks = element(
    "div",
    { class: "marks" },
    found.map(({ index: at, seat: who, name }) => {
      const mark = element("span", { class: `mark seat${who}${name === "delivery" ? " big" : ""}`, title: `${names[who]} ${eventWords(name)}` });
      mark.style.left = `${last ? (100 * at) / last : 0}%`;
      return mark;
    }),
  );

  function go(to, milliseconds = 0) {
    index = Math.min(last, Math.max(0, to));
    const moment = moments[index];
    stage.show(moment.state, milliseconds);
    slider.value = String(index);
    clock.textContent = `${clockWords(moment.t / rate)} · score ${moment.score}`;
    const happened = moment.events.flatMap((events, who) => events.filter((name) => SEEN_EVENTS.includes(name)).map((name) => `${names[who]} ${eventWords(name)}`));
    const hands = moment.state.chefs.map(([, , , held], who) => `${names[who]}: ${itemWords(held)}`).join(" · ");
    saying.textContent = happened.length ? happened.join("; ") : `In hand: ${hands}`;
    slider.setAttribute("aria-valuetext", `${clock.textContent}. ${saying.textContent}`);
  }

  function play() {
    if (index >= last) go(0);
    const period = 1000 / (rate * Number(speed.value));
    playing.textContent = "Pause";
    timer = setInterval(() => (index >= last ? pause() : go(index + 1, period)), period);
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    playing.textContent = "Play";
  }

  const jump = (way) => {
    pause();
    const later = found.filter((one) => (way > 0 ? one.index > index : one.index < index));
    if (later.length) go(way > 0 ? later[0].index : later[later.length - 1].index);
  };
  slider.addEventListener("input", () => (pause(), go(Number(slider.value))));

  const root = element(
    "section",
    { class: "replay", "aria-label": "Replay" },
    element("div", { class: "pane" }, stage.box),
    saying,
    element("div", { class: "timeline" }, marks, slider),
    element("div", { class: "row" }, playing, button("Earlier event", () => jump(-1)), button("Later event", () => jump(1)), speed, clock),
    eventTable(found, names),
  );
  return {
    root,
    begin: () => go(0),
    close() {
      pause();
      stage.close();
    },
  };
}
