// Colours come with the data: phases have bright ones, then the same with stripes; functions muted ones, none of a phase.
// Numbers and names stand beside every one.

const theme = { chosen: "system" };
const darkQuery = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return theme.printing ? false : theme.chosen === "system" ? darkQuery.matches : theme.chosen === "dark";
}

function tone() {
  return isDark() ? "dark" : "light";
}

function applyTheme() {
  document.documentElement.dataset.theme = tone();
}
// Before anything is painted.
applyTheme();

function cssColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function phaseColour(id) {
  return id < 0 ? DATA.colours.none[tone()] : DATA.colours.phases[id % DATA.colours.phases.length];
}

function striped(id) {
  return id >= DATA.colours.phases.length;
}

function functionColour(place) {
  const colours = DATA.colours.functions[tone()];
  return colours[place % colours.length];
}

function restColour() {
  return DATA.colours.rest[tone()];
}

// Black or white, whichever is easier to read on a colour.
function inkOn(colour) {
  const parts = [1, 3, 5].map((at) => {
    const c = parseInt(colour.slice(at, at + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  return light > 0.2 ? "#101418" : "#ffffff";
}

// A fill for a canvas: a colour, or stripes of it.
const stripes = new Map();
function phaseFill(ctx, id) {
  const colour = phaseColour(id);
  if (id >= 0 && !striped(id)) return colour;
  const key = `${colour}${id < 0}`;
  if (!stripes.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = id < 0 ? (isDark() ? "#5d666d" : "#b3b8b6") : "rgba(255,255,255,.6)";
    pen.lineWidth = 2;
    pen.beginPath();
    for (const at of [-8, 0, 8]) {
      pen.moveTo(at, 8);
      pen.lineTo(at + 8, 0);
    }
    pen.stroke();
    stripes.set(key, tile);
  }
  return ctx.createPattern(stripes.get(key), "repeat");
}

function paintChip(node, id) {
  const colour = phaseColour(id);
  const ink = inkOn(colour);
  node.style.background = striped(id)
    ? `repeating-linear-gradient(90deg, #fff 0 3px, transparent 3px 6px) bottom / 100% 4px no-repeat, ${colour}`
    : colour;
  node.style.color = ink;
}

// Little to much, even for eyes that see no colour: cividis.
const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
function amountColour(part) {
  return CIVIDIS[Math.max(0, Math.min(CIVIDIS.length - 1, Math.floor(part * CIVIDIS.length)))];
}
