// The call tree with the time that is chosen: summed from the cells once for every choice.

const TREE = DATA.tree;
const NODES = TREE.parent.length;
const TICK = 1 / DATA.run.rate_hz;
const CHILDREN = Array.from({ length: NODES }, () => []);
const DEPTH = new Int32Array(NODES);
for (let node = 1; node < NODES; node++) {
  CHILDREN[TREE.parent[node]].push(node);
  DEPTH[node] = DEPTH[TREE.parent[node]] + 1;
}

function frameOf(node) {
  return TREE.frames[TREE.frame[node]];
}

function nodeName(node) {
  return node ? frameOf(node).name : chosenText();
}

function cellChosen(cell) {
  const bin = DATA.cells.bin[cell] * STEP;
  if (bin < state.from || bin >= state.to) return false;
  return state.phase === null || DATA.cells.label[cell] === state.phase;
}

let known = { key: "", sums: null };

// own, total: seconds by node. calls: by function. wall: seconds of the bins that hold a chosen cell.
function sums() {
  const key = `${state.from} ${state.to} ${state.phase}`;
  if (known.key === key) return known.sums;
  const own = new Float64Array(NODES);
  const calls = new Map();
  const cells = DATA.cells.bin.length;
  for (let cell = 0; cell < cells; cell++) {
    if (!cellChosen(cell)) continue;
    unpack(DATA.cells.ticks[cell], (node, ticks) => (own[node] += ticks * TICK));
    unpack(DATA.calls.cells[cell], (place, count) => {
      const what = DATA.calls.columns[place];
      calls.set(what, (calls.get(what) || 0) + count);
    });
  }
  const total = own.slice();
  for (let node = NODES - 1; node > 0; node--) total[TREE.parent[node]] += total[node];
  known = { key, sums: { own, total, calls, all: total[0] } };
  return known.sums;
}

// Columns are differences, each followed by its value.
function unpack(list, work) {
  let column = 0;
  for (let at = 0; at < list.length; at += 2) {
    column += list[at];
    work(column, list[at + 1]);
  }
}

// Frames that stand for a function at several places of the tree: their calls cannot be told apart.
const PLACES = new Map();
for (let node = 1; node < NODES; node++) {
  const what = frameOf(node).function;
  if (what >= 0) PLACES.set(what, (PLACES.get(what) || 0) + 1);
}

function callsText(frame, calls) {
  const what = frame.function;
  if (what < 0) return "";
  if (frame.inlined) return "inlined";
  if (!DATA.counted) return "";
  const number = calls.get(what) || 0;
  return PLACES.get(what) > 1 && number ? `≤ ${group(number)}` : group(number);
}

function stepsChosen() {
  const phases = DATA.phases.filter((p) => state.phase === null || p.id === state.phase);
  return new Set(phases.flatMap((p) => p.steps));
}

// Colours of functions: the same in all plots. Those without one are quiet.
const COLOUR_OF = new Map(DATA.series.functions.map((what, place) => [what, place]));
