// All ranks over time as a heat map: a row each, coloured by phase or by the use of the CPU.

const heat = { plot: null, row: 0, bin: 0, left: 0, height: 0 };

function startRanks() {
  const area = byId("ranks");
  if (!area) return;
  heat.plot = makeCanvas(area, 20, "Ranks over time");
  const { canvas } = heat.plot;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "heat map");
  canvas.setAttribute("aria-label", "Ranks over time. Arrow keys move; the table below has the numbers.");
  TIMED.push(drawRanks);
  follow(drawRanks);
  byId("ranks-colour").addEventListener("change", drawRanks);
  canvas.addEventListener("pointermove", (event) => {
    const [row, bin] = heatAt(event);
    if (row === null) hideTip();
    else showTip(event, heatLines(row, bin));
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("keydown", heatKey);
  canvas.addEventListener("focus", () => drawRanks());
  canvas.addEventListener("blur", () => drawRanks());
  fallback("ranks", ["Rank", "Same phase as reference", "CPU time", "Off the CPU", "Length"], () =>
    DATA.ranks.rows.map((r) => [`${r.rank}${r.damaged ? " (damaged)" : ""}`, r.agreement === null ? "-" : percent(r.agreement), seconds(r.cpu_s), seconds(r.off_cpu_s), seconds(r.wall_s)]),
  );
}

function rowHeight() {
  return Math.max(1, Math.min(22, Math.floor(560 / DATA.ranks.rows.length)));
}

function heatAt(event) {
  const { start, end, rows } = DATA.ranks;
  const row = Math.floor(event.offsetY / rowHeight());
  const time = timeOf(event.offsetX, heat.plot.width);
  if (row < 0 || row >= rows.length || time < BEGIN || time > END) return [null, null];
  const bin = end.findIndex((e) => e > time);
  return [row, bin < 0 ? start.length - 1 : bin];
}

function heatLines(row, bin) {
  const { rows, start, end } = DATA.ranks;
  const r = rows[row];
  const label = r.label[bin];
  const what = label === -2 ? "not running" : label < 0 ? "no phase" : `phase ${label} ${phaseName(label)}`;
  return [`rank ${r.rank}`, `${moment(start[bin], INTERVAL)} to ${moment(end[bin], INTERVAL)} s: ${what}`,
    label === -2 ? "" : `${(r.busy[bin] / 100).toFixed(2)} s of CPU time per second`,
    r.agreement === null ? "" : `in the same phase as rank ${DATA.ranks.reference} ${percent(r.agreement)} of the time`];
}

function drawRanks() {
  const { rows, start, end } = DATA.ranks;
  const size = rowHeight();
  const width = fit(heat.plot, rows.length * size + 24);
  const { ctx, canvas } = heat.plot;
  const busy = byId("ranks-colour").value === "busy";
  const most = busy ? Math.max(100, ...rows.map((r) => Math.max(...r.busy))) : 0;
  const xs = start.map((t) => xOf(t, width));
  xs.push(xOf(end[end.length - 1], width));
  rows.forEach((r, row) => {
    // Neighbours of one colour are one box.
    for (let bin = 0; bin < r.label.length; ) {
      let next = bin + 1;
      while (next < r.label.length && r.label[next] === r.label[bin] && (!busy || r.busy[next] === r.busy[bin])) next++;
      if (r.label[bin] !== -2) {
        ctx.fillStyle = busy ? amountColour(r.busy[bin] / most) : phaseFill(ctx, r.label[bin]);
        ctx.fillRect(xs[bin], row * size, xs[next] - xs[bin] + 0.3, size > 6 ? size - 1 : size);
      }
      bin = next;
    }
  });
  nameRows(ctx, rows, size);
  shadeUnchosen(ctx, width, 0, rows.length * size);
  drawTimeAxis(ctx, width, rows.length * size);
  if (document.activeElement === canvas) {
    ctx.strokeStyle = cssColour("--ink");
    ctx.lineWidth = 2;
    ctx.strokeRect(xs[heat.bin], heat.row * size, Math.max(xs[heat.bin + 1] - xs[heat.bin], 3), Math.max(size, 3));
  }
  byId("ranks-key").replaceChildren(...(busy ? amountKey(`${(most / 100).toFixed(2)} s/s`) : []));
}

function amountKey(most) {
  const scale = el("span", { class: "scale" });
  scale.style.background = `linear-gradient(90deg, ${CIVIDIS.join(", ")})`;
  return ["0 ", scale, ` ${most}`];
}

function nameRows(ctx, rows, size) {
  font(ctx, 11.5);
  ctx.fillStyle = cssColour("--muted");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  // Not half a label above the first row.
  const every = Math.max(1, Math.ceil(15 / size));
  const first = size < 12 ? Math.ceil(7 / size) - 1 : 0;
  rows.forEach((r, row) => {
    if (row % every === first) ctx.fillText(gutter() > 60 ? `rank ${r.rank}` : r.rank, gutter() - 8, row * size + size / 2);
  });
}

function heatKey(event) {
  const { rows, start } = DATA.ranks;
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (!(event.key in moves)) return;
  event.preventDefault();
  const [down, right] = moves[event.key];
  heat.row = Math.max(0, Math.min(rows.length - 1, heat.row + down));
  heat.bin = Math.max(0, Math.min(start.length - 1, heat.bin + right));
  byId("ranks-at").textContent = heatLines(heat.row, heat.bin).filter(Boolean).join(" · ");
  drawRanks();
}
