// The experimenter's page.

import "./theme.js";
import { banner, button, element, fill, plain, show } from "./dom.js";
import { openReplay } from "./replay.js";
import { clockWords } from "./words.js";

const LIVE_SECONDS = 5;
const PATIENCE = 60; // seconds for an answer
let replay = null;
let timer = 0;
let wanted = 0; // the number of the view that was asked for last

/** Leave the view that is shown. Answers that come afterwards to what it has asked change nothing. */
function leaveView() {
  clearInterval(timer);
  if (replay) replay.close();
  replay = null;
  wanted += 1;
}

/** Turn to another view. Until it is there, the one that is shown cannot be used any more. */
async function turnTo(build) {
  leaveView();
  banner("");
  const view = wanted;
  const main = document.getElementById("main");
  main.inert = true;
  try {
    const built = await build();
    if (built && view === wanted) show(built);
  } finally {
    if (view === wanted) main.inert = false;
  }
}

/** What the server answers; null if it refuses, if it does not answer, or if nobody waits for it any more. */
async function ask(path, options = {}) {
  const view = wanted;
  let answer = null;
  let found = null;
  try {
    answer = await fetch(`/api/admin/${path}`, { signal: AbortSignal.timeout(1000 * PATIENCE), ...options });
    found = answer.status === 204 ? true : await answer.json();
  } catch {
    found = { detail: "The server does not answer. Please try again." };
  }
  if (view !== wanted) return null;
  if (answer?.status === 401) {
    banner("");
    login();
  } else if (answer?.ok && found !== null) return found;
  else banner(typeof found?.detail === "string" ? found.detail : "This did not work.");
  return null;
}

function table(caption, heads, rows) {
  return element(
    "div",
    { class: "scroll" },
    element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell))))),
    ),
  );
}

/** A participant's kitchen; before they consent they have none. */
function placed(layout) {
  return layout ? plain(layout) : "none";
}

function login() {
  leaveView();
  document.getElementById("main").inert = false;
  const input = element("input", { type: "password", id: "password", autocomplete: "current-password" });
  const enter = async (event) => {
    event.preventDefault();
    const body = JSON.stringify({ password: input.value });
    const entered = await ask("login", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    if (entered) await overview();
  };
  const form = element("form", { onsubmit: enter }, element("div", { class: "field" }, element("label", { for: "password" }, "Password"), input), element("button", { type: "submit", class: "main" }, "Enter"));
  show(element("section", { class: "card narrow" }, element("h1", {}, "Experimenter"), form));
  input.focus();
}

async function overview() {
  await turnTo(async () => {
    const found = await ask("progress");
    if (!found) return null;
    const numbers = element("p", { role: "status" });
    showLive(numbers);
    timer = setInterval(() => showLive(numbers), 1000 * LIVE_SECONDS);
    return progress(found, numbers);
  });
}

/** Show how many are here, and how late the clock is. */
async function showLive(numbers) {
  const now = await ask("live");
  if (now) numbers.textContent = `${now.present} here, ${now.games} games running, room for ${now.capacity}. Ticks late: ${now.late.p50} ms (median), ${now.late.p99} ms (99 %).`;
}

function progress(found, numbers) {
  const kitchens = Object.entries(found.groups);
  const stages = Object.keys(kitchens[0][1].stages);
  const groups = table("Progress by kitchen", ["Kitchen", "Wanted", ...stages], kitchens.map(([layout, group]) => [placed(layout), layout ? String(group.wanted) : "", ...stages.map((stage) => String(group.stages[stage]))]));
  const scores = table("Scores of games that count", ["Kitchen", "Agent", "Participant is", "Mean score", "Games"], found.scores.map((row) => [plain(row.layout), row.agent, `chef ${row.seat + 1}`, row.mean.toFixed(1), String(row.games)]));
  const people = table(
    "Participants",
    ["Number", "Kitchen", "Stage", "Games", "Last seen", "Here", "", ""],
    found.people.map(({ participant, layout, stage, games: played, of, seen_seconds_ago: ago }) => [
      String(participant), placed(layout), stage, `${played} of ${of}`, `${clockWords(ago)} ago`, found.present.includes(participant) ? "yes" : "no",
      button("Games", () => games(participant), { "aria-label": `Games of participant ${participant}` }),
      button("Withdraw", () => withdraw(participant), { "aria-label": `Withdraw participant ${participant}` }),
    ]),
  );
  return (
    element("section", { class: "card wide" }, element("h1", {}, found.title), ...found.caveats.map((text) => element("p", { class: "warning" }, text)), numbers, element("div", { class: "row" }, button("Refresh", overview), element("a", { class: "button", href: "/api/admin/export", download: "study.zip" }, "Export"), element("a", { class: "button", href: "/api/admin/identities", download: "identities.csv" }, "Identities and codes"), button("Leave", leave)), groups, people, found.scores.length ? scores : null, links())
  );
}

function links() {
  const count = element("input", { type: "number", id: "count", min: "1", max: "1000", value: "1" });
  const made = element("textarea", { rows: "3", readonly: true, "aria-label": "New links" });
  const make = async () => {
    banner("");
    const found = await ask(`links?count=${Number(count.value) || 1}`, { method: "POST" });
    if (found) made.value = found.map((path) => location.origin + path).join("\n");
  };
  return element("fieldset", {}, element("legend", {}, "New links for participants"), element("div", { class: "row" }, element("label", { for: "count" }, "How many"), count, button("Make links", make)), made);
}

async function leave() {
  if (await ask("logout", { method: "POST" })) login();
}

function withdraw(number) {
  const dialog = element("dialog", { "aria-label": `Withdraw participant ${number}` });
  const sure = async () => {
    dialog.close();
    await turnTo(async () => {
      if (await ask(`participants/${number}/withdraw`, { method: "POST" })) await overview();
    });
  };
  fill(dialog, element("p", {}, `All data of participant ${number} will be deleted. This cannot be undone.`), element("div", { class: "row" }, button("Delete everything", sure, { class: "main" }), button("Cancel", () => dialog.close())));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

async function games(number) {
  await turnTo(async () => {
    const found = await ask(`participants/${number}/games`);
    if (!found) return null;
    const rows = found.map((game) => [String(game.game), game.phase, String(game.number + 1), game.agent || "nobody", plain(game.layout), String(game.ticks), game.score === null ? "" : String(game.score), game.ended ?? "not yet", button("Watch", () => watch(game.game, number), { "aria-label": `Watch game ${game.game}` })]);
    return element("section", { class: "card wide" }, element("h1", {}, `Participant ${number}`), button("Back", overview), table("Games", ["Game", "Phase", "Number", "Agent", "Kitchen", "Ticks", "Score", "Ended", ""], rows));
  });
}

async function watch(game, number) {
  await turnTo(async () => {
    const film = await ask(`games/${game}`);
    if (!film) return null;
    const names = [0, 1].map((seat) => (seat === film.seat ? "Participant" : film.agent || "Nobody"));
    replay = await openReplay(film, film.ticks_per_second, names);
    return element("section", { class: "card" }, element("h1", {}, `Game ${game}`), button("Back", () => games(number)), replay.root);
  });
  if (replay) replay.begin();
}

if (await ask("session")) overview();
else login();
