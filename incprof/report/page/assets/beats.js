// Heartbeats under the phases: a lane each, as high as its beats per second; hollow where beats are in progress.

function startBeats() {
  const area = byId("beats");
  if (!area) return;
  const { lanes } = DATA.beats;
  const plot = makeCanvas(area, lanes.length * LANE + 24, "Heartbeats per second, a lane for each. The table below has the numbers.");
  const draw = () => drawLanes(plot, lanes, laneNames(lanes), (most) => `${brief(most)}/s`);
  TIMED.push(draw);
  follow(draw);
  tellLanes(area, lanes, (lane, at) => [`${lane.name}${lane.phase === null ? "" : `, phase ${lane.phase}`}`, ...laneLines(lane, at)]);
  fallback("beats", ["Heartbeat", "Beats", "Per second", "Mean", "Time in it", "1 of"], () =>
    lanes.map((b) => [b.name, group(b.count), digits3(b.rate_hz), seconds(b.mean_s), `${b.busy_pct.toFixed(1)} %`, String(b.factor)]),
  );
}

function laneLines(lane, at) {
  if (at < 0) return ["no interval here"];
  const beats = lane.values[at];
  if (beats === null) return [lane.open[at] ? `${digits3(lane.open[at])} in progress` : "no beat"];
  return [`${digits3(beats)} beats per second`, lane.duration[at] === null ? "" : `${seconds(lane.duration[at])} each`];
}

// There is little room: without `:body` where the rest tells them apart.
function laneNames(lanes) {
  const names = lanes.map((lane) => lane.name.replace(/:(body|loop)$/, ""));
  return new Set(names).size === names.length ? names : lanes.map((lane) => lane.name);
}
