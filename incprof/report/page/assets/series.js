// Self time per second, stacked: the functions that matter most at the bottom, all others on top.

const SERIES = DATA.series;
const SERIES_HEIGHT = 250;

// Each line is the sum of those below it, so that bands between lines are the functions. Bins are drawn as steps.
function stackedData() {
  const x = [...TIME.start, END];
  const sum = new Float64Array(BINS + 1);
  const lines = SERIES.values.map((values) => {
    for (let bin = 0; bin < BINS; bin++) sum[bin] += values[bin];
    sum[BINS] = sum[BINS - 1];
    return Array.from(sum);
  });
  return [x, ...lines];
}

function seriesColour(place) {
  return place === SERIES.functions.length ? restColour() : functionColour(place);
}

function startSeries() {
  const area = byId("series");
  const data = stackedData();
  const top = data.length - 1;
  const values = startLegend();
  const steps = uPlot.paths.stepped({ align: 1 });
  const axis = { stroke: () => cssColour("--muted"), font: `11.5px ${FONT}`, ticks: { stroke: () => cssColour("--line"), size: 4 } };
  const options = {
    width: area.clientWidth,
    height: SERIES_HEIGHT,
    padding: [8, RIGHT, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: CLICK } },
    scales: { x: { time: false, range: () => [BEGIN, END] }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.06 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, splits: (u) => timeTicks(u.width).ticks, values: (u, at) => at.map((t) => tickText(t, timeTicks(u.width).step)) },
      { ...axis, grid: { stroke: () => cssColour("--line"), width: 1 }, size: () => gutter(), values: (u, at) => at.map((v) => `${Number(v.toPrecision(6))}${v && gutter() > 60 ? " s/s" : ""}`) },
    ],
    // The last line is drawn first, so that those below it cover it.
    series: [{}, ...SERIES.names.map((name, place) => ({ label: name, paths: steps, width: 0, points: { show: false }, fill: () => seriesColour(top - 1 - place) }))],
    hooks: {
      draw: [shadeSeries],
      setCursor: [(u) => showValues(values, u.cursor.left >= 0 ? binAt(u.posToVal(u.cursor.left, "x")) : null)],
      setSelect: [
        (u) => {
          if (u.select.width > CLICK) {
            choose({ from: binAt(u.posToVal(u.select.left, "x")), to: binAt(u.posToVal(u.select.left + u.select.width, "x")) + 1 });
            u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          }
        },
      ],
    },
  };
  const plot = new uPlot(options, [data[0], ...data.slice(1).reverse()], area);
  area.querySelector("canvas").setAttribute("role", "img");
  area.querySelector("canvas").setAttribute("aria-label", "Self time per second of the largest functions. The table below has the numbers.");
  TIMED.push(() => {
    plot.setSize({ width: area.clientWidth, height: SERIES_HEIGHT });
    plot.redraw(false, true);
  });
  follow(() => {
    plot.redraw(false, false);
    showValues(values, null);
  });
  showValues(values, null);
  fallback("series", ["From s", ...SERIES.names], () =>
    TIME.start.map((start, bin) => [moment(start, INTERVAL), ...SERIES.values.map((v) => digits3(v[bin]))]),
  );
}

function startLegend() {
  const legend = byId("series-legend");
  return SERIES.names.map((name, place) => {
    const swatch = el("span", { class: "swatch" });
    const value = el("span", { class: "value" });
    const item = el("span", { class: "item", title: SERIES.full[place] || "" }, swatch, el("span", { class: "name", text: name }), value);
    TIMED.push(() => (swatch.style.background = seriesColour(place)));
    legend.append(item);
    return value;
  });
}

// Values at the pointer, else the shares of what is chosen.
function showValues(values, bin) {
  const sum = SERIES.values.map((list) => (bin === null ? chosenSeconds(list) : list[bin]));
  const all = sum.reduce((a, b) => a + b, 0);
  values.forEach((node, place) => {
    node.textContent = bin === null ? percent(all ? sum[place] / all : 0) : `${digits3(sum[place])} s/s`;
  });
}

function chosenSeconds(list) {
  let sum = 0;
  for (let bin = state.from; bin < state.to; bin++) {
    if (state.phase === null || TIME.label[bin] === state.phase) sum += list[bin] * (TIME.end[bin] - TIME.start[bin]);
  }
  return sum;
}

function shadeSeries(u) {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.fillStyle = cssColour("--shade");
  const x = (time) => left + ((time - BEGIN) / (END - BEGIN)) * width;
  const [from, to] = chosenTimes().map(x);
  ctx.fillRect(left, top, from - left, height);
  ctx.fillRect(to, top, left + width - to, height);
  if (state.phase !== null) {
    for (const s of SEGMENTS) {
      if (s.label !== state.phase) ctx.fillRect(x(TIME.start[s.from]), top, x(TIME.end[s.to - 1]) - x(TIME.start[s.from]), height);
    }
  }
  ctx.restore();
}
