// What each number of clusters leaves, and how far apart they are.

function startScores() {
  const area = byId("scores");
  const { scores } = DATA;
  if (!area) return; // the table says as much as one score
  const first = scores[0].inertia || 1;
  const data = [scores.map((s) => s.k), scores.map((s) => s.inertia / first), scores.map((s) => s.silhouette)];
  const text = { stroke: () => cssColour("--muted"), font: `11.5px ${FONT}`, ticks: { stroke: () => cssColour("--line"), size: 4 }, labelFont: `11.5px ${FONT}`, labelSize: 16 };
  const line = (name, place, dash) => ({ label: name, stroke: () => functionColour(place), width: 2, dash, points: { show: true, size: 6, fill: () => functionColour(place) }, spanGaps: true });
  const options = {
    width: area.clientWidth,
    height: 190,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [0.6, Math.max(...data[0]) + 0.4] }, y: { range: [0, 1.05] } },
    axes: [
      { ...text, label: "k: number of clusters", grid: { show: false }, size: 24, splits: () => data[0], values: (u, at) => at.map(String) },
      { ...text, size: 40, grid: { stroke: () => cssColour("--line"), width: 1 }, splits: () => [0, 0.25, 0.5, 0.75, 1], values: (u, at) => at.map(String) },
    ],
    series: [{}, line("inertia", 0), line("silhouette", 4, [5, 4])],
    hooks: { drawClear: [markChosen] },
  };
  const plot = new uPlot(options, data, area);
  const canvas = area.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Inertia and silhouette for each number of clusters. The table below has the numbers.");
  const names = ["inertia, of that with one cluster", "silhouette"];
  const legend = el("div", { class: "legend" });
  names.forEach((name, i) => {
    const swatch = el("span", { class: "swatch" });
    TIMED.push(() => (swatch.style.background = functionColour(i * 4)));
    legend.append(el("span", { class: "item" }, swatch, el("span", { text: name })));
  });
  area.after(legend);
  TIMED.push(() => {
    plot.setSize({ width: area.clientWidth, height: 190 });
    plot.redraw(false, true);
  });
}

function markChosen(u) {
  const { ctx } = u;
  const half = Math.abs(u.valToPos(1.3, "x", true) - u.valToPos(1, "x", true));
  ctx.save();
  ctx.fillStyle = cssColour("--soft");
  ctx.fillRect(u.valToPos(DATA.chosen, "x", true) - half, u.bbox.top, 2 * half, u.bbox.height);
  ctx.restore();
}
