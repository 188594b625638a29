// The numbers behind a plot, for those who cannot see it: made when they are asked for.

const MOST_ROWS = 1000;

function fallback(id, head, rows) {
  const details = byId(`${id}-numbers`);
  if (!details) return;
  const fill = () => {
    if (details.open) fillTable(details.querySelector(".scroll"), head, rows());
  };
  details.addEventListener("toggle", fill);
  follow(fill);
}

function fillTable(place, head, rows) {
  const table = el("table");
  table.append(el("thead", {}, el("tr", {}, ...head.map((text, i) => headCell(text, i)))));
  const body = el("tbody");
  for (const row of rows.slice(0, MOST_ROWS)) {
    body.append(el("tr", {}, ...row.map((value, i) => (i ? el("td", { text: value, class: "number" }) : firstCell(value)))));
  }
  table.append(body);
  place.replaceChildren(table);
  if (rows.length > MOST_ROWS) place.append(el("p", { text: `The first ${MOST_ROWS} of ${rows.length} rows.`, class: "hint" }));
}

function headCell(text, place) {
  return el("th", { text, scope: "col", class: place ? "number" : "" });
}

function firstCell(text) {
  return el("th", { text, scope: "row" });
}

function amount(part) {
  const fill = el("i");
  fill.style.width = `${Math.max(0, Math.min(100, 100 * part))}%`;
  return el("span", { class: "amount", "aria-hidden": "true" }, fill);
}
