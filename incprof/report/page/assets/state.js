// What the page is about, and what of it is chosen: a stretch of time bins, and a phase or none.

const DATA = JSON.parse(byId("data").textContent);
const TIME = DATA.time;
const BINS = TIME.start.length;
const BEGIN = TIME.start[0] || 0;
const END = Math.max(TIME.end[BINS - 1] || 0, BEGIN + 1e-9);
const STEP = TIME.step;
const INTERVAL = (END - BEGIN) / Math.max(BINS, 1);

const state = { from: 0, to: BINS, phase: null };
const followers = [];

function follow(work) {
  followers.push(work);
}

const tellAll = debounce(() => followers.forEach((work) => work()));

function isWhole() {
  return state.from === 0 && state.to === BINS;
}

// Tables exist for every STEP bins: a stretch begins and ends there, and is never empty.
function choose(change) {
  if ("from" in change || "to" in change) {
    const low = Math.min(change.from ?? state.from, change.to ?? state.to);
    const high = Math.max(change.from ?? state.from, change.to ?? state.to);
    state.from = Math.max(0, Math.min(BINS - 1, Math.floor(low / STEP) * STEP));
    state.to = Math.min(BINS, Math.max(state.from + STEP, Math.ceil(high / STEP) * STEP));
  }
  if ("phase" in change) state.phase = change.phase;
  tellAll();
}

function reset() {
  Object.assign(state, { from: 0, to: BINS, phase: null });
  tellAll();
}

function binAt(time) {
  let low = 0;
  let high = BINS - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (TIME.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function phaseName(id) {
  const phase = DATA.phases.find((p) => p.id === id);
  return phase ? phase.name : "between phases";
}

function chosenTimes() {
  return [TIME.start[state.from] ?? BEGIN, TIME.end[state.to - 1] ?? END];
}

// What is chosen, in words.
function chosenText() {
  const [from, to] = chosenTimes();
  const what = state.phase === null ? "" : `phase ${state.phase} ${phaseName(state.phase)}`;
  const when = isWhole() ? "" : `${moment(from, INTERVAL)} to ${moment(to, INTERVAL)} s`;
  return [what, when].filter(Boolean).join(", ") || "the whole run";
}
