// A list to be put in order: by buttons, by arrow keys, or by dragging.

import { button, element } from "./dom.js";

/** A list of labels; `order()` gives their numbers, the first on top. */
export function rankingList(labels, describe) {
  const order = labels.map((_, number) => number);
  const news = element("p", { class: "hidden", role: "status", "aria-live": "polite" });
  const list = element("ol", { class: "ranking" });
  const items = labels.map((label, number) => {
    const up = button("▲", () => move(number, -1), { "aria-label": `Move ${label} up` });
    const down = button("▼", () => move(number, 1), { "aria-label": `Move ${label} down` });
    const item = element("li", { tabindex: "0", "aria-label": label }, element("span", { class: "grip", "aria-hidden": "true" }, "⠿"), element("span", { class: "label" }, label), up, down);
    item.addEventListener("keydown", (event) => {
      if (event.target !== item || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      move(number, event.key === "ArrowUp" ? -1 : 1);
    });
    item.addEventListener("pointerdown", (event) => drag(event, item, number));
    return item;
  });

  // The neighbour moves, not the item itself, which so keeps the focus and the pointer.
  function move(number, way) {
    const from = order.indexOf(number);
    const to = from + way;
    if (to < 0 || to >= order.length) return;
    const neighbour = items[order[to]];
    list.insertBefore(neighbour, way > 0 ? items[number] : items[number].nextSibling);
    order.splice(from, 1);
    order.splice(to, 0, number);
    news.textContent = `${labels[number]} is now ${describe(to)}.`;
  }

  function drag(event, item, number) {
    if (event.target instanceof HTMLButtonElement || event.button !== 0) return;
    event.preventDefault();
    item.focus();
    item.setPointerCapture(event.pointerId);
    item.classList.add("dragged");
    const over = ({ clientY }) => {
      const at = order.indexOf(number);
      const box = (index) => items[order[index]].getBoundingClientRect();
      if (at > 0 && clientY < box(at - 1).top + box(at - 1).height / 2) move(number, -1);
      else if (at < order.length - 1 && clientY > box(at + 1).top + box(at + 1).height / 2) move(number, 1);
    };
    const end = () => {
      item.classList.remove("dragged");
      item.removeEventListener("pointermove", over);
      item.removeEventListener("pointerup", end);
      item.removeEventListener("pointercancel", end);
    };
    item.addEventListener("pointermove", over);
    item.addEventListener("pointerup", end);
    item.addEventListener("pointercancel", end);
  }

  list.append(...items);
  return { root: element("div", {}, list, news), order: () => [...order] };
}
