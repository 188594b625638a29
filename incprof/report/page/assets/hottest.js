// The functions with most self time in what is chosen.

const HOTTEST = 15;
const FIRST_LIBRARY = -10;

function startHottest() {
  follow(drawHottest);
  drawHottest();
}

function drawHottest() {
  const { own, calls, all } = sums();
  const byFrame = new Map();
  const inLibraries = new Map();
  const add = (table, key, value) => table.set(key, (table.get(key) || 0) + value);
  for (let node = 1; node < NODES; node++) {
    if (!(own[node] > 0)) continue;
    // As in the plot of self time: what libraries did counts for the function that called them.
    const called = frameOf(node).function <= FIRST_LIBRARY && DATA.run.libs !== "separate" && TREE.parent[node] > 0;
    const frame = TREE.frame[called ? TREE.parent[node] : node];
    add(byFrame, frame, own[node]);
    if (called) add(inLibraries, frame, own[node]);
  }
  const rows = [...byFrame].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const body = el("tbody");
  for (const [place, self] of rows.slice(0, HOTTEST)) {
    const frame = TREE.frames[place];
    const swatch = el("span", { class: "chip", text: "\u00a0" });
    swatch.style.background = frameColour(frame);
    const name = el("th", { scope: "row", title: frame.full || frame.name }, el("span", { class: "named" }, swatch, el("span", { text: frame.name })));
    const share = el("td", { class: "share" }, amount(self / all), percent(self / all));
    const number = frame.function < 0 ? "" : frame.inlined ? "inlined" : !DATA.counted ? "" : group(calls.get(frame.function) || 0);
    const inside = inLibraries.get(place) || 0;
    const libraries = el("td", { class: "number", text: inside ? percent(inside / self) : "" });
    body.append(el("tr", {}, name, el("td", { class: "number", text: seconds(self) }), share, libraries, el("td", { class: "number", text: number }), el("td", { text: frame.where || "" })));
  }
  const head = ["Function", "Self time", "Share", "In libraries", "Calls", "Where"];
  byId("hottest").replaceChildren(el("thead", {}, el("tr", {}, ...head.map((text, i) => el("th", { text, scope: "col", class: [1, 3, 4].includes(i) ? "number" : "" })))), body);
}
