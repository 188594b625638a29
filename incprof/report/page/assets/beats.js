// Heartbeats under the phases: a lane each, as high as its beats per second; hollow where beats are in progress.

const LANE = 36;

function startBeats() {
  const area = byId("beats");
  if (!area) return;
  const { lanes } = DATA.beats;
  const plot = makeCanvas(area, lanes.length * LANE + 24, "Heartbeats per second, a lane for each. The table below has the numbers.");
  const draw = () => drawBeats(plot, lanes);
  TIMED.push(draw);
  follow(draw);
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - box.top) / LANE)];
    const time = timeOf(event.clientX - box.left, box.width);
    if (!lane || time < BEGIN || time > END) return hideTip();
    const at = lane.end.findIndex((end, i) => end > time && lane.start[i] <= time);
    showTip(event, [`${lane.name}${lane.phase === null ? "" : `, phase ${lane.phase}`}`, ...laneLines(lane, at)]);
  });
  area.addEventListener("pointerleave", hideTip);
  fallback("beats", ["Heartbeat", "Beats", "Per second", "Mean", "Time in it", "1 of"], () =>
    lanes.map((b) => [b.name, group(b.count), digits3(b.rate_hz), seconds(b.mean_s), `${b.busy_pct.toFixed(1)} %`, String(b.factor)]),
  );
}

function laneLines(lane, at) {
  if (at < 0) return ["no interval here"];
  const beats = lane.beats[at];
  if (beats === null) return [lane.open[at] ? `${digits3(lane.open[at])} in progress` : "no beat"];
  return [`${digits3(beats)} beats per second`, lane.duration[at] === null ? "" : `${seconds(lane.duration[at])} each`];
}

function drawBeats(plot, lanes) {
  const { ctx } = plot;
  const width = fit(plot);
  const left = gutter();
  const names = laneNames(lanes);
  lanes.forEach((lane, place) => {
    const floor = (place + 1) * LANE - 4;
    const most = lane.beats.reduce((a, b) => Math.max(a, b ?? 0), 0) || 1;
    ctx.fillStyle = lane.phase === null ? (isDark() ? "#6d767e" : "#a9b1b5") : phaseFill(ctx, lane.phase);
    ctx.strokeStyle = lane.phase === null ? cssColour("--muted") : phaseColour(lane.phase);
    ctx.lineWidth = 1;
    lane.beats.forEach((beats, i) => {
      const from = Math.max(xOf(lane.start[i], width), left);
      const room = Math.min(xOf(lane.end[i], width), width - RIGHT) - from;
      if (room <= 0) return;
      const height = ((beats ?? 0) / most) * (LANE - 14);
      if (beats) ctx.fillRect(from, floor - height, Math.max(room, 0.8), height);
      else if (lane.open[i]) ctx.strokeRect(from, floor - (LANE - 14) / 2 + 0.5, Math.max(room, 1), (LANE - 14) / 2 - 1);
    });
    ctx.strokeStyle = cssColour("--line");
    ctx.beginPath();
    ctx.moveTo(left, floor + 0.5);
    ctx.lineTo(width - RIGHT, floor + 0.5);
    ctx.stroke();
    nameLane(ctx, names[place], floor, left);
    font(ctx, 11);
    ctx.textAlign = "right";
    ctx.textBaseline = "top";
    label(ctx, `${brief(most)}/s`, width - RIGHT - 3, floor - LANE + 7);
  });
  shadeUnchosen(ctx, width, 0, lanes.length * LANE);
  drawTimeAxis(ctx, width, lanes.length * LANE);
}

// There is little room: without `:body` where the rest tells them apart.
function laneNames(lanes) {
  const names = lanes.map((lane) => lane.name.replace(/:(body|loop)$/, ""));
  return new Set(names).size === names.length ? names : lanes.map((lane) => lane.name);
}

function nameLane(ctx, name, floor, left) {
  font(ctx, 12.5);
  const wide = left > 100;
  ctx.textAlign = wide ? "right" : "left";
  ctx.textBaseline = wide ? "alphabetic" : "top";
  const text = fitted(ctx, name, wide ? left - 16 : 220, true);
  if (wide) {
    ctx.fillStyle = cssColour("--ink");
    ctx.fillText(text, left - 12, floor - 6);
  } else {
    label(ctx, text, left + 3, floor - LANE + 7);
  }
}

// Text over a plot, readable on any colour.
function label(ctx, text, x, y) {
  ctx.lineWidth = 3;
  ctx.lineJoin = "round";
  ctx.strokeStyle = cssColour("--panel");
  ctx.strokeText(text, x, y);
  ctx.fillStyle = cssColour("--ink");
  ctx.fillText(text, x, y);
}
