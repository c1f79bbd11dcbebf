// Draws the curve at data-chart in the colours of the page: two units share a plot, more get one each.
"use strict";
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const two = (number) => String(number).padStart(2, "0");
  const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
  const drawn = new Map();

  // By the hour; the first and each midnight say the day.
  const hours = (plot, splits) => splits.map((s, i) => {
    const at = new Date(s * 1000);
    const hour = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    return i === 0 || hour === "00:00" ? `${hour}\n${days.format(at)}` : hour;
  });

  const figure = (v) => v.toLocaleString("en-GB", { maximumSignificantDigits: Math.abs(v) >= 1000 ? 4 : 3 });
  const shorter = (plot, splits) => splits.map((v) => v === null ? "" : figure(v));

  // Where there is a future, a line says where it begins.
  const nowLine = (plot) => {
    const now = Date.now() / 1000, { min, max } = plot.scales.x;
    if (!(now > min && now < max - (max - min) / 50)) return;
    const x = Math.round(plot.valToPos(now, "x", true));
    plot.ctx.save();
    plot.ctx.strokeStyle = colour("--soft");
    plot.ctx.setLineDash([4, 4]);
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, plot.bbox.top);
    plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
    plot.ctx.stroke();
    plot.ctx.restore();
  };

  // The legend shows what is under the pointer, and else what holds now.
  const current = (plot) => {
    if (plot.cursor.idx != null) return;
    const now = Date.now() / 1000;
    const idx = plot.data[0].findLastIndex((t, i) => t <= now && plot.data.slice(1).some((s) => s[i] != null));
    plot.setLegend({ idx: idx < 0 ? 0 : idx });
  };

  const options = (series, width, height) => {
    const units = [...new Set(series.map((s) => s.unit))];
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), size: 5 }, font: "12px system-ui, sans-serif" };
    const shown = units.slice(0, 2).map((unit, i) => ({ ...axis, scale: unit, side: i ? 1 : 3, size: 52, label: unit, labelSize: 18, labelFont: axis.font, values: shorter, grid: { ...axis.grid, show: i === 0 } }));
    const scales = Object.fromEntries(units.map((unit) => [unit, { range: (plot, min, max) => window.uPlot.rangeNum(Math.min(0, min), max || 1, 0.1, true) }]));
    return {
      width, height, scales,
      tzDate: (ts) => window.uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      axes: [{ ...axis, values: hours, space: 60 }, ...shown],
      cursor: { y: false, sync: { key: "time" } },
      hooks: { draw: [nowLine], setCursor: [current], ready: [current] },
      series: [{ label: "UTC", value: (plot, s) => s == null ? "" : `${days.format(new Date(s * 1000))} ${hours(plot, [0, s])[1].slice(0, 5)}` }, ...series.map((s) => ({
        label: s.label, scale: s.unit, stroke: colour(`--curve-${s.number}`), width: s.dashed ? 1.5 : 2, dash: s.dashed ? [6, 4] : undefined,
        fill: s.filled ? `${colour(`--curve-${s.number}`)}22` : undefined,
        value: (plot, v) => v == null ? "–" : `${figure(v)} ${s.unit}`,
        spanGaps: false, points: { show: false },
        paths: s.stepped ? window.uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
    };
  };

  const plots = (figure, curve) => {
    if (curve.times.length === 0) return [];
    const series = curve.series.map((s, i) => ({ ...s, number: i % 4 + 1 }));
    const units = [...new Set(series.map((s) => s.unit))];
    const groups = units.length > 2 ? units.map((unit) => series.filter((s) => s.unit === unit)) : [series];
    const box = document.createElement("div");
    if (groups.length > 1) box.className = "multiples";
    figure.append(box);
    // All places first: a grid gives each its width only then.
    const places = groups.map(() => box.appendChild(document.createElement("div")));
    return groups.map((group, i) => {
      const place = places[i];
      const made = options(group, Math.max(220, place.clientWidth), groups.length > 1 ? 150 : 230);
      return new window.uPlot(made, [curve.times, ...group.map((s) => s.values)], place);
    });
  };

  const draw = (figure, curve) => {
    const before = drawn.get(figure);
    before?.plots.forEach((plot) => plot.destroy());
    figure.querySelector(":scope > div")?.remove();
    drawn.set(figure, { curve, plots: plots(figure, curve) });
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
