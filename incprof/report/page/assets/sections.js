// Lanes of sections under the phases, such as counters.

function startSections() {
  for (const [id, lanes] of Object.entries(DATA.lanes)) startSection(id, lanes);
}

function startSection(id, lanes) {
  const area = byId(id);
  const said = id[0].toUpperCase() + id.slice(1);
  const plot = makeCanvas(area, lanes.length * LANE + 24, `${said} over time, a lane for each. The table below has the numbers.`);
  const draw = () => drawLanes(plot, lanes, lanes.map((lane) => lane.name), (most, lane) => laneText(lane, most));
  TIMED.push(draw);
  follow(draw);
  tellLanes(area, lanes, (lane, at) => [lane.full, at < 0 || lane.values[at] === null ? "no value here" : laneText(lane, lane.values[at])]);
  fallback(id, ["From (s)", "To (s)", ...lanes.map((lane) => lane.full)], () =>
    lanes[0].start.map((start, i) => [moment(start, INTERVAL), moment(lanes[0].end[i], INTERVAL), ...lanes.map((lane) => (lane.values[i] === null ? "-" : laneText(lane, lane.values[i])))]),
  );
}

// As incprof/report/render/plain.py writes the units that lanes have.
function laneText(lane, value) {
  switch (lane.unit) {
    case "": case "number": return brief(value);
    case "%": return percent(value);
    case "s": return seconds(value);
    case "kB": case "kB/s": {
      const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(value, 1) * 1.0005) / 3)));
      return `${digits3(value / 1000 ** power)} ${["B", "kB", "MB", "GB", "TB"][power]}${lane.unit === "kB/s" ? "/s" : ""}`;
    }
    default: return `${digits3(value)} ${lane.unit}`;
  }
}
