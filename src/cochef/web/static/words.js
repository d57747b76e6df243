// Things of the kitchen in words.

const count = (number, one) => (number === 1 ? `1 ${one}` : `${number} ${one === "tomato" ? "tomatoes" : `${one}s`}`);

/** What is in a pot or soup, from its letters. */
export function contentsWords(letters) {
  const onions = [...letters].filter((letter) => letter === "o").length;
  const parts = [];
  if (onions) parts.push(count(onions, "onion"));
  if (letters.length > onions) parts.push(count(letters.length - onions, "tomato"));
  return parts.join(" and ");
}

/** An item in words. */
export function itemWords(item) {
  if (!item) return "nothing";
  return item.startsWith("soup:") ? `a soup of ${contentsWords(item.slice(5))}` : { onion: "an onion", tomato: "a tomato", dish: "a dish" }[item];
}

const EVENTS = {
  soup_pickup: "plates a soup",
  delivery: "delivers a soup",
  potting_onion: "puts an onion into a pot",
  potting_tomato: "puts a tomato into a pot",
  put_onion_on_counter: "puts an onion on a counter",
  put_tomato_on_counter: "puts a tomato on a counter",
  put_dish_on_counter: "puts a dish on a counter",
  put_soup_on_counter: "puts a soup on a counter",
  pickup_onion_from_counter: "takes an onion from a counter",
  pickup_tomato_from_counter: "takes a tomato from a counter",
  pickup_dish_from_counter: "takes a dish from a counter",
  pickup_soup_from_counter: "takes a soup from a counter",
  pickup_onion_from_dispenser: "takes a fresh onion",
  pickup_tomato_from_dispenser: "takes a fresh tomato",
  pickup_dish_from_dispenser: "takes a clean dish",
};

/** The events that people see, with words for them; the others are finer points of the same actions. */
export const SEEN_EVENTS = Object.keys(EVENTS);

/** An event in words, after the name of who caused it. */
export function eventWords(name) {
  return EVENTS[name] ?? name.replaceAll("_", " ");
}

/** An event in words, after "You". */
export function ownEventWords(name) {
  return eventWords(name).replace(/^(\w+)s /, "$1 ");
}

const WAYS = { N: [0, -1], S: [0, 1], E: [1, 0], W: [-1, 0] };
const TILES = { O: "the onions", T: "the tomatoes", D: "the dishes", S: "the serving window" };

/** What a chef looks at, in words; empty for the floor. */
export function facedWords(kitchen, state, [x, y, facing]) {
  const [dx, dy] = WAYS[facing];
  const tile = kitchen.rows[y + dy][x + dx];
  const isThere = ([atX, atY]) => atX === x + dx && atY === y + dy;
  if (tile === "P") return potWords(kitchen, state.pots.find(isThere));
  if (tile !== "X") return TILES[tile] ?? "";
  const item = state.counters.find(isThere);
  return item ? `a counter with ${itemWords(item[2])}` : "an empty counter";
}

function potWords(kitchen, pot) {
  if (!pot) return "an empty pot";
  const [, , contents, ticks] = pot;
  const state = ticks < 0 ? "" : ticks >= kitchen.times[contents] ? ", ready" : ", cooking";
  return `a pot with ${contentsWords(contents)}${state}`;
}

/** Seconds as minutes and seconds. */
export function clockWords(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
