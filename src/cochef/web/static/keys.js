// Keyboard and touch: which action is asked for.

export const ACTIONS = { north: 0, south: 1, east: 2, west: 3, stay: 4, interact: 5 };

const KEYS = {
  ArrowUp: 0, KeyW: 0,
  ArrowDown: 1, KeyS: 1,
  ArrowRight: 2, KeyD: 2,
  ArrowLeft: 3, KeyA: 3,
  Space: 5,
};

const isField = (target) => target instanceof Element && target.closest("input, textarea, select, dialog") !== null;

/** Listen until the returned function is called: `press` and `release` get actions. */
export function listen(press, release) {
  const down = new Set();

  function pressed(event) {
    const action = KEYS[event.code];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    if (event.code === "Space" && event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    if (event.repeat || down.has(action)) return;
    down.add(action);
    press(action);
  }

  function released(event) {
    const action = KEYS[event.code];
    if (action !== undefined && down.delete(action)) release(action);
  }

  function all() {
    for (const action of down) release(action);
    down.clear();
  }

  window.addEventListener("keydown", pressed);
  window.addEventListener("keyup", released);
  window.addEventListener("blur", all);
  document.addEventListener("visibilitychange", all);
  return () => {
    all();
    window.removeEventListener("keydown", pressed);
    window.removeEventListener("keyup", released);
    window.removeEventListener("blur", all);
    document.removeEventListener("visibilitychange", all);
  };
}

/** A button for a finger: it presses while it is touched. */
export function touchButton(name, text, action, press, release) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `touch ${name}`;
  made.textContent = text;
  made.setAttribute("aria-label", name);
  made.tabIndex = -1;
  let held = false;
  made.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    if (made.hasPointerCapture) made.setPointerCapture(event.pointerId);
    held = true;
    press(action);
  });
  for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) {
    made.addEventListener(kind, () => {
      if (held) release(action);
      held = false;
    });
  }
  made.addEventListener("contextmenu", (event) => event.preventDefault());
  return made;
}
