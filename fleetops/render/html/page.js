"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const frame = read("frame");
  const charts = new Map();
  const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const HEIGHT = 192, GLYPH = 4.5, FONT = "12px system-ui, sans-serif";

  // Dates whose local fields are those of the controller's zone, wherever the page is read.
  const zoned = (at) => {
    const date = new Date(at * 1e3);
    return new Date(date.getTime() + (frame.offset + date.getTimezoneOffset() * 60) * 1e3);
  };
  const two = (number) => String(number).padStart(2, "0");
  const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}`;
  const day = (date) => `${DAYS[date.getDay()]} ${date.getDate()}`;
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });

  const points = (curve) => {
    let at = curve.begin;
    const times = curve.tenths.map((_, place) => (place ? (at += curve.steps[place - 1]) : at));
    return [times, curve.tenths.map((value) => (value === null ? null : value / 10))];
  };

  // A thin line for each launch and each run, its shape and its number above, one shape for those that stand too close;
  // the list below says what each was.
  const drawMarks = (plot, marks) => {
    const { ctx, bbox } = plot, scale = devicePixelRatio || 1;
    ctx.save();
    ctx.font = `${Math.round(11 * scale)}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "center";
    const y = bbox.top - 9 * scale, size = GLYPH * scale, heads = [];
    marks.forEach(([at, kind], place) => {
      const x = Math.round(plot.valToPos(at, "x", true)) + 0.5, before = heads.at(-1);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      if (before && x - before.x < 24 * scale) before.to = place + 1;
      else heads.push({ x, kind, from: place + 1, to: place + 1 });
      ctx.strokeStyle = ctx.fillStyle = colour("dim");
      ctx.lineWidth = scale;
      ctx.setLineDash([2 * scale, 3 * scale]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top - 3 * scale);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    });
    ctx.setLineDash([]);
    ctx.fillStyle = colour("ink");
    heads.forEach(({ x, kind, from, to }) => {
      ctx.beginPath();
      if (kind === "launch") ctx.moveTo(x, y - size), ctx.lineTo(x + size, y + size), ctx.lineTo(x - size, y + size);
      else ctx.moveTo(x, y - size * 1.2), ctx.lineTo(x + size * 1.2, y), ctx.lineTo(x, y + size * 1.2), ctx.lineTo(x - size * 1.2, y);
      ctx.fill();
      ctx.fillText(from === to ? String(from) : `${from}\u2013${to}`, x, y - 13 * scale);
    });
    ctx.restore();
  };

  // A point with a gap on either side has no line to lie on.
  const alone = (plot) => plot.data[1].reduce((found, value, place, all) => {
    if (value !== null && all[place - 1] == null && all[place + 1] == null) found.push(place);
    return found;
  }, []);

  const isWhole = ({ data: [times] }, least, most) => least == null || (least <= times[0] && most >= times.at(-1));

  const options = (holder, curve, marks) => ({
    width: holder.clientWidth, height: HEIGHT, padding: [marks.length ? 30 : 10, 12, 0, 0],
    legend: { show: false }, tzDate: zoned,
    cursor: { y: false, drag: { x: true, y: false, dist: 8 }, sync: { key: holder.dataset.host } },
    scales: {
      // The whole stretch, also where there are few numbers in it; what was drawn across with the mouse; and back.
      x: { range: (plot, least, most) => (isWhole(plot, least, most) ? [frame.since, frame.at] : [least, most]) },
      y: { range: (_plot, least, most) => [Math.min(0, least), most > 0 ? most * 1.04 : 1] },
    },
    axes: [
      {
        stroke: () => colour("dim"), font: FONT, grid: { show: false }, space: 64, size: 30,
        ticks: { stroke: () => colour("line"), width: 1, size: 5 },
        values: (_plot, splits, _axis, _space, step) => splits.map((at) => {
          const date = zoned(at);
          if (step < 60) return `${clock(date)}:${two(date.getSeconds())}`;
          return date.getHours() || date.getMinutes() ? clock(date) : day(date);
        }),
      },
      {
        stroke: () => colour("dim"), font: FONT, size: 58, space: 36,
        grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false },
        values: (_plot, splits) => splits.map((value) => `${number(value)}${value ? "" : ` ${curve.unit}`}`),
      },
    ],
    series: [
      {},
      {
        stroke: () => colour("curve"), fill: () => colour("fill"), width: 1.5, spanGaps: false,
        points: { show: true, filter: alone, size: 4, fill: () => colour("curve") },
      },
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks)],
      setCursor: [(plot) => {
        const place = plot.cursor.idx, value = place == null ? null : plot.data[1][place];
        const date = value == null ? null : zoned(plot.data[0][place]);
        holder.nextElementSibling.textContent = date ? `${day(date)} ${clock(date)}   ${number(value)} ${curve.unit}` : "";
      }],
    },
  });

  const draw = (holder) => {
    if (charts.has(holder)) return;
    const data = read(`data-${holder.dataset.host}`), curve = data.curves[holder.dataset.curve];
    charts.set(holder, new uPlot(options(holder, curve, data.marks), points(curve), holder));
    sizes.observe(holder);
  };
  const again = () => charts.forEach((plot) => plot.redraw(true, true));

  const sizes = new ResizeObserver((changes) => changes.forEach(({ target, contentRect }) => {
    const plot = charts.get(target), width = Math.floor(contentRect.width);
    if (plot && width && plot.width !== width) plot.setSize({ width, height: HEIGHT });
  }));
  // Of a thousand hosts only those that are looked at are drawn.
  const seen = new IntersectionObserver((changes) => changes.forEach(({ target, isIntersecting }) => {
    if (isIntersecting) seen.unobserve(target), draw(target);
  }), { rootMargin: "600px" });
  const holders = [...document.querySelectorAll(".chart")];
  holders.forEach((holder) => seen.observe(holder));
  addEventListener("beforeprint", () => holders.forEach(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("print").addEventListener("change", again);

  const copied = async (code, button) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  document.querySelectorAll(".command").forEach((block) => {
    const button = document.createElement("button"), code = block.querySelector("code");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${code.textContent}`);
    button.addEventListener("click", () => copied(code, button));
    block.append(button);
  });
})();
