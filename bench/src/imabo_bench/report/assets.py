"""The page's style sheet and script, inlined so that the page needs nothing else."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #59636e; --paper: #ffffff;
  --panel: #f6f7f9; --line: #dbe0e6; --grid: #e6e9ed; --link: #0a5ea8; --good: 0, 114, 178;
  --note: #fff6e0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a2abb5; --paper: #14171a; --panel: #1c2024; --line: #343b43;
    --grid: #2b3138; --link: #7cbcf2; --good: 86, 180, 233; --note: #332b16; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0 auto; padding: 1.5rem clamp(0.8rem, 3vw, 2.5rem) 4rem; max-width: 84rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 0.5rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 0.5rem; padding-top: 1rem; overflow-wrap: anywhere;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.8rem 0 0.4rem; }
p { max-width: 46rem; margin: 0.5rem 0; }
a { color: var(--link); }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
.note { background: var(--note); border-radius: 6px; padding: 0.5rem 0.8rem; margin: 0.6rem 0;
  max-width: 60rem; overflow-wrap: anywhere; }
nav ul { columns: 16rem; padding-left: 1.2rem; margin: 0.5rem 0; }
nav li { overflow-wrap: anywhere; break-inside: avoid; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin: 1rem 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: 0.4rem 0.5rem; text-align: right; white-space: nowrap; }
thead th { background: var(--panel); font-weight: 600; vertical-align: bottom;
  border-bottom: 1px solid var(--line); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--panel);
  max-width: 12rem; overflow-wrap: anywhere; white-space: normal; min-width: min(9rem, 32vw); }
tbody th { font-weight: 500; } tr.best > * { font-weight: 650; }
.matrix td { background: rgba(var(--good), var(--shade, 0)); }
.key { display: inline-block; width: 0.7em; height: 0.7em; border-radius: 50%;
  margin-right: 0.45em; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 33rem), 1fr));
  gap: 1.25rem; margin: 1rem 0; }
figure { margin: 0; min-width: 0; border: 1px solid var(--line); border-radius: 8px;
  padding: 0.8rem; }
figure h4 { margin: 0 0 0.3rem; font-size: 0.98rem; }
.plot { overflow: hidden; } .plot:empty { min-height: 22rem; }
.bar { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; }
label { display: inline-flex; gap: 0.45rem; align-items: center; min-height: 2.75rem; }
input { width: 1.1rem; height: 1.1rem; }
details summary { cursor: pointer; min-height: 2rem; }
@media (max-width: 40rem) {
  body { padding-top: 1rem; } figure { padding: 0.5rem; }
  .facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: 0.5rem; } }
@media print { .bar, nav { display: none; } figure, table { break-inside: avoid; } }
"""

# Shared by the page and the PNG export: what depends on the width and on light or dark.
DRESS: Final = """
function dress(spec, width, colours) {
  const layout = structuredClone(spec.layout);
  const perRow = Math.max(1, Math.floor((width - 80) / 170));
  const rows = Math.ceil((layout.meta.legend || 0) / perRow);
  layout.height = layout.meta.rows ? 110 + 34 * Math.max(layout.meta.rows, 4) : 360 + 22 * rows;
  if (layout.legend) layout.legend.y = -70 / (layout.height - 64 - 22 * rows);
  layout.paper_bgcolor = layout.plot_bgcolor = colours.paper;
  layout.font = { color: colours.ink, size: 12,
    family: 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif' };
  for (const name of ["xaxis", "yaxis"]) Object.assign(layout[name],
    { gridcolor: colours.grid, zerolinecolor: colours.line, linecolor: colours.line });
  for (const shape of layout.shapes || []) shape.line.color = colours.soft;
  layout.hoverlabel = Object.assign({ bgcolor: colours.panel, font: { color: colours.ink } },
    layout.hoverlabel);
  return layout;
}
"""

SCRIPT: Final = """
const figures = JSON.parse(document.getElementById("figures").textContent);
const plots = [...document.querySelectorAll(".plot")];
const logRounds = document.getElementById("log-rounds");
function colours() {
  const style = getComputedStyle(document.documentElement), found = {};
  for (const name of ["ink", "soft", "paper", "panel", "line", "grid"])
    found[name] = style.getPropertyValue("--" + name).trim();
  return found;
}
function draw(plot) {
  const spec = figures[plot.id];
  const layout = dress(spec, plot.clientWidth, colours());
  if (spec.layout.meta.rounds_axis) layout.xaxis.type = logRounds.checked ? "log" : "linear";
  plot.dataset.width = plot.clientWidth;
  return Plotly.react(plot, spec.data, layout,
    { responsive: true, displaylogo: false, modeBarButtonsToRemove: [
      "sendChartToCloud", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"] });
}
// One figure at a time, so that a long page can be read while it is drawn.
let queue = Promise.resolve();
function drawAll(some) {
  for (const plot of some) queue = queue.then(() => draw(plot))
    .catch((error) => {
      plot.textContent = "This figure could not be drawn: " + error;
      console.error(error);
    }).then(() => new Promise((resolve) => setTimeout(resolve)));
  queue.then(() => { document.documentElement.dataset.drawn = "yes"; });
}
drawAll(plots);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(plots));
logRounds.addEventListener("change",
  () => drawAll(plots.filter((plot) => figures[plot.id].layout.meta.rounds_axis)));
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(
    () => drawAll(plots.filter((plot) => plot.dataset.width != plot.clientWidth)), 200);
});
"""
