// The phases from left to right, a box for each segment, with number and name where there is room.

const RIBBON_HEIGHT = 44;
const SEGMENTS = [];
// In between, the program was stopped, or the machine asleep.
const isAfterGap = (bin) => bin > 0 && TIME.start[bin] > TIME.end[bin - 1];
for (let bin = 0; bin < BINS; bin++) {
  const last = SEGMENTS[SEGMENTS.length - 1];
  if (last && last.label === TIME.label[bin] && !isAfterGap(bin)) last.to = bin + 1;
  else SEGMENTS.push({ label: TIME.label[bin], from: bin, to: bin + 1 });
}

// Segments that are mostly no work have a line below them, as the words under the ribbon show it.
const DASHES = { mpi: [], openmp: [2, 2], io: [8, 4], waiting: [2, 6], device: [8, 3, 2, 3] };
const SPENDS = [];
for (let bin = 0; bin < TIME.spent.length; bin++) {
  const last = SPENDS[SPENDS.length - 1];
  const kind = TIME.spent[bin];
  if (last && last.kind === kind && last.to === bin && !isAfterGap(bin)) last.to = bin + 1;
  else if (kind !== "work") SPENDS.push({ kind, from: bin, to: bin + 1 });
}

function startRibbon() {
  const area = byId("ribbon");
  const plot = makeCanvas(area, RIBBON_HEIGHT + 24, `Phases over time: ${SEGMENTS.length} segments. The table below has them.`);
  const placeHandles = addBrush(area, RIBBON_HEIGHT, (bin) => {
    const label = TIME.label[bin];
    choose({ phase: label < 0 || state.phase === label ? null : label });
  });
  const draw = () => {
    drawRibbon(plot);
    placeHandles();
  };
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    const time = timeOf(event.clientX - box.left, box.width);
    if (time < BEGIN || time > END || event.buttons) return hideTip();
    const bin = binAt(time);
    if (time < TIME.start[bin] || time > TIME.end[bin]) return showTip(event, ["the program was stopped, or the machine asleep"]);
    const label = TIME.label[bin];
    const segment = SEGMENTS.find((s) => s.from <= bin && bin < s.to);
    showTip(event, [
      (label < 0 ? between(time) : `${label} ${phaseName(label)}`) + mostly(bin),
      `${moment(TIME.start[segment.from], INTERVAL)} to ${moment(TIME.end[segment.to - 1], INTERVAL)} s`,
    ]);
  });
  area.addEventListener("pointerleave", hideTip);
  TIMED.push(draw);
  follow(draw);
  fallback("ribbon", ["Phase", "From s", "To s", "Seconds"], () =>
    SEGMENTS.map((s) => {
      const [from, to] = [TIME.start[s.from], TIME.end[s.to - 1]];
      const name = s.label < 0 ? between((from + to) / 2) : `${s.label} ${phaseName(s.label)}`;
      return [name, moment(from, INTERVAL), moment(to, INTERVAL), digits3(to - from)];
    }),
  );
}

function mostly(bin) {
  const kind = TIME.spent[bin] || "work";
  return kind === "work" ? "" : `: mostly ${TIME.spent_words[kind]}`;
}

// What is no phase: a segment that is too short for one has a name.
function between(time) {
  const short = DATA.short.find((one) => one.times.some(([from, to]) => from <= time && time < to));
  return short ? `too short for a phase: ${short.name}` : "between phases";
}

function drawRibbon(plot) {
  const { ctx } = plot;
  const width = fit(plot);
  if (gutter() > 60) {
    font(ctx, 12.5);
    ctx.fillStyle = cssColour("--muted");
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillText("phase", gutter() - 12, RIBBON_HEIGHT / 2);
  }
  for (const s of SEGMENTS) {
    const from = xOf(TIME.start[s.from], width);
    const room = Math.max(xOf(TIME.end[s.to - 1], width) - from, 0.6);
    ctx.globalAlpha = state.phase === null || state.phase === s.label ? 1 : 0.28;
    ctx.fillStyle = phaseFill(ctx, s.label);
    ctx.fillRect(from, 4, room, RIBBON_HEIGHT - 8);
    if (s.label >= 0) nameStretch(ctx, s.label, from, room);
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = cssColour("--muted");
  ctx.lineWidth = 3;
  for (const s of SPENDS) {
    const from = xOf(TIME.start[s.from], width);
    ctx.setLineDash(DASHES[s.kind] || []);
    ctx.beginPath();
    ctx.moveTo(from, RIBBON_HEIGHT - 1.5);
    ctx.lineTo(Math.max(xOf(TIME.end[s.to - 1], width), from + 0.6), RIBBON_HEIGHT - 1.5);
    ctx.stroke();
  }
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
  shadeUnchosen(ctx, width, 0, RIBBON_HEIGHT);
  drawTimeAxis(ctx, width, RIBBON_HEIGHT);
}

function nameStretch(ctx, label, from, room) {
  font(ctx, 12.5, 600);
  const text = room > 60 ? fitted(ctx, `${label} ${phaseName(label)}`, room - 14) : ctx.measureText(label).width + 6 < room ? String(label) : "";
  if (!text) return;
  const size = ctx.measureText(text).width;
  const at = room > 60 ? from + 7 : from + (room - size) / 2;
  if (striped(label)) {
    ctx.fillStyle = phaseColour(label);
    ctx.fillRect(at - 3, 14, size + 6, RIBBON_HEIGHT - 28);
  }
  ctx.fillStyle = inkOn(phaseColour(label));
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, at, RIBBON_HEIGHT / 2);
}
