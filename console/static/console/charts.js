// Draws the curve at data-chart, in the colours of the page, one scale per unit.
"use strict";
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = new Map();

  const options = (curve, width) => {
    const units = [...new Set(curve.series.map((s) => s.unit))];
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const shown = units.slice(0, 2).map((unit, i) => ({ ...axis, scale: unit, side: i ? 1 : 3, size: 64, label: unit, labelSize: 18, grid: { ...axis.grid, show: i === 0 } }));
    return {
      width, height: 220,
      tzDate: (ts) => window.uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      axes: [axis, ...shown],
      series: [{ label: "UTC" }, ...curve.series.map((s, i) => ({
        label: `${s.label}, ${s.unit}`, scale: s.unit, stroke: colour(`--curve-${i + 1}`), width: 2,
        spanGaps: false, points: { show: curve.times.length < 3 },
        paths: s.stepped ? window.uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
    };
  };

  const draw = (figure, curve) => {
    drawn.get(figure)?.plot?.destroy();
    const plot = curve.times.length === 0 ? null : new window.uPlot(
      options(curve, Math.max(240, figure.clientWidth)), [curve.times, ...curve.series.map((s) => s.values)], figure);
    drawn.set(figure, { curve, plot });
  };

  const load = async (figure) => {
    const answer = await fetch(figure.dataset.chart, { credentials: "same-origin" });
    if (!answer.ok || !answer.headers.get("Content-Type").includes("json")) return;
    const curve = await answer.json();
    const summary = figure.querySelector("[data-summary]");
    if (summary) summary.textContent = curve.summary;
    draw(figure, curve);
  };

  const again = () => { for (const [figure, { curve }] of drawn) draw(figure, curve); };
  for (const figure of document.querySelectorAll("[data-chart]")) load(figure);
  setInterval(() => {
    if (document.visibilityState === "visible") for (const figure of drawn.keys()) load(figure);
  }, 60000);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(again, 150); });
})();
