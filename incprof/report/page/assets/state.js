// What the page is about, and what of it is chosen: a span of time bins, and a phase or none.

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

const tellAll = debounce(() => {
  followers.forEach((work) => work());
  keepChoice();
});

function isWhole() {
  return state.from === 0 && state.to === BINS;
}

// Tables exist for every STEP bins: a span begins and ends there, and is never empty.
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

// What is chosen stands in the address, so that a link or a bookmark shows the same: #from=12&to=20&phase=1, in seconds.
// Other fragments are places on the page, and are left alone while all is shown.
function keepChoice() {
  const said = new URLSearchParams();
  const [from, to] = chosenTimes();
  if (!isWhole()) {
    said.set("from", moment(from, INTERVAL));
    said.set("to", moment(to, INTERVAL));
  }
  if (state.phase !== null) said.set("phase", state.phase);
  const text = said.toString();
  if (!text && !location.hash.includes("=")) return;
  if (location.hash.slice(1) !== text) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

function readChoice() {
  const said = new URLSearchParams(location.hash.slice(1));
  if (!["from", "to", "phase"].some((key) => said.has(key))) return;
  const number = (key, other) => {
    const value = said.has(key) ? Number(said.get(key)) : NaN;
    return Number.isFinite(value) ? value : other;
  };
  const [low, high] = [Math.max(number("from", BEGIN), BEGIN), Math.min(number("to", END), END)];
  const phase = number("phase", null);
  Object.assign(state, { from: 0, to: BINS, phase: DATA.phases.some((p) => p.id === phase) ? phase : null });
  choose(low < high ? { from: binAt(low + INTERVAL * 1e-3), to: binAt(high - INTERVAL * 1e-3) + 1 } : {});
}
