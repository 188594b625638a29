// Canvases as wide as the page, and the time axis that all of them share.

const TIMED = []; // plots that are drawn again when width, theme or choice change

function makeCanvas(parent, height, label) {
  const canvas = el("canvas", { role: "img", "aria-label": label });
  parent.append(canvas);
  return { canvas, ctx: canvas.getContext("2d"), parent, height };
}

// Fits a canvas to its parent in device pixels; returns the width in CSS pixels.
function fit(plot, height) {
  const width = Math.max(plot.parent.clientWidth, 120);
  const ratio = Math.min(devicePixelRatio || 1, 3);
  plot.height = height ?? plot.height;
  plot.canvas.width = Math.round(width * ratio);
  plot.canvas.height = Math.round(plot.height * ratio);
  plot.canvas.style.width = `${width}px`;
  plot.canvas.style.height = `${plot.height}px`;
  plot.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  plot.ctx.clearRect(0, 0, width, plot.height);
  plot.width = width;
  return width;
}

const RIGHT = 24; // half of a time that stands at the end
function gutter() {
  const width = byId("timeline").clientWidth;
  return width < 560 ? 40 : width < 1000 ? 96 : 160;
}

function xOf(time, width) {
  const left = gutter();
  return left + ((time - BEGIN) / (END - BEGIN)) * (width - left - RIGHT);
}

function timeOf(x, width) {
  const left = gutter();
  return BEGIN + ((x - left) / (width - left - RIGHT)) * (END - BEGIN);
}

const FONT = 'system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif';
function font(ctx, size, weight) {
  ctx.font = `${weight || 400} ${size}px ${FONT}`;
}

// A text that fits, or as much of it as does, of both its ends if wanted; nothing where not even three letters do.
function fitted(ctx, text, room, ends) {
  if (ctx.measureText(text).width <= room) return text;
  const cut = (n) => (ends ? `${text.slice(0, (n + 1) >> 1)}…${text.slice(text.length - (n >> 1))}` : `${text.slice(0, n)}…`);
  let low = 0;
  let high = Math.min(text.length, 400);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(cut(middle)).width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : cut(low);
}

const TIME_STEPS = [1, 2, 5];
function timeTicks(width) {
  const room = Math.max(2, Math.floor((width - gutter() - RIGHT) / 90));
  const span = END - BEGIN;
  const choices = [];
  for (let power = -6; power < 2; power++) for (const s of TIME_STEPS) choices.push(s * 10 ** power);
  choices.push(...[15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800]);
  choices.sort((a, b) => a - b);
  const step = choices.find((s) => span / s <= room) || span;
  const ticks = [];
  for (let i = Math.ceil(BEGIN / step - 1e-9); i * step <= END + step * 1e-6; i++) ticks.push(i * step);
  return { step, ticks };
}

function tickText(time, step) {
  if (END - BEGIN < 600) return `${moment(time, step)} s`;
  const whole = Math.round(time);
  const two = (n) => String(n).padStart(2, "0");
  const clock = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}`;
  return step < 60 ? `${clock}:${two(whole % 60)}` : END - BEGIN < 7200 ? `${Math.floor(whole / 60)} min` : clock;
}

function drawTimeAxis(ctx, width, top) {
  const { step, ticks } = timeTicks(width);
  ctx.strokeStyle = cssColour("--line");
  ctx.fillStyle = cssColour("--muted");
  font(ctx, 11.5);
  ctx.textBaseline = "top";
  for (const time of ticks) {
    const x = Math.round(xOf(time, width)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + 5);
    ctx.stroke();
    const text = tickText(time, step);
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "left";
    ctx.fillText(text, Math.min(Math.max(x - half, 0), width - 2 * half), top + 7);
  }
}

// What is not chosen lies in the shade.
function shadeUnchosen(ctx, width, top, height) {
  if (isWhole()) return;
  const [from, to] = chosenTimes().map((time) => xOf(time, width));
  ctx.fillStyle = cssColour("--shade");
  ctx.fillRect(gutter(), top, from - gutter(), height);
  ctx.fillRect(to, top, width - RIGHT - to, height);
}
