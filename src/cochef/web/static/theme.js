// Dark and bright: as the system asks, or as chosen here.

const KEY = "cochef-theme";
const order = { "": "dark", dark: "bright", bright: "" };
const names = { "": "as the system", dark: "dark", bright: "bright" };

function chosen() {
  try {
    return localStorage.getItem(KEY) in order ? localStorage.getItem(KEY) : "";
  } catch {
    return "";
  }
}

function apply(theme) {
  document.documentElement.dataset.theme = theme;
  label.textContent = `Colours: ${names[theme]}`;
}

const label = document.createElement("button");
label.type = "button";
label.className = "theme";
label.addEventListener("click", () => {
  const next = order[chosen()];
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing still changes the colours once.
  }
  apply(next);
});
apply(chosen());
document.body.append(label);
