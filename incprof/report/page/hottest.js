// The functions with most self time in what is chosen.

const HOTTEST = 15;

function startHottest() {
  follow(drawHottest);
  drawHottest();
}

function drawHottest() {
  const { own, calls, all } = sums();
  const byFrame = new Map();
  for (let node = 1; node < NODES; node++) if (own[node] > 0) byFrame.set(TREE.frame[node], (byFrame.get(TREE.frame[node]) || 0) + own[node]);
  const rows = [...byFrame].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const body = el("tbody");
  for (const [place, self] of rows.slice(0, HOTTEST)) {
    const frame = TREE.frames[place];
    const swatch = el("span", { class: "chip", text: "\u00a0" });
    swatch.style.background = frameColour(frame);
    const name = el("th", { scope: "row", title: frame.full || frame.name }, swatch, ` ${frame.name}`);
    const share = el("td", { class: "share" }, amount(self / all), percent(self / all));
    const number = frame.function < 0 ? "" : group(calls.get(frame.function) || 0);
    body.append(el("tr", {}, name, el("td", { class: "number", text: seconds(self) }), share, el("td", { class: "number", text: number }), el("td", { text: frame.where || "" })));
  }
  const head = ["Function", "Self time", "Share", "Calls", "Where"];
  byId("hottest").replaceChildren(el("thead", {}, el("tr", {}, ...head.map((text, i) => el("th", { text, scope: "col", class: i === 1 || i === 3 ? "number" : "" })))), body);
}
