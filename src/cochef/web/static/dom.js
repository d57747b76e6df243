// Building and finding elements.

/** An element with attributes, listeners (onclick: ...) and children; null children are left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Replace what an element holds. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** A text as paragraphs; an empty line begins a new one. */
export function paragraphs(text) {
  return text
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part) => element("p", {}, part.trim()));
}

/** A button. */
export function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

/** Show a view: fill the page and begin reading at its top. */
export function show(...children) {
  const main = document.getElementById("main");
  fill(main, ...children);
  window.scrollTo(0, 0);
  const heading = main.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

/** A message above the page; empty to take it away. */
export function banner(text) {
  document.getElementById("banner").textContent = text;
}

/** A name with spaces for underscores. */
export function plain(name) {
  return name.replaceAll("_", " ");
}
