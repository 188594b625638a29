// The flame graph: callers above what they call, width is time. Drawn for what is chosen.

const ROW = 19;
const flame = { root: 0, at: 0, boxes: [], find: "", plot: null };

function startFlame() {
  const area = byId("flame");
  flame.plot = makeCanvas(area, ROW, "Flame graph");
  const { canvas } = flame.plot;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "flame graph");
  TIMED.push(drawFlame);
  follow(() => {
    if (!sums().total[flame.root]) flame.root = 0;
    drawFlame();
    sayFlame();
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = boxAt(event);
    canvas.style.cursor = box ? "pointer" : "";
    if (box) showTip(event, flameLines(box.node));
    else hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const box = boxAt(event);
    if (box) zoomFlame(box.node);
  });
  canvas.addEventListener("keydown", flameKey);
  canvas.addEventListener("focus", sayFlame);
  canvas.addEventListener("blur", drawFlame);
  byId("flame-back").addEventListener("click", () => zoomFlame(0));
  byId("flame-find").addEventListener("input", (event) => {
    flame.find = event.target.value.toLowerCase();
    drawFlame();
  });
  fallback("flame", ["Path", "Self", "Total", "Share"], flameRows);
}

function flameLines(node) {
  const { own, total, calls, all } = sums();
  const frame = frameOf(node);
  const number = callsText(frame, calls);
  return [
    node ? frame.full || frame.name : chosenText(),
    frame.where || "",
    `${seconds(total[node])}, ${percent(total[node] / all)}; ${seconds(own[node])} of it in itself`,
    number ? (frame.inlined ? number : `${number} calls`) : "",
  ];
}

function zoomFlame(node) {
  flame.root = flame.at = node;
  drawFlame();
  sayFlame();
}

function boxAt(event) {
  const { offsetX: x, offsetY: y } = event;
  const row = Math.floor(y / ROW);
  return flame.boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.width);
}

// Boxes from the root of the view down; what is narrower than half a pixel is left out. No recursion: paths are deep.
function layOut(width) {
  const { total } = sums();
  const boxes = [];
  const above = [];
  for (let node = flame.root; node > 0; ) {
    node = TREE.parent[node];
    above.push(node);
  }
  above.reverse().forEach((node, row) => boxes.push({ node, row, x: 0, width, above: true }));
  if (!total[flame.root]) return boxes;
  const scale = width / total[flame.root];
  const open = [{ node: flame.root, row: above.length, x: 0, width }];
  while (open.length) {
    const box = open.pop();
    boxes.push(box);
    let x = box.x;
    const below = CHILDREN[box.node].filter((c) => total[c] * scale >= 0.5).sort((a, b) => total[b] - total[a] || a - b);
    for (const node of below) {
      open.push({ node, row: box.row + 1, x, width: total[node] * scale });
      x += total[node] * scale;
    }
  }
  return boxes;
}

function drawFlame() {
  const width = Math.max(byId("flame").clientWidth, 120);
  flame.boxes = layOut(width);
  const rows = flame.boxes.reduce((a, b) => Math.max(a, b.row), 0) + 1;
  fit(flame.plot, rows * ROW + 1);
  const { ctx, canvas } = flame.plot;
  canvas.setAttribute("aria-label", `Flame graph of ${chosenText()}. The table below has the numbers.`);
  font(ctx, 12);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  let found = 0;
  for (const box of flame.boxes) found += drawBox(ctx, box) ? 1 : 0;
  const current = flame.boxes.find((b) => b.node === flame.at);
  if (current && document.activeElement === canvas) {
    ctx.strokeStyle = cssColour("--accent");
    ctx.lineWidth = 2;
    ctx.strokeRect(current.x + 1, current.row * ROW + 1, Math.max(current.width - 2, 1), ROW - 2);
  }
  byId("flame-back").hidden = flame.root === 0;
  byId("flame-found").textContent = flame.find ? `${found} found` : "";
  if (!sums().all) {
    ctx.fillStyle = cssColour("--muted");
    ctx.fillText("no samples here", 8, ROW / 2);
  }
}

// Returns whether the frame is one that is looked for.
function drawBox(ctx, box) {
  const frame = frameOf(box.node);
  const hit = flame.find && (frame.full || frame.name).toLowerCase().includes(flame.find);
  const colour = box.above ? quietColour() : frameColour(frame);
  ctx.globalAlpha = flame.find && !hit ? 0.3 : 1;
  ctx.fillStyle = colour;
  ctx.fillRect(box.x, box.row * ROW, Math.max(box.width - (box.width > 3 ? 1 : 0.2), 0.4), ROW - 1);
  ctx.globalAlpha = flame.find && !hit ? 0.5 : 1;
  if (box.width > 34) {
    ctx.fillStyle = inkOn(colour);
    ctx.fillText(fitted(ctx, nodeName(box.node), box.width - 10), box.x + 5, box.row * ROW + ROW / 2);
  }
  ctx.globalAlpha = 1;
  return hit;
}

function frameColour(frame) {
  const place = COLOUR_OF.get(frame.like ?? frame.function);
  if (place !== undefined) return functionColour(place);
  if (frame.function < 0) return quietColour();
  return isDark() ? "#3d464d" : "#cfd5d8";
}

function quietColour() {
  return isDark() ? "#2c3338" : "#e6e8e7";
}

function flameKey(event) {
  const box = flame.boxes.find((b) => b.node === flame.at) || flame.boxes[0];
  const onRow = (row) => flame.boxes.filter((b) => b.row === row).sort((a, b) => a.x - b.x);
  let next = null;
  if (event.key === "ArrowUp") next = flame.boxes.find((b) => b.node === TREE.parent[box.node] && b.row === box.row - 1);
  else if (event.key === "ArrowDown") next = onRow(box.row + 1).find((b) => b.x >= box.x - 0.01 && b.x < box.x + box.width);
  else if (event.key === "ArrowLeft") next = onRow(box.row).filter((b) => b.x < box.x).pop();
  else if (event.key === "ArrowRight") next = onRow(box.row).find((b) => b.x > box.x);
  else if (event.key === "Home") next = flame.boxes[0];
  else if (event.key === "Enter") return void (event.preventDefault(), zoomFlame(box.node));
  else if (event.key === "Escape") return zoomFlame(0);
  else return;
  event.preventDefault();
  if (next) flame.at = next.node;
  drawFlame();
  sayFlame();
}

function sayFlame() {
  if (!flame.boxes.some((b) => b.node === flame.at)) flame.at = flame.root;
  byId("flame-at").textContent = sums().all ? flameLines(flame.at).filter(Boolean).join(" · ") : "";
  if (document.activeElement === flame.plot.canvas) drawFlame();
}

function flameRows() {
  const { own, total, all } = sums();
  const nodes = [];
  for (let node = 1; node < NODES; node++) if (total[node] >= 0.005 * all && total[node] > 0) nodes.push(node);
  nodes.sort((a, b) => total[b] - total[a] || a - b);
  return nodes.map((node) => {
    const names = [];
    for (let up = node; up > 0 && names.length < 12; up = TREE.parent[up]) names.unshift(frameOf(up).name);
    return [names.join(" › "), seconds(own[node]), seconds(total[node]), percent(total[node] / all)];
  });
}
