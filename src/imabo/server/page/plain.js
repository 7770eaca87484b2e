// Figures without what the page's strict policy keeps Plotly from doing.

const AXIS_PX = 100; // room for one of the parallel axes and its labels
const EFFECTS_PX = 820; // room for the ranges of a parameter; on narrow screens the figure scrolls

/**
 * A copy to draw. Plotly writes style attributes for bold words and for colour bars, and the policy
 * refuses those: bold words get a font instead, and colours are read from the last axis.
 */
export function plain(spec) {
  const { data, layout } = structuredClone({ data: spec.data, layout: spec.layout });
  for (const note of layout.annotations || []) {
    const bold = /^<b>(.*)<\/b>$/s.exec(note.text);
    if (bold) Object.assign(note, { text: bold[1], font: { ...note.font, weight: 600 } });
  }
  for (const { marker } of data) if (marker?.showscale) marker.showscale = false;
  if (spec.name === "parallel") {
    layout.minWidth = AXIS_PX * (layout.xaxis?.tickvals?.length || 0);
    layout.xaxis = { ...layout.xaxis, tickangle: 0 };
  }
  if (spec.name === "effects") layout.minWidth = EFFECTS_PX;
  return { data, layout };
}
