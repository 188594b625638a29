// The step tree: a treegrid of who calls whom. Rows exist for what is open.

const MOST_CHILDREN = 25;
const LEAST_SHARE = 0.002;
const grid = { open: new Set([0]), more: new Set(), at: 0, rows: [] };

function startTree() {
  openDrivers();
  const table = byId("tree");
  table.addEventListener("keydown", treeKey);
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-node]");
    if (!row) return;
    const node = Number(row.dataset.node);
    grid.at = node;
    if (row.dataset.more) grid.more.add(node);
    else toggle(node);
    drawTree(true);
  });
  follow(() => drawTree(false));
  drawTree(false);
}

// Opened at first: the way down to where time is spread over several functions, and one level more.
function openDrivers() {
  const { total } = sums();
  let node = 0;
  for (;;) {
    grid.open.add(node);
    const next = CHILDREN[node].find((c) => total[c] >= 0.8 * total[node]);
    if (next === undefined) break;
    node = next;
  }
  if (DEPTH[node] < 40) CHILDREN[node].filter((c) => total[c] >= 0.1 * total[0]).forEach((c) => grid.open.add(c));
}

function toggle(node) {
  if (grid.open.has(node)) grid.open.delete(node);
  else grid.open.add(node);
}

// The children of a node that are shown, and how many are not.
function childrenOf(node) {
  const { total, all } = sums();
  const some = CHILDREN[node].filter((c) => total[c] > 0).sort((a, b) => total[b] - total[a] || a - b);
  if (grid.more.has(node)) return { shown: some, left: 0 };
  const shown = some.filter((c) => total[c] >= LEAST_SHARE * all).slice(0, MOST_CHILDREN);
  return { shown, left: some.length - shown.length };
}

function visibleRows() {
  const rows = [];
  const open = [{ node: 0, level: 1, set: 1, place: 1 }];
  while (open.length) {
    const row = open.pop();
    rows.push(row);
    if (row.left || !grid.open.has(row.node)) continue;
    const { shown, left } = childrenOf(row.node);
    if (left) open.push({ node: row.node, level: row.level + 1, left });
    for (let i = shown.length - 1; i >= 0; i--) open.push({ node: shown[i], level: row.level + 1, set: shown.length, place: i + 1 });
  }
  return rows;
}

function drawTree(keepFocus) {
  const table = byId("tree");
  grid.rows = visibleRows();
  if (!grid.rows.some((r) => r.node === grid.at && !r.left)) grid.at = 0;
  const head = ["Function", "Time", "Share", "Self", "Calls", "Each call"];
  const body = el("tbody");
  const steps = stepsChosen();
  for (const row of grid.rows) body.append(row.left ? moreRow(row) : treeRow(row, steps));
  table.replaceChildren(el("thead", {}, el("tr", { role: "row" }, ...head.map((text, i) => el("th", { text, scope: "col", role: "columnheader", class: i && i !== 2 ? "number" : "" })))), body);
  if (keepFocus) table.querySelector('tr[tabindex="0"]')?.focus({ preventScroll: false });
}

function indent(level) {
  return Math.min(level - 1, 40) * (innerWidth < 700 ? 6 : 14);
}

function treeRow(row, steps) {
  const { own, total, calls, all } = sums();
  const { node, level } = row;
  const frame = frameOf(node);
  const has = CHILDREN[node].some((c) => total[c] > 0);
  const line = el("tr", { role: "row", "data-node": node, "aria-level": level, "aria-setsize": row.set, "aria-posinset": row.place, tabindex: node === grid.at ? 0 : -1 });
  if (has) line.setAttribute("aria-expanded", String(grid.open.has(node)));
  const twist = el("span", { class: "twist", text: has ? (grid.open.has(node) ? "▾" : "▸") : "", "aria-hidden": "true" });
  const name = el("td", { role: "gridcell", title: frame.full || frame.name }, twist, el("span", { text: nodeName(node) }));
  name.style.paddingLeft = `${indent(level)}px`;
  if (steps.has(frame.function)) name.append(el("span", { class: "step", text: " ● step", title: "repeated by the phase's long-lived driver" }));
  if (frame.where) name.append(el("span", { class: "where", text: frame.where }));
  const number = calls.get(frame.function) || 0;
  const single = number && PLACES.get(frame.function) === 1;
  const share = el("td", { role: "gridcell", class: "share" }, amount(total[node] / all), percent(all ? total[node] / all : 0));
  const cell = (text) => el("td", { role: "gridcell", class: "number", text });
  line.append(name, cell(seconds(total[node])), share, cell(seconds(own[node])), cell(callsText(frame, calls)), cell(single ? seconds(total[node] / number) : ""));
  return line;
}

function moreRow(row) {
  const button = el("button", { type: "button", text: `${row.left} smaller` });
  const name = el("td", { role: "gridcell", colspan: 6 }, button);
  name.style.paddingLeft = `${indent(row.level) + 16}px`;
  return el("tr", { role: "row", "data-node": row.node, "data-more": 1, "aria-level": row.level }, name);
}

function treeKey(event) {
  if (event.target.tagName === "BUTTON") return;
  const rows = grid.rows.filter((r) => !r.left);
  const place = rows.findIndex((r) => r.node === grid.at);
  const has = CHILDREN[grid.at].some((c) => sums().total[c] > 0);
  const isOpen = grid.open.has(grid.at);
  if (event.key === "ArrowDown") grid.at = rows[Math.min(place + 1, rows.length - 1)].node;
  else if (event.key === "ArrowUp") grid.at = rows[Math.max(place - 1, 0)].node;
  else if (event.key === "Home") grid.at = rows[0].node;
  else if (event.key === "End") grid.at = rows[rows.length - 1].node;
  else if (event.key === "ArrowRight" && has) isOpen ? (grid.at = childrenOf(grid.at).shown[0] ?? grid.at) : grid.open.add(grid.at);
  else if (event.key === "ArrowLeft") isOpen && has ? grid.open.delete(grid.at) : (grid.at = TREE.parent[grid.at]);
  else if ((event.key === "Enter" || event.key === " ") && has) toggle(grid.at);
  else return;
  event.preventDefault();
  drawTree(true);
}
