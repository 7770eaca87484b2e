// Figures without what the page's strict policy keeps Plotly from doing.

const AXIS_PX = 100; // room for one of the parallel axes and its labels

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
  if (layout.xaxis?.type === "date") toLocal(data, layout);
  return { data, layout };
}

/** Plotly shows times as they are written: milliseconds since 1970 become the clock on the wall. */
function toLocal(data, layout) {
  const local = (at) => (typeof at === "number" ? at - 60000 * new Date(at).getTimezoneOffset() : at);
  for (const trace of data) if (!trace.xaxis || trace.xaxis === "x") trace.x = trace.x.map(local);
  for (const shape of layout.shapes || []) [shape.x0, shape.x1] = [local(shape.x0), local(shape.x1)];
  for (const note of layout.annotations || []) if (note.xref !== "paper") note.x = local(note.x);
  layout.xaxis = { ...layout.xaxis, title: undefined };
}
