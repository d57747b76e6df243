// The tutorial's guide: what to do next for a soup, and where.

import { contentsWords, itemWords } from "./words.js";

const press = window.matchMedia("(pointer: coarse)").matches ? "touch Use" : "press space";
const LETTERS = { onion: "o", tomato: "t" };
const DISPENSERS = { o: "O", t: "T" };

function cellsOf(kitchen, tile) {
  return kitchen.rows.flatMap((row, y) => [...row].flatMap((letter, x) => (letter === tile ? [[x, y]] : [])));
}

/** What is missing in a pot for the first order, as letters. */
function missing(kitchen, contents) {
  const wanted = [...kitchen.orders[0].contents];
  for (const letter of contents) {
    const at = wanted.indexOf(letter);
    wanted.splice(at < 0 ? 0 : at, 1);
  }
  return wanted;
}

const at = ([x, y]) => [[x, y]];

/** The next step of the chef in a seat: a text, and the cells to go to. */
export function nextStep(kitchen, state, seat) {
  const held = state.chefs[seat][3];
  if (held && held.startsWith("soup:")) return { text: `Bring the soup to the serving window and ${press}.`, cells: cellsOf(kitchen, "S") };
  const lit = state.pots.filter(([, , , ticks]) => ticks >= 0);
  const ready = lit.find(([, , contents, ticks]) => ticks >= kitchen.times[contents]);
  const full = state.pots.find(([, , contents, ticks]) => ticks < 0 && !missing(kitchen, contents).length);
  if (ready ?? lit[0]) return platingStep(kitchen, held, ready, lit[0]);
  if (full) return { text: `The pot is full. Look at it with empty hands and ${press} to cook.`, cells: at(full) };
  return fillingStep(kitchen, held, state.pots[0]);
}

function platingStep(kitchen, held, ready, cooking) {
  if (!held) {
    const text = ready ? `The soup is ready. Take a dish: look at the dishes and ${press}.` : `The soup is cooking. Take a dish meanwhile: look at the dishes and ${press}.`;
    return { text, cells: cellsOf(kitchen, "D") };
  }
  if (held !== "dish") return { text: `You need a free hand. Put down ${itemWords(held)}: look at a counter and ${press}.`, cells: [] };
  if (ready) return { text: `The soup is ready. Look at the pot and ${press} to fill your dish.`, cells: at(ready) };
  return { text: "Go to the pot with your dish, and wait until the soup is ready.", cells: at(cooking) };
}

function fillingStep(kitchen, held, pot) {
  const contents = pot ? pot[2] : "";
  const wanted = missing(kitchen, contents);
  const done = contents ? `In the pot: ${contentsWords(contents)}. ` : "";
  if (!held) {
    const what = wanted[0] === "o" ? "an onion" : "a tomato";
    const from = wanted[0] === "o" ? "the onions" : "the tomatoes";
    return { text: `${done}Take ${what}: walk to ${from}, look at them and ${press}.`, cells: cellsOf(kitchen, DISPENSERS[wanted[0]]) };
  }
  if (wanted.includes(LETTERS[held])) return { text: `${done}Put ${itemWords(held)} into the pot: look at the pot and ${press}.`, cells: pot ? at(pot) : kitchen.pots };
  return { text: `You do not need ${itemWords(held)} yet. Put it down: look at a counter and ${press}.`, cells: [] };
}
