// Puts the page together.

function startChoice() {
  const group = byId("phase-choice");
  const buttons = [[null, "All phases"], ...DATA.phases.map((p) => [p.id, p.name])].map(([id, name]) => {
    const button = el("button", { type: "button", title: name, "aria-label": id === null ? name : `${id} ${name}` });
    if (id !== null) button.append(el("span", { class: "chip", "data-phase": id, text: id }));
    button.append(el("span", { text: name }));
    button.addEventListener("click", () => choose({ phase: id }));
    group.append(button);
    return [id, button];
  });
  const [from, to] = [byId("range-from"), byId("range-to")];
  const typed = () => {
    const low = Number(from.value.replace(",", "."));
    const high = Number(to.value.replace(",", "."));
    if (!Number.isFinite(low) || !Number.isFinite(high) || high <= low) return show();
    choose({ from: binAt(Math.max(low, BEGIN) + INTERVAL * 1e-3), to: binAt(Math.min(high, END) - INTERVAL * 1e-3) + 1 });
  };
  from.addEventListener("change", typed);
  to.addEventListener("change", typed);
  byId("range-form").addEventListener("submit", (event) => (event.preventDefault(), typed()));
  byId("clear").addEventListener("click", reset);
  const show = () => {
    const [low, high] = chosenTimes();
    from.value = moment(low, INTERVAL);
    to.value = moment(high, INTERVAL);
    const { all } = sums();
    byId("selected").textContent = `${seconds(all)} of CPU time${isWhole() && state.phase === null ? "" : ` in ${chosenText()}`}`;
    for (const [id, button] of buttons) button.setAttribute("aria-pressed", String(id === state.phase));
    for (const node of document.querySelectorAll(".shown-for")) node.textContent = chosenText();
  };
  follow(show);
  show();
}

function repaint() {
  applyTheme();
  stripes.clear();
  for (const chip of document.querySelectorAll(".chip[data-phase]")) paintChip(chip, Number(chip.dataset.phase));
  TIMED.forEach((draw) => draw());
  drawHottest();
}

function startTheme() {
  const button = byId("theme");
  const order = ["system", "light", "dark"];
  button.addEventListener("click", () => {
    theme.chosen = order[(order.indexOf(theme.chosen) + 1) % order.length];
    button.textContent = `Theme: ${theme.chosen}`;
    repaint();
  });
  darkQuery.addEventListener("change", repaint);
  const opened = [];
  addEventListener("beforeprint", () => {
    theme.printing = true;
    document.body.classList.add("paper");
    for (const details of document.querySelectorAll(".site details:not([open])")) {
      details.open = true;
      opened.push(details);
    }
    repaint();
  });
  addEventListener("afterprint", () => {
    theme.printing = false;
    document.body.classList.remove("paper");
    opened.splice(0).forEach((details) => (details.open = false));
    repaint();
  });
}

startChoice();
startRibbon();
startBeats();
startSections();
startSeries();
startTree();
startFlame();
startHottest();
startRanks();
startScores();
startTheme();
repaint();
sayFlame();
new ResizeObserver(debounce(() => TIMED.forEach((draw) => draw()))).observe(byId("timeline"));
readChoice();
addEventListener("hashchange", readChoice);
document.documentElement.dataset.ready = "yes";
