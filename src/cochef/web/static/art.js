// The sprites, and drawing a kitchen on a canvas. Lengths are in hundredths of a tile, as in the package's own pictures.

const HOLDS = { N: [83, 42], S: [50, 80], E: [83, 68], W: [17, 68] };
const HELD = 40;

let sheet = null;

function picture(address) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.addEventListener("load", () => resolve(image));
    image.addEventListener("error", () => reject(new Error(`no picture ${address}`)));
    image.src = address;
  });
}

/** Load the sprites; once is enough. */
export async function loadSprites() {
  if (!sheet) {
    const [places, image] = await Promise.all([
      fetch("/art/sprites.json").then((answer) => answer.json()),
      picture("/art/sprites.png"),
    ]);
    sheet = { ...places, image };
  }
}

/** The picture of an empty kitchen. */
export function loadKitchen(name) {
  return picture(`/art/layouts/${encodeURIComponent(name)}`);
}

/** Draw a sprite into a square around (x, y); size in pixels, before the margin that chefs have. */
function drawSprite(pen, name, x, y, size) {
  const place = sheet.sprites[name];
  if (!place) return;
  const [left, top, width, height] = place;
  const scale = size / sheet.tile;
  pen.drawImage(sheet.image, left, top, width, height, x - (width * scale) / 2, y - (height * scale) / 2, width * scale, height * scale);
}

/** A small picture of a sprite for the page around the kitchen; what it shows is said in words beside it. */
export function icon(name, size = 28) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 2 * size;
  canvas.className = "icon";
  canvas.setAttribute("aria-hidden", "true");
  showIcon(canvas, name);
  return canvas;
}

/** Change what a small picture shows; null for nothing. */
export function showIcon(canvas, name) {
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, canvas.width, canvas.height);
  if (sheet && name) drawSprite(pen, name, canvas.width / 2, canvas.height / 2, canvas.width);
}

function drawPot(pen, x, y, tile, contents, ticks, time) {
  const middle = [(x + 0.5) * tile, (y + 0.5) * tile];
  if (ticks < 0) return drawSprite(pen, `pot:${contents}`, ...middle, tile);
  if (ticks >= time) return drawSprite(pen, `ready:${contents}`, ...middle, tile);
  drawSprite(pen, `cooking:${contents}`, ...middle, tile);
  const at = (hundredths) => (hundredths * tile) / 100;
  pen.beginPath();
  pen.arc(x * tile + at(50), y * tile + at(43), at(36), -Math.PI / 2, -Math.PI / 2 + (2 * Math.PI * ticks) / time);
  pen.strokeStyle = "#ff9f2e";
  pen.lineWidth = at(8);
  pen.stroke();
  pen.beginPath();
  pen.arc(x * tile + at(82), y * tile + at(73), at(16), 0, 2 * Math.PI);
  pen.fillStyle = "#b34700";
  pen.fill();
  pen.strokeStyle = "#ffffff";
  pen.lineWidth = at(3);
  pen.stroke();
  pen.fillStyle = "#ffffff";
  pen.font = `bold ${at(20)}px sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(String(time - ticks), x * tile + at(82), y * tile + at(74));
}

function drawChef(pen, seat, x, y, facing, held, tile, own) {
  const middle = [(x + 0.5) * tile, (y + 0.5) * tile];
  if (own) {
    pen.beginPath();
    pen.ellipse(middle[0], middle[1] + 0.42 * tile, 0.4 * tile, 0.13 * tile, 0, 0, 2 * Math.PI);
    pen.fillStyle = "#ffd54a";
    pen.fill();
    pen.strokeStyle = "#3b2f2f";
    pen.lineWidth = 0.03 * tile;
    pen.stroke();
  }
  const [dx, dy] = HOLDS[facing];
  const hand = [(x + dx / 100) * tile, (y + dy / 100) * tile];
  if (held && facing === "N") drawSprite(pen, held, ...hand, (HELD * tile) / 100);
  drawSprite(pen, `chef:${seat}${facing}`, ...middle, tile);
  if (held && facing !== "N") drawSprite(pen, held, ...hand, (HELD * tile) / 100);
}

/** Draw a moment: `chefs` are [x, y, facing, held] with any fraction of a cell; `gains` float above the kitchen, `marks` are framed. */
export function drawKitchen(canvas, background, kitchen, state, chefs, seat, gains = [], marks = []) {
  const pen = canvas.getContext("2d");
  const tile = canvas.width / kitchen.rows[0].length;
  pen.drawImage(background, 0, 0, canvas.width, canvas.height);
  const filled = new Map(state.pots.map(([x, y, contents, ticks]) => [`${x},${y}`, [contents, ticks]]));
  for (const [x, y] of kitchen.pots) {
    const [contents, ticks] = filled.get(`${x},${y}`) ?? ["", -1];
    drawPot(pen, x, y, tile, contents, ticks, kitchen.times[contents] ?? 1);
  }
  for (const [x, y, item] of state.counters) drawSprite(pen, item, (x + 0.5) * tile, (y + 0.43) * tile, 0.62 * tile);
  for (const [x, y] of marks) {
    for (const [colour, width] of [["#1d252c", 0.11], ["#ffd54a", 0.06]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width * tile;
      pen.strokeRect((x + 0.06) * tile, (y + 0.06) * tile, 0.88 * tile, 0.88 * tile);
    }
  }
  const order = chefs.map((chef, number) => [chef, number]).sort((one, other) => one[0][1] - other[0][1]);
  for (const [[x, y, facing, held], number] of order) drawChef(pen, number, x, y, facing, held, tile, number === seat);
  for (const { x, y, text, age } of gains) {
    pen.globalAlpha = Math.max(0, 1 - age);
    pen.font = `bold ${0.42 * tile}px sans-serif`;
    pen.textAlign = "center";
    pen.lineWidth = 0.08 * tile;
    pen.strokeStyle = "#1d252c";
    pen.fillStyle = "#ffe27a";
    pen.strokeText(text, (x + 0.5) * tile, (y + 0.2 - age) * tile);
    pen.fillText(text, (x + 0.5) * tile, (y + 0.2 - age) * tile);
    pen.globalAlpha = 1;
  }
}
