"use strict";
// Figures for people, and elements that can hold nothing but text.

const NARROW = "\u202f";

function digits3(value) {
  const size = Math.abs(value);
  if (size >= 99.95) return group(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

// At most four signs and a letter: 1.05 M.
function brief(value) {
  if (value >= 999500) return `${digits3(value / 1e6)} M`;
  return value >= 9995 ? `${digits3(value / 1e3)} k` : digits3(value);
}

function group(whole) {
  return String(whole).replace(/\B(?=(\d{3})+(?!\d))/g, NARROW);
}

function seconds(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  if (size >= 3600) return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
  if (size >= 120) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  if (size >= 0.9995 || size === 0) return `${digits3(value)} s`;
  if (size >= 0.9995e-3) return `${digits3(value * 1e3)} ms`;
  if (size >= 0.9995e-6) return `${digits3(value * 1e6)} µs`;
  return `${digits3(value * 1e9)} ns`;
}

// A point in time: as many digits as tell neighbouring intervals apart.
function moment(value, step) {
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step || 1)) + (step < 1 ? 1 : 0)));
  return Number(value.toFixed(places)).toString();
}

function percent(part) {
  if (!Number.isFinite(part)) return "-";
  if (part > 0 && part < 0.0005) return "< 0.1 %";
  return `${(100 * part).toFixed(1)} %`;
}

function el(name, properties, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "text") node.textContent = value;
    else if (key === "class") node.className = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const byId = (id) => document.getElementById(id);

function debounce(work) {
  let waiting = 0;
  return () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(work);
  };
}

// The tip that follows the pointer: lines of text.
function showTip(event, lines) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.filter(Boolean).map((text) => el("div", { text })));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const below = event.clientY + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
