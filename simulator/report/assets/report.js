"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("runs").textContent);
  const plots = document.getElementById("plots");
  const palette = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = (extra) => ({ stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 }, ...extra });

  function section(title, hint) {
    const heading = document.createElement("h2");
    heading.textContent = title;
    const box = document.createElement("div");
    plots.append(heading, box);
    if (hint) {
      const small = document.createElement("div");
      small.className = "hint";
      small.textContent = hint;
      plots.append(small);
    }
    return box;
  }

  function chart(box, data, series, options) {
    const width = () => Math.min(box.clientWidth || 1000, 1040);
    const plot = new uPlot({ width: width(), height: 300, series, ...options }, data, box);
    addEventListener("resize", () => plot.setSize({ width: width(), height: 300 }));
  }

  const line = (label, i, extra) => ({ label, stroke: palette[i % palette.length], width: 1.5, points: { show: false }, ...extra });

  // Long runs are read in days.
  const last = Math.max(...runs.flatMap((run) => run.hours.slice(-1)), 0);
  const time = last > 96 ? { hours: 24, name: "days" } : { hours: 1, name: "hours" };
  const since = `${time.name} since the start`;
  const timed = (hours) => (time.hours === 1 ? hours : hours.map((hour) => hour / time.hours));
  const percent = { values: (plot, ticks) => ticks.map((share) => `${Math.round(100 * share)} %`) };
  const shares = { scales: { x: { time: false }, y: { range: [0, 1] } } };

  // All runs on one axis of time: uPlot wants one x column, so curves are joined.
  function overTime(title, x, y, label, options, hint, shown) {
    shown = (shown || runs).filter((run) => run[y].some((value) => value !== null));
    if (!shown.length) return;
    const tables = shown.map((run) => [timed(run[x]), run[y]]);
    const scale = options === shares ? percent : {};
    const data = tables.length === 1 ? tables[0] : uPlot.join(tables, tables.map((t) => t.map(() => 2)));
    const spanned = shown.map((run, i) => line(run.label, i, { spanGaps: true, value: (u, v) => (v == null ? "–" : v.toPrecision(3)) }));
    chart(section(title, hint), data, [{ label: time.name }, ...spanned],
      { scales: { x: { time: false } }, axes: [axis({ label: since }), axis({ label, size: 64, ...scale })], ...options });
  }

  function completionTimes() {
    const shown = runs.filter((run) => run.jct_s.length);
    if (!shown.length) return;
    const share = shown[0].jct_s.map((_, i, all) => i / (all.length - 1));
    const tables = shown.map((run) => {
      const hours = run.jct_s.map((s) => Math.max(s, 1) / 3600);
      const rising = hours.map((h, i) => h * (1 + i * 1e-12));
      return [rising, share];
    });
    const data = tables.length === 1 ? tables[0] : uPlot.join(tables, tables.map((t) => t.map(() => 2)));
    const spanned = shown.map((run, i) => line(run.label, i, { spanGaps: true }));
    chart(section("Job completion times", "The further to the left a curve lies, the sooner jobs end."), data, [{ label: "hours" }, ...spanned],
      { scales: { x: { time: false, distr: 3 }, y: { range: [0, 1] } }, axes: [axis({ label: "hours from submission to end (logarithmic)" }), axis({ label: "jobs that have ended", size: 64, ...percent })] });
  }

  function gantt() {
    const shown = runs.filter((run) => run.gantt.length);
    if (!shown.length) return;
    const box = section("GPUs by node", "Drag to zoom in, double-click to see everything again. A bar is a job on some GPUs of a node.");
    box.className = "gantt";
    const choice = document.createElement("select");
    shown.forEach((run, i) => choice.add(new Option(run.label, i)));
    const canvas = document.createElement("canvas");
    canvas.className = "bars";
    const tip = document.createElement("div");
    tip.className = "tip";
    box.append(choice, canvas, tip);
    let run, rows, first, span, drag = null;

    function choose() {
      run = shown[choice.value];
      const nodes = [...new Set(run.gantt.map((bar) => bar[0]))];
      let top = 0;
      rows = new Map(nodes.map((node) => { const at = top; top += run.gpus_per_node[node] + 1; return [node, at]; }));
      rows.height = top;
      showAll();
    }
    function showAll() {
      first = 0;
      span = Math.max(...run.gantt.map((bar) => bar[4])) || 1;
      draw();
    }
    function draw() {
      const ratio = devicePixelRatio || 1, width = box.clientWidth, height = Math.max(rows.height * 5, 80);
      canvas.style.height = `${height}px`;
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.fillStyle = css("--line");
      for (const [node, top] of rows) pen.fillRect(0, (top + run.gpus_per_node[node]) * 5 + 2, width, 1);
      run.gantt.forEach(([node, low, count, from, to], i) => {
        const x = (from - first) / span * width, w = Math.max((to - from) / span * width, 0.7);
        if (x > width || x + w < 0) return;
        pen.fillStyle = palette[i % palette.length];
        pen.fillRect(x, (rows.get(node) + low) * 5, w, count * 5 - 1);
      });
    }
    const hour = (event) => first + event.offsetX / canvas.clientWidth * span;
    canvas.addEventListener("mousedown", (event) => { drag = hour(event); });
    canvas.addEventListener("mouseup", (event) => {
      const end = hour(event);
      if (drag !== null && Math.abs(end - drag) > span / 200) {
        first = Math.min(drag, end);
        span = Math.abs(end - drag);
        draw();
      }
      drag = null;
    });
    canvas.addEventListener("dblclick", showAll);
    canvas.addEventListener("mousemove", (event) => {
      const t = hour(event), y = event.offsetY / 5;
      const bar = run.gantt.find(([node, low, count, from, to]) => {
        const top = rows.get(node) + low;
        return t >= from && t <= to && y >= top && y < top + count;
      });
      tip.style.display = bar ? "block" : "none";
      if (bar) {
        tip.textContent = `node ${bar[0]}: ${bar[2]} GPU${bar[2] > 1 ? "s" : ""}, hour ${bar[3].toFixed(2)} to ${bar[4].toFixed(2)}`;
        tip.style.left = `${event.offsetX + 12}px`;
        tip.style.top = `${event.offsetY + 40}px`;
      }
    });
    choice.addEventListener("change", choose);
    addEventListener("resize", draw);
    choose();
  }

  completionTimes();
  overTime("GPUs allocated", "hours", "allocated", "of all GPUs", shares);
  overTime("GPUs making progress", "hours", "busy", "of all GPUs", shares);
  overTime("Queue", "hours", "queued", "jobs waiting");
  if (runs.some((run) => run.kw.some((value) => value))) overTime("Power", "hours", "kw", "kW, PUE included");
  overTime("Price of energy", "hours", "price", "per kWh", undefined, "The same for every policy.",
    runs.filter((run) => run.price.some((value) => value !== null)).slice(0, 1).map((run) => ({ ...run, label: "price" })));
  overTime("Fragmentation", "fragmentation_hours", "fragmentation", "of free GPUs", shares,
    "Free GPUs that could not serve the median queued gang, while there is a queue.");
  gantt();
})();
