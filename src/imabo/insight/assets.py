"""The report's style sheet and script, inlined so that the file needs nothing else."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b2025; --soft: #59626d; --paper: #ffffff;
  --panel: #f5f7f9; --line: #dce1e7; --grid: #e7eaee; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaed; --soft: #a4adb7; --paper: #14171a; --panel: #1d2125; --line: #353c44;
    --grid: #2c3239; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem clamp(0.8rem, 3vw, 2.5rem) 4rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 0.2rem; }
p { margin: 0.2rem 0 0.6rem; max-width: 48rem; }
.soft { color: var(--soft); font-size: 0.9rem; }
section { margin-top: 2.2rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0.7rem;
  margin: 1.2rem 0 0; }
.facts div { background: var(--panel); border-radius: 8px; padding: 0.6rem 0.8rem; }
.facts dt { color: var(--soft); font-size: 0.85rem; }
.facts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
pre { background: var(--panel); border-radius: 8px; padding: 0.8rem; overflow-x: auto; }
.plot { min-width: 0; overflow: hidden; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: 0.35rem 0.55rem; text-align: right; white-space: nowrap; }
thead th { background: var(--panel); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
td.config { text-align: left; white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
@media print { section { break-inside: avoid; } }
"""

SCRIPT: Final = """
const figures = JSON.parse(document.getElementById("figures").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const made = structuredClone(layout);
  made.paper_bgcolor = made.plot_bgcolor = "rgba(0,0,0,0)";
  made.font = { color: colour("--ink"), family: "system-ui, sans-serif", size: 12 };
  for (const key of Object.keys(made)) {
    if (/^[xy]axis\\d*$/.test(key)) {
      made[key].gridcolor = colour("--grid");
      made[key].linecolor = colour("--line");
    }
  }
  made.hoverlabel = { bgcolor: colour("--panel"), font: { color: colour("--ink") } };
  made.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"),
    activecolor: colour("--ink") };
  return made;
}
function draw() {
  for (const place of document.querySelectorAll("[data-figure]")) {
    const figure = figures.find((one) => one.name === place.dataset.figure);
    if (!figure.data.length) {
      place.textContent = "Nothing to show yet.";
      place.style.minHeight = "2rem";
      continue;
    }
    Plotly.react(place, structuredClone(figure.data), themed(figure.layout),
      { responsive: true, displaylogo: false });
  }
}
draw();
dark.addEventListener("change", draw);
"""
