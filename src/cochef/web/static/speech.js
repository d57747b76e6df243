// What a screen reader says during a game: what both chefs do, what one looks at, ready soups, the time.

import { element } from "./dom.js";
import { SEEN_EVENTS, contentsWords, eventWords, facedWords, ownEventWords } from "./words.js";

const TIMES = [60, 30, 10]; // seconds left that are said

/** Two hidden regions, and `tell`, which is called with each moment after the one before. */
export function openSpeech(game, partner) {
  const news = element("p", { class: "hidden", role: "status", "aria-live": "polite" });
  const faced = element("p", { class: "hidden", role: "status", "aria-live": "polite" });

  function happened(moment, before) {
    const gained = moment.score - before.score;
    return moment.events.flatMap((events, seat) =>
      events
        .filter((name) => SEEN_EVENTS.includes(name))
        .map((name) => {
          const said = seat === game.seat ? `You ${ownEventWords(name)}` : `${partner} ${eventWords(name)}`;
          return name === "delivery" ? `${said}: ${gained}. Score ${moment.score}.` : `${said}.`;
        }),
    );
  }

  function cooked(moment, before) {
    const isReady = (state, [x, y]) => state.pots.some(([atX, atY, contents, ticks]) => atX === x && atY === y && ticks >= 0 && ticks >= game.kitchen.times[contents]);
    return moment.state.pots.filter((pot) => isReady(moment.state, pot) && !isReady(before.state, pot)).map(([, , contents]) => `A soup of ${contentsWords(contents)} is ready.`);
  }

  function timed(moment, before) {
    const left = ({ t }) => (game.ticks - t) / game.rate;
    return TIMES.filter((seconds) => left(before) > seconds && left(moment) <= seconds).map((seconds) => `${seconds} seconds left.`);
  }

  return {
    regions: [news, faced],
    tell(moment, before) {
      const said = [...happened(moment, before), ...cooked(moment, before), ...timed(moment, before)];
      if (said.length) news.textContent = said.join(" ");
      const words = facedWords(game.kitchen, moment.state, moment.state.chefs[game.seat]);
      const text = words ? `Before you: ${words}` : "";
      if (faced.textContent !== text) faced.textContent = text;
    },
  };
}
