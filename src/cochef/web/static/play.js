// Free play: choose, play, look at it again.

import "./theme.js";
import { loadSprites } from "./art.js";
import { banner, button, element, paragraphs, plain, show } from "./dom.js";
import { openGame, orderList } from "./game.js";
import { openReplay } from "./replay.js";
import { connect } from "./socket.js";

const KEY = "cochef-play";
let kitchens = [];
let view = null;
let wanted = remembered();

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(wanted));
  } catch {
    // Then the next visit begins with the first layout.
  }
}

function close() {
  if (view) view.close();
  view = null;
}

function field(label, input, hint = null) {
  input.id = `field-${label.replaceAll(" ", "-").toLowerCase()}`;
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input, hint);
}

function choice(options, chosen, onchange) {
  const made = element("select", { onchange: () => onchange(made.value) }, options.map(([value, text]) => element("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) made.value = chosen;
  return made;
}

function partnerName(name) {
  return name.startsWith("human-") ? name.split(":")[0] : plain(name.replace(/^script:/, "script: ").replace(/\.safetensors$/, ""));
}

function lobby() {
  close();
  const kitchen = kitchens.find(({ name }) => name === wanted.layout) ?? kitchens[0];
  wanted.layout = kitchen.name;
  const partners = kitchen.partners;
  if (!partners.some(({ name }) => name === wanted.partner)) wanted.partner = partners[0].name;
  const summary = element("p", { class: "small", id: "summary" }, partners.find(({ name }) => name === wanted.partner).summary);
  const set = (key, convert = String) => (value) => {
    wanted[key] = convert(value);
    keep();
    if (key === "layout") lobby();
    if (key === "partner") summary.textContent = partners.find(({ name }) => name === value).summary;
  };
  const picture = element("img", { class: "preview", alt: "", src: `/art/layouts/${encodeURIComponent(kitchen.name)}` });
  show(
    element(
      "section",
      { class: "card" },
      element("h1", {}, "Cook together"),
      element("p", {}, "Fill pots with three ingredients, wait until the soup is ready, put it on a dish and serve it. You and your partner score together."),
      element(
        "form",
        { onsubmit: (event) => (event.preventDefault(), start(kitchen)) },
        field("Kitchen", choice(kitchens.map(({ name }) => [name, plain(name)]), wanted.layout, set("layout")), element("p", { class: "small" }, kitchen.description)),
        element("div", { class: "row" }, picture, orderList(kitchen)),
        field("Partner", choice(partners.map(({ name }) => [name, partnerName(name)]), wanted.partner, set("partner")), summary),
        element(
          "div",
          { class: "fields" },
          field("You are", choice([["0", "chef 1, blue"], ["1", "chef 2, green"]], String(wanted.seat ?? 0), set("seat", Number))),
          field("Ticks", choice([["4", "4 a second"], ["6", "6 a second"], ["8", "8 a second"], ["12", "12 a second"]], String(wanted.rate ?? 6), set("rate", Number))),
          field("Partner acts", choice([["1", "every tick"], ["2", "every 2nd tick"], ["3", "every 3rd tick"], ["4", "every 4th tick"], ["8", "every 8th tick"]], String(wanted.slowness ?? 2), set("slowness", Number))),
          field("Game lasts", choice([["200", "200 ticks"], ["400", "400 ticks"], ["800", "800 ticks"]], String(wanted.ticks ?? 400), set("ticks", Number))),
        ),
        element("button", { type: "submit", class: "main" }, "Play"),
      ),
    ),
  );
}

function start(kitchen) {
  keep();
  banner("Preparing the kitchen …");
  socket.send({ type: "start", layout: kitchen.name, partner: wanted.partner, seat: wanted.seat ?? 0, rate: wanted.rate ?? 6, slowness: wanted.slowness ?? 2, ticks: wanted.ticks ?? 400 });
}

async function begin(message) {
  close();
  const opened = await openGame(message, socket.send, message.earlier?.map((moment) => JSON.parse(moment)));
  view = { ...opened, message };
  show(opened.root);
  opened.begin();
}

async function over(message) {
  const { moments, message: game } = view;
  close();
  const names = [0, 1].map((seat) => (seat === game.seat ? "You" : partnerName(game.partner)));
  const replay = await openReplay({ kitchen: game.kitchen, seat: game.seat, moments }, game.rate, names);
  view = replay;
  show(
    element("section", { class: "card" }, element("h1", {}, `Score ${message.score}`), element("div", { class: "row" }, button("Play again", () => start(game.kitchen), { class: "main" }), button("Choose another", lobby)), replay.root),
  );
  replay.begin();
}

let queue = Promise.resolve();
function hear(message) {
  queue = queue.then(() => handle(message));
}

async function handle(message) {
  if (message.type === "game") await begin(message);
  else if (message.type === "over" && view && view.message) await over(message);
  else if (message.type === "choose") choose(message);
  else if (message.type === "wait") banner("Preparing the kitchen …");
  else if (message.type === "error") banner(message.message);
  else if (message.type === "full") show(element("section", { class: "card" }, element("h1", {}, message.heading ?? "Full"), paragraphs(message.text)));
  else if (message.type === "elsewhere") elsewhere();
  else if (view && view.hear) view.hear(message);
}

/** Without a game on the server, one that is shown here is gone; a replay stays. */
function choose(message) {
  if (!view || (view.message && !message.waiting)) lobby();
}

function elsewhere() {
  close();
  const here = button("Continue here", () => socket.send({ type: "hello", take_over: true }), { class: "main" });
  show(element("section", { class: "card" }, element("h1", {}, "Open in another tab"), element("p", {}, "You are playing in another tab or window of this browser."), here));
}

await loadSprites();
kitchens = await fetch("/api/layouts").then((answer) => answer.json());
const socket = connect(hear);
