// Choosing a span of time: by dragging with mouse, pen or finger, and by two handles that arrow keys move.

const CLICK = 4; // pixels within which a press is no drag

function addBrush(area, height, onClick) {
  let start = null;
  const binOf = (event) => {
    const box = area.getBoundingClientRect();
    return binAt(timeOf(event.clientX - box.left, box.width));
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.classList.contains("handle")) return;
    start = { x: event.clientX, bin: binOf(event), dragged: false };
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    if (!start || (!start.dragged && Math.abs(event.clientX - start.x) < CLICK)) return;
    start.dragged = true;
    const bin = binOf(event);
    choose({ from: Math.min(start.bin, bin), to: Math.max(start.bin, bin) + 1 });
  });
  const finish = (event) => {
    if (start && !start.dragged && event.type === "pointerup") onClick(start.bin);
    start = null;
  };
  area.addEventListener("pointerup", finish);
  area.addEventListener("pointercancel", finish);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") reset();
  });
  const handles = [addHandle(area, height, "from"), addHandle(area, height, "to")];
  return () => handles.forEach((place) => place());
}

function addHandle(area, height, side) {
  const handle = el("button", { class: "handle", type: "button", role: "slider", "aria-orientation": "horizontal",
    "aria-label": side === "from" ? "Begin of the chosen time" : "End of the chosen time" });
  area.append(handle);
  const low = side === "from" ? 0 : 1;
  const high = side === "from" ? BINS - 1 : BINS;
  const move = (bin) => {
    const other = side === "from" ? state.to : state.from;
    const free = side === "from" ? Math.min(bin, other - STEP) : Math.max(bin, other + STEP);
    choose({ [side]: Math.max(low, Math.min(high, free)) });
  };
  handle.addEventListener("keydown", (event) => {
    const far = event.shiftKey || event.key.startsWith("Page") ? 10 : 1;
    const keys = { ArrowLeft: -1, ArrowDown: -1, PageDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 1 };
    const at = state[side];
    if (event.key in keys) move(at + keys[event.key] * far * STEP);
    else if (event.key === "Home") move(low);
    else if (event.key === "End") move(high);
    else return;
    event.preventDefault();
  });
  let held = false;
  handle.addEventListener("pointerdown", (event) => {
    held = true;
    handle.setPointerCapture(event.pointerId);
    event.stopPropagation();
  });
  handle.addEventListener("pointermove", (event) => {
    if (!held) return;
    const box = area.getBoundingClientRect();
    const time = timeOf(event.clientX - box.left, box.width);
    move(binAt(time) + (side === "to" ? 1 : 0));
  });
  for (const kind of ["pointerup", "pointercancel"]) handle.addEventListener(kind, () => (held = false));
  return () => {
    const time = chosenTimes()[low];
    handle.style.left = `${xOf(time, area.clientWidth)}px`;
    handle.style.height = `${height}px`;
    handle.setAttribute("aria-valuemin", moment(BEGIN, INTERVAL));
    handle.setAttribute("aria-valuemax", moment(END, INTERVAL));
    handle.setAttribute("aria-valuenow", moment(time, INTERVAL));
    handle.setAttribute("aria-valuetext", seconds(time));
  };
}
