// A kitchen on the page: the canvas fits its place and draws smoothly between ticks.

import { drawKitchen, loadKitchen } from "./art.js";
import { element } from "./dom.js";

const GAIN_SECONDS = 1.2;
// On a small screen the game fills the window, and the kitchen what is left of it; as in style.css.
const filled = window.matchMedia("(max-width: 600px), (max-height: 520px), (pointer: coarse)");
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

/** A canvas that shows one kitchen. `seat` is marked as one's own, or null. */
export async function openStage(kitchen, seat, label) {
  const background = await loadKitchen(kitchen.name);
  const canvas = element("canvas", { class: "kitchen", role: "img", "aria-label": label, tabindex: "0" });
  const box = element("div", { class: "stage" }, canvas);
  const columns = kitchen.rows[0].length;
  const rows = kitchen.rows.length;
  let moment = null;
  let before = null;
  let since = 0;
  let period = 0;
  let gains = [];
  let marks = [];
  let frame = 0;
  let drawn = null; // called once, after the state that is shown has been drawn

  function fit() {
    const room = box.getBoundingClientRect();
    const height = filled.matches && box.closest(".game") ? box.clientHeight : Math.max(160, 0.62 * window.innerHeight);
    const tile = Math.max(16, Math.floor(Math.min(room.width / columns, height / rows, 110)));
    const sharp = window.devicePixelRatio || 1;
    canvas.style.width = `${tile * columns}px`;
    canvas.style.height = `${tile * rows}px`;
    canvas.width = Math.round(tile * sharp) * columns;
    canvas.height = Math.round(tile * sharp) * rows;
    draw();
  }

  function draw() {
    frame = 0;
    if (!moment || !canvas.isConnected) return;
    const now = performance.now();
    const part = calm.matches || !before || !period ? 1 : Math.min(1, (now - since) / period);
    const chefs = moment.chefs.map(([x, y, facing, held], number) => {
      const [oldX, oldY] = before ? before.chefs[number] : [x, y];
      return [oldX + (x - oldX) * part, oldY + (y - oldY) * part, facing, held];
    });
    gains = gains.filter((gain) => now - gain.since < 1000 * GAIN_SECONDS);
    const ages = gains.map((gain) => ({ ...gain, age: (now - gain.since) / (1000 * GAIN_SECONDS) }));
    drawKitchen(canvas, background, kitchen, moment, chefs, seat, ages, marks);
    if (drawn) drawn();
    drawn = null;
    if (part < 1 || gains.length) request();
  }

  function request() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  const watcher = new ResizeObserver(fit);
  watcher.observe(box);
  window.addEventListener("resize", fit);

  return {
    box,
    canvas,
    /** Show a state; with milliseconds, chefs walk there in that time. Then `after` is called once it is drawn. */
    show(state, milliseconds = 0, after = null) {
      drawn = after;
      before = milliseconds ? moment : null;
      moment = state;
      since = performance.now();
      period = milliseconds;
      request();
    },
    /** Let a text rise from a chef. */
    gain(number, text) {
      const [x, y] = moment.chefs[number];
      gains.push({ x, y, text, since: performance.now() });
      request();
    },
    /** Mark cells as those to go to. */
    mark(cells) {
      marks = cells;
      request();
    },
    close() {
      watcher.disconnect();
      window.removeEventListener("resize", fit);
      cancelAnimationFrame(frame);
    },
  };
}
