// Lanes under the phases: a number over time each, as high as it is in its own lane; hollow where something is open.

const LANE = 36;

function tellLanes(area, lanes, said) {
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - box.top) / LANE)];
    const time = timeOf(event.clientX - box.left, box.width);
    if (!lane || time < BEGIN || time > END) return hideTip();
    showTip(event, said(lane, lane.end.findIndex((end, i) => end > time && lane.start[i] <= time)));
  });
  area.addEventListener("pointerleave", hideTip);
}

function drawLanes(plot, lanes, names, written) {
  const { ctx } = plot;
  const width = fit(plot);
  const left = gutter();
  lanes.forEach((lane, place) => {
    const floor = (place + 1) * LANE - 4;
    const most = lane.values.reduce((a, b) => Math.max(a, b ?? 0), 0) || 1;
    ctx.fillStyle = lane.phase === null ? (isDark() ? "#6d767e" : "#a9b1b5") : phaseFill(ctx, lane.phase);
    ctx.strokeStyle = lane.phase === null ? cssColour("--muted") : phaseColour(lane.phase);
    ctx.lineWidth = 1;
    lane.values.forEach((value, i) => {
      const from = Math.max(xOf(lane.start[i], width), left);
      const room = Math.min(xOf(lane.end[i], width), width - RIGHT) - from;
      if (room <= 0) return;
      const height = ((value ?? 0) / most) * (LANE - 14);
      if (value) ctx.fillRect(from, floor - height, Math.max(room, 0.8), height);
      else if (lane.open?.[i]) ctx.strokeRect(from, floor - (LANE - 14) / 2 + 0.5, Math.max(room, 1), (LANE - 14) / 2 - 1);
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
    label(ctx, written(most, lane), width - RIGHT - 3, floor - LANE + 7);
  });
  shadeUnchosen(ctx, width, 0, lanes.length * LANE);
  drawTimeAxis(ctx, width, lanes.length * LANE);
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
