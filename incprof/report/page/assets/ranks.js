// All ranks over time as a heat map: groups of ranks that are alike as rows, and when one is opened, its ranks below it.

const heat = { plot: null, groups: [], open: new Set(), rows: [], tops: [], height: 0, row: 0, bin: 0, width: 0 };
// More ranks than this are shown by what they have in common.
const FEW_RANKS = 64;
const GROUP_HEIGHT = 22;
const ROWS_HEIGHT = 560;

// Values that were written as value, how often, value, how often; or 0, 0 and all of them.
function unrun(written) {
  if (written[1] === 0) return written.slice(2);
  const out = [];
  for (let i = 0; i < written.length; i += 2) for (let k = 0; k < written[i + 1]; k++) out.push(written[i]);
  return out;
}

function startRanks() {
  const area = byId("ranks");
  if (!area) return;
  const unpack = (row, group) => ({ ...row, group, label: unrun(row.label), busy: unrun(row.busy) });
  heat.groups = DATA.ranks.groups.map((g, at) => {
    const row = { ...unpack(g.row, at), typical: g.typical };
    return { row, rows: g.rows.length ? g.rows.map((r) => unpack(r, at)) : [row] };
  });
  byId("ranks-rows").value = DATA.ranks.number > FEW_RANKS ? "groups" : "ranks";
  heat.plot = makeCanvas(area, 20, "Ranks over time");
  const { canvas } = heat.plot;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "heat map");
  canvas.setAttribute("aria-label", "Ranks over time. Arrow keys move, Enter opens a group; the table below has the numbers.");
  TIMED.push(drawRanks);
  follow(drawRanks);
  byId("ranks-colour").addEventListener("change", drawRanks);
  byId("ranks-rows").addEventListener("change", () => (layRows(), drawRanks()));
  byId("ranks-find").addEventListener("change", (event) => goToRank(Number(event.target.value)));
  for (const button of document.querySelectorAll("button.rank")) button.addEventListener("click", () => goToRank(Number(button.dataset.rank)));
  canvas.addEventListener("pointermove", (event) => {
    const [row, bin] = heatAt(event);
    canvas.style.cursor = row !== null && isGroup(heat.rows[row]) ? "pointer" : "";
    if (row === null) hideTip();
    else showTip(event, heatLines(row, bin));
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const [row, bin] = heatAt(event);
    if (row === null) return;
    [heat.row, heat.bin] = [row, bin];
    openGroup(row);
  });
  canvas.addEventListener("keydown", heatKey);
  canvas.addEventListener("focus", () => drawRanks());
  canvas.addEventListener("blur", () => drawRanks());
  layRows();
  fallback("ranks", ["Rank", "Like", "Same phase as reference", "CPU time", "CPU in MPI", "Off the CPU", "Length"], () =>
    inOrder().map((r) => [`${r.name}${r.damaged ? " (damaged)" : ""}`, String(heat.groups[r.group].row.typical), r.agreement === null ? "-" : percent(r.agreement), seconds(r.cpu_s), seconds(r.mpi_s), seconds(r.off_cpu_s), seconds(r.wall_s)]),
  );
}

function inOrder() {
  return heat.groups.flatMap((g) => g.rows).sort((a, b) => a.rank - b.rank);
}

function isGroup(row) {
  return byId("ranks-rows").value === "groups" && row.number > 1 && row === heat.groups[row.group].row;
}

// Which rows are shown, and where: groups are as high as can be read, ranks share what room there is.
function layRows() {
  const grouped = byId("ranks-rows").value === "groups";
  heat.rows = grouped ? heat.groups.flatMap((g, at) => (heat.open.has(at) && g.row.number > 1 ? [g.row, ...g.rows] : [g.row])) : inOrder();
  const small = heat.rows.filter((row) => !grouped || row !== heat.groups[row.group].row).length;
  const size = Math.max(2, Math.min(GROUP_HEIGHT, Math.floor(ROWS_HEIGHT / Math.max(small, 1))));
  heat.height = 0;
  heat.tops = heat.rows.map((row) => {
    const top = heat.height;
    heat.height += grouped && row === heat.groups[row.group].row ? GROUP_HEIGHT : size;
    return top;
  });
  heat.row = Math.min(heat.row, heat.rows.length - 1);
}

function rowHeight(at) {
  return (heat.tops[at + 1] ?? heat.height) - heat.tops[at];
}

function openGroup(at) {
  const row = heat.rows[at];
  if (isGroup(row)) {
    if (!heat.open.delete(row.group)) heat.open.add(row.group);
    layRows();
  }
  sayRank();
  drawRanks();
}

function goToRank(rank) {
  const has = (row) => row.ranks.some(([first, last]) => rank >= first && rank <= last);
  const group = heat.groups.findIndex((g) => g.rows.some((row) => has(row)));
  if (group < 0) {
    byId("ranks-at").textContent = Number.isInteger(rank) ? `There is no rank ${rank}.` : "";
    return;
  }
  if (byId("ranks-rows").value === "groups") heat.open.add(group);
  layRows();
  const own = heat.groups[group].rows.find((row) => has(row));
  heat.row = heat.rows.indexOf(own);
  heat.bin = Math.max(0, own.label.findIndex((label) => label !== -2));
  drawRanks();
  const area = byId("ranks-area");
  area.scrollTop = heat.tops[heat.row] - area.clientHeight / 2;
  heat.plot.canvas.focus({ preventScroll: true });
  area.scrollIntoView({ block: "nearest" });
  sayRank();
  drawRanks();
}

function heatAt(event) {
  const { start, end } = DATA.ranks;
  const time = timeOf(event.offsetX, heat.plot.width);
  const inside = event.offsetY >= 0 && event.offsetY < heat.height;
  if (!inside || time > END) return [null, null];
  let row = heat.rows.length - 1;
  while (heat.tops[row] > event.offsetY) row--;
  const bin = end.findIndex((e) => e > time);
  return [row, time < BEGIN ? 0 : bin < 0 ? start.length - 1 : bin];
}

function heatLines(at, bin) {
  const { start, end, reference } = DATA.ranks;
  const r = heat.rows[at];
  const label = r.label[bin];
  const what = label === -2 ? "not running" : label < 0 ? "no phase" : `phase ${label} ${phaseName(label)}`;
  const whose = r.number > 1 ? `most of ${r.number} ranks: ` : "";
  return [rowName(r), `${moment(start[bin], INTERVAL)} to ${moment(end[bin], INTERVAL)} s: ${whose}${what}`,
    label === -2 ? "" : `${(r.busy[bin] / 100).toFixed(2)} s of CPU time per second`,
    `${seconds(r.mpi_s)} in MPI${r.number > 1 ? " on average" : ""}`,
    r.agreement === null ? "" : `in the same phase as rank ${reference} ${percent(r.agreement)} of the time`,
    isGroup(r) ? (heat.open.has(r.group) ? "click to close" : "click for each of them") : ""];
}

function rowName(r) {
  return r.number > 1 ? `${r.number} ranks like ${heat.groups[r.group].row.typical}: ${r.name}` : `rank ${r.name}`;
}

function sayRank() {
  byId("ranks-at").textContent = heatLines(heat.row, heat.bin).filter(Boolean).join(" \u00b7 ");
}

function drawRanks() {
  const { start, end } = DATA.ranks;
  const { rows } = heat;
  const width = fit(heat.plot, heat.height + 24);
  const { ctx, canvas } = heat.plot;
  const busy = byId("ranks-colour").value === "busy";
  const most = busy ? rows.reduce((top, r) => r.busy.reduce((a, b) => Math.max(a, b), top), 100) : 0;
  const xs = start.map((t) => xOf(t, width));
  xs.push(xOf(end[end.length - 1], width));
  rows.forEach((r, row) => {
    const [top, size] = [heat.tops[row], rowHeight(row)];
    // Neighbours of one colour are one box.
    for (let bin = 0; bin < r.label.length; ) {
      let next = bin + 1;
      while (next < r.label.length && r.label[next] === r.label[bin] && (!busy || r.busy[next] === r.busy[bin])) next++;
      if (r.label[bin] !== -2) {
        ctx.fillStyle = busy ? amountColour(r.busy[bin] / most) : phaseFill(ctx, r.label[bin]);
        ctx.fillRect(xs[bin], top, xs[next] - xs[bin] + 0.3, size > 6 ? size - 1 : size);
      }
      bin = next;
    }
  });
  nameRows(ctx, rows);
  shadeUnchosen(ctx, width, 0, heat.height);
  drawTimeAxis(ctx, width, heat.height);
  if (document.activeElement === canvas) {
    ctx.strokeStyle = cssColour("--ink");
    ctx.lineWidth = 2;
    ctx.strokeRect(xs[heat.bin], heat.tops[heat.row], Math.max(xs[heat.bin + 1] - xs[heat.bin], 3), Math.max(rowHeight(heat.row), 3));
  }
  byId("ranks-key").replaceChildren(...(busy ? amountKey(`${(most / 100).toFixed(2)} s/s`) : []));
}

function amountKey(most) {
  const scale = el("span", { class: "scale" });
  scale.style.background = `linear-gradient(90deg, ${CIVIDIS.join(", ")})`;
  return ["0 ", scale, ` ${most}`];
}

// A name where there is room for it below the one before.
function nameRows(ctx, rows) {
  font(ctx, 11.5);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  let below = -2;
  rows.forEach((r, row) => {
    const middle = heat.tops[row] + rowHeight(row) / 2;
    if (middle - 7 < below) return;
    below = middle + 8;
    const group = isGroup(r);
    ctx.fillStyle = cssColour(group ? "--ink" : "--muted");
    const sign = group ? (heat.open.has(r.group) ? "\u25be " : "\u25b8 ") : "";
    const wide = gutter() > 60;
    const text = group ? (wide ? `${sign}${r.number} ranks` : `${sign}${r.number}`) : wide ? `rank ${r.name}` : r.name;
    ctx.fillText(fitted(ctx, text, gutter() - 10), gutter() - 8, middle);
  });
}

function heatKey(event) {
  const { start } = DATA.ranks;
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    openGroup(heat.row);
    return;
  }
  if (!(event.key in moves)) return;
  event.preventDefault();
  const [down, right] = moves[event.key];
  heat.row = Math.max(0, Math.min(heat.rows.length - 1, heat.row + down));
  heat.bin = Math.max(0, Math.min(start.length - 1, heat.bin + right));
  const area = byId("ranks-area");
  const [top, size] = [heat.tops[heat.row], rowHeight(heat.row)];
  area.scrollTop = Math.min(Math.max(area.scrollTop, top + size - area.clientHeight), top);
  sayRank();
  drawRanks();
}
