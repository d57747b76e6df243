// A participant's way through a study: the server says where they stand, the page shows it.

import "./theme.js";
import { loadSprites } from "./art.js";
import { banner, button, element, paragraphs, show } from "./dom.js";
import { openGame } from "./game.js";
import { questionForm } from "./questions.js";
import { rankingList } from "./ranking.js";
import { connect } from "./socket.js";

const RANKS = ["the most helpful", "the second", "the third", "the fourth", "the fifth", "the sixth", "the seventh", "the eighth"];
let stage = null;
let view = null;
let result = null; // how the game ended that was just played
let phase = ""; // of the last game

const submit = (event, more = {}) => socket.send({ type: "submit", event, ...more });
const start = (more = {}) => socket.send({ type: "start", ...more });

function close() {
  if (view) view.close();
  view = null;
}

function card(heading, ...children) {
  const who = element("p", { class: "small who" }, `You are participant ${stage.participant}. Questions: ${stage.contact}`);
  show(element("section", { class: "card" }, element("p", { class: "small" }, stage.title), element("h1", {}, heading), ...children, who));
}

/** Whom to ask, for those who are at no stage here. */
const whomToAsk = (contact) => element("p", { class: "small who" }, `Questions: ${contact}`);

/** What came out of the game that has just ended. */
function scored() {
  if (result === null) return null;
  const { score, counts, phase } = result;
  result = null;
  let said = `The last game scored ${score}.`;
  if (phase === "tutorial") said = counts ? "You have served a soup. Well done!" : "No soup has been served yet. Please try again.";
  else if (!counts) said += " It was too short to count.";
  return element("p", { class: "result", role: "status" }, said);
}

const pages = {
  consent() {
    const row = element("div", { class: "row" }, button("I agree and take part", () => submit("consent", { agrees: true }), { class: "main" }), button("I do not take part", () => submit("consent", { agrees: false })));
    card("Welcome", paragraphs(stage.text), row);
  },
  questions() {
    card("A few questions", element("p", {}, "You may decline each of them."), questionForm(stage.questions, (values) => submit("answers", { values })));
  },
  instructions() {
    card("How it works", paragraphs(stage.text), button("Continue", () => submit("understood"), { class: "main" }));
  },
  tutorial() {
    card("Find your way", paragraphs(stage.text), scored(), button("Try the kitchen", () => start(), { class: "main" }));
  },
  "warm-up"() {
    const partners = stage.partners.map((label, partner) => {
      const played = stage.tried[partner];
      const games = played === 1 ? "1 game played" : `${played} games played`;
      return element("li", {}, button(`Play with partner ${label}`, () => start({ partner })), element("span", {}, games));
    });
    const enough = stage.tried.every((games) => games >= stage.least);
    const onwards = button("I have seen enough, continue", () => submit("warm-up-done"), { class: "main", disabled: !enough });
    const wish = enough ? null : element("p", { class: "small" }, `Please play at least ${stage.least === 1 ? "once" : `${stage.least} times`} with each partner. A game counts after ${stage.least_seconds} seconds.`);
    card("Meet your partners", paragraphs(stage.text), scored(), element("ul", { class: "partners" }, partners), wish, onwards);
  },
  ranking: judge,
  games() {
    const many = `Game ${stage.game + 1} of ${stage.games}`;
    const bar = element("progress", { max: stage.games, value: stage.game, "aria-label": "Games played" });
    card(many, stage.game === 0 ? paragraphs(stage.text) : null, scored(), bar, button("Next game", () => start(), { class: "main" }));
  },
  thanks() {
    const code = element("output", { class: "code" }, stage.code);
    card("Thank you", paragraphs(stage.text), element("p", {}, "Your completion code:"), element("p", {}, code));
    socket.stop();
  },
  declined() {
    card("Goodbye", paragraphs(stage.text));
    socket.stop();
  },
};

const DRAFTS = "cochef-comments-"; // comments that have not been sent yet, of whoever the server says is here

function draft() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS + stage.alias)) ?? {};
  } catch {
    return {};
  }
}

function forgetDrafts() {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFTS)) sessionStorage.removeItem(key);
  } catch {
    // Then there are none.
  }
}

function judge() {
  const written = draft();
  const fields = stage.partners.map((label, partner) =>
    stage.comment_questions.map((question, number) => {
      const id = `comment-${partner}-${number}`;
      const text = element("textarea", { id, rows: "2", maxlength: "5000", oninput: () => keep(id, text.value) });
      text.value = written[id] ?? "";
      return { text, box: element("div", { class: "field" }, element("label", { for: id }, question), text) };
    }),
  );
  const comments = stage.partners.map((label, partner) => element("fieldset", {}, element("legend", {}, `Partner ${label}`), fields[partner].map(({ box }) => box)));
  const ranking = rankingList(stage.partners.map((label) => `Partner ${label}`), (place) => RANKS[place]);
  const moved = element("p", { class: "small" }, "The most helpful partner on top. Drag, use the buttons, or move a chosen partner with the arrow keys.");
  const sure = element("input", { type: "checkbox", id: "sure" });
  const complaint = element("p", { class: "complaint", role: "alert" });
  const confirm = element("div", { class: "option" }, sure, element("label", { for: "sure" }, "This order is my ranking"));
  const send = () => {
    complaint.textContent = sure.checked ? "" : "Please put your partners in order and confirm it.";
    if (!sure.checked) return sure.focus();
    submit("judged", { ranking: ranking.order(), comments: fields.map((some) => some.map(({ text }) => text.value)) });
  };
  card("Your partners", paragraphs(stage.text), ...comments, element("h2", {}, "Your ranking"), moved, ranking.root, confirm, complaint, button("Send", send, { class: "main" }));
}

function keep(id, value) {
  try {
    sessionStorage.setItem(DRAFTS + stage.alias, JSON.stringify({ ...draft(), [id]: value }));
  } catch {
    // Then a reload begins with empty comments.
  }
}

async function begin(message) {
  close();
  const opened = await openGame(message, socket.send);
  view = opened;
  phase = message.phase;
  show(opened.root);
  opened.begin();
}

function enter(message) {
  const same = stage && JSON.stringify(stage) === JSON.stringify(message) && !view;
  stage = message;
  document.title = message.title;
  if (message.stage !== "ranking") forgetDrafts();
  if (message.waiting) return; // a game follows
  close();
  if (!same || result !== null) pages[message.stage]();
}

let queue = Promise.resolve();
function hear(message) {
  queue = queue.then(() => handle(message));
}

async function handle(message) {
  if (message.type === "stage") enter(message);
  else if (message.type === "game") await begin(message);
  else if (message.type === "over") {
    close();
    result = { ...message, phase };
  } else if (message.type === "wait") banner("Preparing the kitchen …");
  else if (message.type === "error") banner(message.message);
  else if (message.type === "full") say(message.heading ?? "Please come back later", message.text, message.contact);
  else if (message.type === "withdrawn") {
    forgetDrafts();
    say("Withdrawn", "You have withdrawn from the study; all your data have been deleted.", message.contact);
  }
  else if (message.type === "elsewhere") elsewhere(message.contact);
  else if (view) view.hear(message);
}

function say(heading, text, contact) {
  close();
  socket.stop();
  show(element("section", { class: "card" }, element("h1", {}, heading), paragraphs(text), whomToAsk(contact)));
}

function elsewhere(contact) {
  close();
  stage = null;
  const here = button("Continue here", () => socket.send({ type: "hello", take_over: true }), { class: "main" });
  show(element("section", { class: "card" }, element("h1", {}, "Open in another tab"), element("p", {}, "You are taking part in another tab or window of this browser. Please go on there, or:"), here, whomToAsk(contact)));
}

await loadSprites();
const socket = connect(hear);
