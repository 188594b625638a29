// Counters under the phases: a lane for each figure.

const BYTES = /_bytes(_s)?$/;

function startCounters() {
  const area = byId("counters");
  if (!area) return;
  const lanes = DATA.counters;
  const plot = makeCanvas(area, lanes.length * LANE + 24, "Counters over time, a lane for each. The table below has the numbers.");
  const draw = () => drawLanes(plot, lanes, lanes.map((lane) => lane.name), (most, lane) => counterText(lane, most));
  TIMED.push(draw);
  follow(draw);
  tellLanes(area, lanes, (lane, at) => [lane.full, at < 0 || lane.values[at] === null ? "not counted here" : counterText(lane, lane.values[at])]);
  fallback("counters", ["From (s)", "To (s)", ...lanes.map((lane) => lane.full)], () =>
    lanes[0].start.map((start, i) => [moment(start, INTERVAL), moment(lanes[0].end[i], INTERVAL), ...lanes.map((lane) => (lane.values[i] === null ? "-" : counterText(lane, lane.values[i])))]),
  );
}

function counterText(lane, value) {
  if (lane.key === "system_share") return percent(value);
  if (lane.key === "power_w") return `${digits3(value)} W`;
  const bytes = lane.key.match(BYTES);
  if (!bytes) return brief(value);
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(value, 1) * 1.0005) / 3)));
  return `${digits3(value / 1000 ** power)} ${["B", "kB", "MB", "GB", "TB"][power]}${bytes[1] ? "/s" : ""}`;
}
