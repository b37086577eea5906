// The report's plots, navigation and downloads. Works from a file, without network.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const drawings = new Map(
    [...document.querySelectorAll("script[data-drawn]")].map((each) => [each.dataset.drawn, JSON.parse(each.textContent)]),
  );

  // Small things

  const make = (name, attributes = {}, ...inside) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  };
  const shape = (name, attributes, ...inside) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  };
  const colour = (name) => (name.startsWith("#") ? name : `var(--${name})`);
  const resolved = (name) =>
    name.startsWith("#") ? name : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const number = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    if (size >= 1e4) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(4)));
  };
  const plain = (title) => title.replace(/\s+/g, " ").trim();

  // Axes

  const steps = (low, high, count) => {
    const raw = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
    return found;
  };
  const decades = (low, high, count) => {
    const found = [];
    const span = Math.log10(high / low);
    const parts = span > count ? [1] : span > count / 3 ? [1, 3] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const part of parts) {
        const value = Number((part * 10 ** power).toPrecision(6));
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    return found;
  };
  const ticksOf = (axis, count) => {
    const [low, high] = axis.from < axis.to ? [axis.from, axis.to] : [axis.to, axis.from];
    if (axis.ticks) return axis.ticks.filter(([place]) => place >= low && place <= high);
    return (axis.log ? decades(low, high, count) : steps(low, high, count)).map((value) => [value, number(value)]);
  };
  // Marks, as paths of SVG in legends and on uPlot's canvas

  const MARKS = {
    o: (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
    ".": (x, y, r) => MARKS.o(x, y, r * 0.7),
    s: (x, y, r) => `M${x - r * 0.9},${y - r * 0.9}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
    D: (x, y, r) => `M${x},${y - 1.25 * r}L${x + 1.25 * r},${y}L${x},${y + 1.25 * r}L${x - 1.25 * r},${y}z`,
    "^": (x, y, r) => `M${x},${y - 1.2 * r}L${x + 1.15 * r},${y + 0.9 * r}H${x - 1.15 * r}z`,
    v: (x, y, r) => `M${x},${y + 1.2 * r}L${x + 1.15 * r},${y - 0.9 * r}H${x - 1.15 * r}z`,
    P: (x, y, r) => `M${x - 0.4 * r},${y - 1.1 * r}h${0.8 * r}v${0.7 * r}h${0.7 * r}v${0.8 * r}h${-0.7 * r}v${0.7 * r}h${-0.8 * r}v${-0.7 * r}h${-0.7 * r}v${-0.8 * r}h${0.7 * r}z`,
    X: (x, y, r) => `M${x - r},${y - 0.55 * r}l${0.45 * r},${-0.45 * r}l${0.55 * r},${0.55 * r}l${0.55 * r},${-0.55 * r}l${0.45 * r},${0.45 * r}l${-0.55 * r},${0.55 * r}l${0.55 * r},${0.55 * r}l${-0.45 * r},${0.45 * r}l${-0.55 * r},${-0.55 * r}l${-0.55 * r},${0.55 * r}l${-0.45 * r},${-0.45 * r}l${0.55 * r},${-0.55 * r}z`,
    x: (x, y, r) => `M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`,
    "+": (x, y, r) => `M${x - 1.2 * r},${y}h${2.4 * r}m${-1.2 * r},${-1.2 * r}v${2.4 * r}`,
    _: (x, y, r) => `M${x - 2.4 * r},${y}h${4.8 * r}`,
  };
  const OPEN = "x+_";
  const mark = (kind, x, y, r, pen) => {
    const open = OPEN.includes(kind);
    return {
      d: (MARKS[kind] || MARKS.o)(x, y, r),
      fill: open ? "none" : pen.hollow ? "panel" : pen.colour,
      stroke: open || pen.hollow ? pen.colour : "panel",
      width: open || pen.hollow ? 2 : 1,
    };
  };

  // Plots without time: uPlot has the axes, a hook paints the marks

  const FONT = "12px system-ui, sans-serif";
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = FONT;
  const widest = (ticks) => Math.max(0, ...ticks.flatMap(([, text]) => text.split("\n").map((line) => ruler.measureText(line).width)));
  const wrapped = (text, most) => {
    const lines = [];
    for (const word of text.split(/\s+/)) {
      const last = lines.length - 1;
      if (last >= 0 && ruler.measureText(`${lines[last]} ${word}`).width < most) lines[last] += ` ${word}`;
      else lines.push(word);
    }
    return lines.join("\n");
  };
  const scaleOf = (axis) => {
    const ends = [Math.min(axis.from, axis.to), Math.max(axis.from, axis.to)];
    return { time: false, distr: axis.log ? 3 : 1, dir: axis.from > axis.to ? -1 : 1, range: () => ends };
  };
  const axisOf = (ticks, more) => ({
    stroke: resolved("quiet"), font: FONT, labelFont: FONT, labelSize: 18, labelGap: 0, ticks: { show: false },
    grid: { stroke: resolved("line"), width: 1 }, filter: (_, splits) => splits,
    splits: () => ticks.map(([place]) => place), values: () => ticks.map(([, text]) => text), ...more,
  });
  const isAcross = (panel) => panel.marks.some((each) => each.across) || (panel.y.ticks && !panel.x.ticks && panel.y.ticks.some(([, t]) => /[a-z]/i.test(t)));

  /** Paints a panel's marks, and collects the points whose values can be read. */
  const painter = (panel, small, points) => (chart) => {
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio;
    const x = (value) => chart.valToPos(value, "x", true);
    const y = (value) => chart.valToPos(value, "y", true);
    const name = (axis, value) => (axis.ticks || []).find(([place]) => Math.abs(place - value) < 1e-9)?.[1] ?? number(value);
    const nearest = (axis, value) => (axis.ticks || []).reduce((best, each) => (best && Math.abs(best[0] - value) <= Math.abs(each[0] - value) ? best : each), null)?.[1] ?? "";
    const readable = (at, up, ...text) => points.push({ x: at / ratio, y: up / ratio, text: text.filter(Boolean).join(": ").replaceAll("\n", " ") });
    const pen = (each) => {
      ctx.globalAlpha = each.alpha ?? 1;
      ctx.strokeStyle = resolved(each.colour);
      ctx.lineWidth = Math.max(1, (each.width || 1) * 1.35) * ratio;
      ctx.setLineDash((each.dash || "").split(" ").filter(Boolean).map((n) => n * ratio));
    };
    const through = (places) => {
      ctx.beginPath();
      places.forEach(([a, b], i) => (i ? ctx.lineTo(a, b) : ctx.moveTo(a, b)));
    };
    const paint = {
      area: (each) => {
        ctx.globalAlpha = 0.25;
        ctx.fillStyle = resolved(each.colour);
        through(each.points.map(([a, b]) => [x(a), y(b)]));
        ctx.fill();
      },
      bars: (each) =>
        each.boxes.forEach(([left, low, width, height], i) => {
          ctx.fillStyle = resolved(each.colours[i]);
          const [x0, x1, y0, y1] = [x(left), x(left + width), y(low), y(low + height)];
          ctx.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.max(2, Math.abs(x1 - x0)), Math.abs(y1 - y0));
          if (each.silent) return;
          const value = number(each.across ? width : height);
          if (each.across) readable(x1, (y0 + y1) / 2, nearest(panel.y, low + height / 2), each.label, value);
          else readable((x0 + x1) / 2, y1, nearest(panel.x, left + width / 2), each.label, value);
          if (!each.across) return;
          ctx.fillStyle = resolved("text");
          ctx.fillText(value, x1 + 5 * ratio, (y0 + y1) / 2);
        }),
      line: (each) => {
        pen(each);
        const places = each.points.map(([a, b]) => [x(a), y(b)]);
        if (each.dash !== null) {
          through(places);
          ctx.stroke();
        }
        ctx.setLineDash([]);
        (each.error || []).forEach(([below, above], i) => {
          const [a, b] = each.points[i];
          if (below || above) through([[x(a), y(b - below)], [x(a), y(b + above)]]), ctx.stroke();
        });
        const r = (small ? 3 : 4) * (each.dash !== null && places.length > 8 ? 0.6 : 1) * ratio;
        const pick = Math.max(1, Math.ceil(places.length / 200));
        places.forEach(([a, b], i) => {
          if (each.marker) {
            const shown = mark(each.marker, a, b, r, each);
            const path = new Path2D(shown.d);
            ctx.lineWidth = shown.width * ratio;
            ctx.strokeStyle = resolved(shown.stroke);
            ctx.fillStyle = shown.fill === "none" ? "transparent" : resolved(shown.fill);
            ctx.fill(path);
            ctx.stroke(path);
          }
          if (each.silent || !(each.marker || i % pick === 0)) return;
          const [at, up] = [name(panel.x, each.points[i][0]), name(panel.y, each.points[i][1])];
          readable(a, b, each.label, isAcross(panel) ? `${up}: ${at}` : `${at} → ${up}`);
        });
      },
      level: (each) => (pen(each), through([[bbox.left, y(each.at)], [bbox.left + bbox.width, y(each.at)]]), ctx.stroke()),
      upright: (each) => (pen(each), through([[x(each.at), bbox.top], [x(each.at), bbox.top + bbox.height]]), ctx.stroke()),
    };
    points.length = 0;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 6 * ratio, bbox.top - 6 * ratio, bbox.width + (isAcross(panel) ? 54 : 12) * ratio, bbox.height + 12 * ratio);
    ctx.clip();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    for (const each of panel.marks) {
      paint[each.type](each);
      ctx.globalAlpha = 1;
      ctx.setLineDash([]);
    }
    ctx.restore();
  };

  /** One panel. */
  const plot = (host, panel, width, height, small) => {
    const across = isAcross(panel);
    const most = width * (across ? 0.42 : 0.3);
    const yTicks = ticksOf(panel.y, small ? 3 : height / 48).map(([place, text]) => [place, wrapped(text, most)]);
    const left = Math.min(widest(yTicks), most) + 14;
    const right = across ? 48 : 14;
    const named = Boolean(panel.x.ticks) && !across;
    const plain = ticksOf(panel.x, (width - left - right) / (small ? 60 : 76));
    const room = (width - left - right) / Math.max(1, plain.length);
    const xTicks = named ? plain.map(([place, text]) => [place, wrapped(text, room)]) : plain;
    const turned = named && widest(xTicks) > room;
    const lines = Math.max(1, ...xTicks.map(([, text]) => text.split("\n").length));
    if (across) height = small ? 13 * yTicks.length + 32 : Math.max(height, 26 * yTicks.length + 40);
    const points = [];
    const frame = make("div", { class: "plot", role: "img", "aria-label": `${panel.title || ""} ${panel.y.label} ${panel.x.label ? `against ${panel.x.label}` : ""}`.trim() });
    host.append(frame);
    const chart = new uPlot(
      {
        width, height, padding: [10, right, 0, 0], cursor: { show: false }, legend: { show: false },
        series: [{}, { show: false }],
        scales: { x: scaleOf(panel.x), y: scaleOf(panel.y) },
        axes: [
          axisOf(turned ? plain : xTicks, { size: turned ? widest(plain) * 0.7 + 12 : 10 + 15 * lines, rotate: turned ? -40 : 0, label: small ? undefined : panel.x.label || undefined, grid: { show: !named, stroke: resolved("line"), width: 1 } }),
          axisOf(yTicks, { size: left, grid: { show: !across, stroke: resolved("line"), width: 1 } }),
        ],
        hooks: { draw: [painter(panel, small, points)] },
      },
      [[panel.x.from, panel.x.to], [null, null]],
      frame,
    );
    readable(chart, points);
  };

  const tip = document.getElementById("tip");
  const readable = (chart, points) => {
    const ring = make("div", { class: "near", hidden: "" });
    chart.over.append(ring);
    const hide = () => (tip.hidden = ring.hidden = true);
    chart.over.addEventListener("pointerleave", hide);
    chart.over.addEventListener("pointermove", (event) => {
      const box = chart.over.getBoundingClientRect();
      const [left, top] = [chart.bbox.left / devicePixelRatio, chart.bbox.top / devicePixelRatio];
      const far = (each) => Math.hypot(each.x - left - (event.clientX - box.left), each.y - top - (event.clientY - box.top));
      const best = points.reduce((found, each) => (found && far(found) <= far(each) ? found : each), null);
      if (!best || far(best) > 60) return hide();
      ring.style.translate = `${best.x - left - 8}px ${best.y - top - 8}px`;
      tip.textContent = best.text;
      tip.hidden = ring.hidden = false;
      const middle = box.left + best.x - left - tip.offsetWidth / 2;
      tip.style.left = `${Math.max(4, Math.min(document.documentElement.clientWidth - tip.offsetWidth - 4, middle)) + scrollX}px`;
      tip.style.top = `${box.top + best.y - top - tip.offsetHeight - 12 + scrollY}px`;
    });
  };

  const swatch = (pen) => {
    const svg = shape("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" });
    if (pen.box) svg.append(shape("rect", { x: 5, y: 0, width: 14, height: 12, rx: 2, fill: colour(pen.colour), opacity: pen.faint ? 0.3 : 1 }));
    else {
      if (pen.dash !== null && pen.dash !== undefined) svg.append(shape("path", { d: "M0,6H26", stroke: colour(pen.colour), "stroke-width": 2, "stroke-dasharray": pen.dash || null }));
      if (pen.marker) {
        const { d, fill, stroke, width } = mark(pen.marker, 13, 6, 4, pen);
        svg.append(shape("path", { d, fill: fill === "none" ? fill : colour(fill), stroke: colour(stroke), "stroke-width": width }));
      }
    }
    return svg;
  };
  const keyOf = (panels) => {
    const found = new Map();
    const add = (label, pen) => label && !found.has(`${label}|${pen.colour}`) && found.set(`${label}|${pen.colour}`, [label, pen]);
    for (const panel of panels) {
      for (const each of panel.marks || []) add(each.label, each.type === "bars" ? { box: true, colour: each.colours[0] } : each);
      for (const each of panel.lines || []) add(each.label, each);
      for (const each of panel.areas || []) add(each.label, { box: true, faint: true, colour: each.colour });
      for (const each of panel.rules || []) add(each.label, each);
    }
    return [...found.values()];
  };
  const key = (entries) => {
    const list = make("ul", { class: "key" });
    for (const [label, pen] of entries) list.append(make("li", {}, swatch(pen), label));
    return list;
  };
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  const drawPlot = (host, drawn, panels, small) => {
    const keys = panels.map((panel) => keyOf([panel]).filter(([label]) => !small || !label.endsWith(", closed form")));
    const common = keys.every((each) => same(each, keys[0]));
    if (common && keys[0].length) host.append(key(keys[0]));
    const room = host.clientWidth;
    const across = panels.some(isAcross);
    const least = across ? 400 : 300;
    const columns = small ? 1 : Math.max(1, Math.min(panels.length, panels.length > 3 && !across ? Math.floor(room / 220) : Math.floor(room / least), panels.length === 4 ? 2 : 9));
    const width = Math.floor((room - 24 * (columns - 1)) / columns);
    const grid = make("div", { class: "grid-of", style: `grid-template-columns: repeat(${columns}, minmax(0, 1fr))` });
    host.append(grid);
    panels.forEach((panel, i) => {
      const cell = make("div", { class: "cell" });
      const title = plain([panel.title === drawn.title ? "" : panel.title, panel.y.label].filter(Boolean).join(", "));
      if (title) cell.append(make("p", { class: "panel-title" }, title));
      if (!common && keys[i].length) cell.append(key(keys[i]));
      grid.append(cell);
      plot(cell, panel, width, small ? 136 : columns > 1 ? 250 : Math.min(340, Math.max(240, width * 0.45)), small);
    });
  };

  // Series over time: uPlot, zoomed together, one cursor

  const unpack = (pack, places) => {
    const bytes = atob(pack.codes);
    const step = (pack.high - pack.low) / 65534;
    const values = new Array(places);
    for (let i = 0; i < places; i++) {
      const code = bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1);
      values[i] = code === 65535 ? null : pack.low + code * step;
    }
    return values;
  };
  const times = (drawn) => Array.from({ length: drawn.places }, (_, i) => drawn.from + ((i + 0.5) / drawn.places) * (drawn.to - drawn.from));

  const drawTime = (host, drawn, panels, small) => {
    const at = times(drawn);
    const charts = [];
    const sync = uPlot.sync(`t${(drawTime.count = (drawTime.count || 0) + 1)}`);
    const grid = { stroke: resolved("line"), width: 1 };
    let moving = false;
    const zoom = (low, high) => {
      const whole = drawn.to - drawn.from;
      const span = Math.min(whole, Math.max(whole / 400, high - low));
      const from = Math.max(drawn.from, Math.min(drawn.to - span, low));
      moving = true;
      for (const chart of charts) chart.setScale("x", { min: from, max: from + span });
      moving = false;
    };
    panels.forEach((panel, row) => {
      const series = [{ label: "time", value: (_, v) => (v === null ? "–" : number(v)) }];
      const pens = [null];
      const data = [at];
      const bands = [];
      for (const area of panel.areas) {
        for (const side of [area.high, area.low]) {
          data.push(unpack(side, drawn.places));
          pens.push(null);
          series.push({ label: "", show: true, stroke: "transparent", width: 0, points: { show: false }, class: "edge" });
        }
        bands.push({ series: [series.length - 2, series.length - 1], fill: `${resolved(area.colour)}44` });
      }
      for (const line of panel.lines) {
        if (line.dash === null) continue;
        data.push(unpack(line.y, drawn.places));
        pens.push(line);
        const shade = resolved(line.colour);
        series.push({
          label: line.label || panel.y.label || plain(panel.title),
          stroke: line.alpha < 1 ? shade + Math.round(255 * Math.max(0.25, line.alpha)).toString(16).padStart(2, "0") : shade,
          width: Math.max(1, line.width),
          dash: line.dash ? line.dash.split(" ").map(Number) : undefined,
          points: { show: false },
          spanGaps: false,
          value: (_, v) => number(v),
          ...(line.alpha < 1 ? { class: "edge" } : {}),
        });
      }
      const last = row === panels.length - 1;
      const values = (v) => v.map((each) => number(each));
      const axis = { stroke: resolved("quiet"), font: FONT, grid, ticks: { show: false } };
      const cell = make("div", { class: "cell" });
      if (!small) cell.append(make("p", { class: "panel-title" }, plain([panel.title, panel.y.label].filter(Boolean).join(", "))));
      const named = keyOf([panel]).filter(([, pen]) => pen.box || pen.type);
      if (named.length && !small) cell.append(key(named));
      host.append(cell);
      const title = plain([panel.title, panel.y.label].filter(Boolean).join(", ")) || "series";
      const frame = make("div", { class: "series", role: "img", "aria-label": `${title}, over time` });
      cell.append(frame);
      const options = {
        width: host.clientWidth,
        height: small ? 136 : panels.length > 2 ? 190 : 240,
        padding: [8, 12, 0, 0],
        series,
        bands,
        cursor: { sync: { key: sync.key, setSeries: false }, drag: { x: true, y: false, setScale: !small }, y: false, points: { size: 6 }, show: !small },
        legend: { show: !small, live: true },
        scales: { x: { time: false, min: drawn.from, max: drawn.to }, y: { range: [Math.min(panel.y.from, panel.y.to), Math.max(panel.y.from, panel.y.to)] } },
        axes: [
          { ...axis, size: last && !small ? 44 : 24, label: last && !small ? panel.x.label : undefined, labelSize: 18, labelFont: FONT, labelGap: 0, values: (_, v) => values(v) },
          { ...axis, size: 52, values: (_, v) => values(v), space: small ? 40 : 32 },
        ],
        hooks: {
          draw: [painter({ ...panel, marks: panel.rules }, small, [])],
          setScale: [
            (chart, name) => {
              if (name !== "x" || moving || charts.length < panels.length) return;
              zoom(chart.scales.x.min, chart.scales.x.max);
            },
          ],
        },
      };
      const chart = new uPlot(options, data, frame);
      chart.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => pens[i] && row.querySelector(".u-marker")?.replaceWith(swatch(pens[i])));
      charts.push(chart);
    });
    if (small) return;
    const bounds = () => [charts[0].scales.x.min, charts[0].scales.x.max];
    const by = (label, text, change) => {
      const button = make("button", { type: "button", "aria-label": label, title: label }, text);
      button.addEventListener("click", () => zoom(...change(...bounds())));
      return button;
    };
    host.append(
      make(
        "p",
        { class: "tools zoom" },
        by("Earlier", "←", (a, b) => [a - (b - a) / 3, b - (b - a) / 3]),
        by("Zoom in", "+", (a, b) => [a + (b - a) / 4, b - (b - a) / 4]),
        by("Zoom out", "−", (a, b) => [a - (b - a) / 2, b + (b - a) / 2]),
        by("Later", "→", (a, b) => [a + (b - a) / 3, b + (b - a) / 3]),
        by("Whole run", "whole", () => [drawn.from, drawn.to]),
        make("span", { class: "hint" }, "drag to zoom, double click for the whole"),
      ),
    );
  };

  // Published beside measured: a row each

  const drawBeside = (host, panels) => {
    const room = host.clientWidth;
    const columns = panels.length > 1 && room > 700 ? 2 : 1;
    const width = Math.floor((room - 24 * (columns - 1)) / columns);
    const grid = make("div", { class: "grid-of", style: `grid-template-columns: repeat(${columns}, minmax(0, 1fr))` });
    host.append(grid);
    for (const { title, log, rows } of panels) {
      const all = rows.flatMap((row) => [row.published, row.measured, ...(log ? [] : [row.low, row.high])]);
      const [low, high] = [Math.min(...all), Math.max(...all)];
      const pad = (high - low) * 0.04 || 1;
      const x = { log, from: log ? low / 1.3 : low - pad, to: log ? high * 1.3 : high + pad, label: "" };
      const within = (value) => Math.max(x.from, Math.min(x.to, value));
      const bands = rows.map((row, i) => [within(row.low), i - 0.2, within(row.high) - within(row.low), 0.4]);
      const point = (row, i, what, colour, more) => ({ type: "line", label: what, colour, dash: null, marker: "o", points: [[row[what], i]], ...more });
      const marks = [
        { type: "bars", across: true, silent: true, colours: rows.map(() => "band"), boxes: bands },
        ...rows.map((row, i) => ({ type: "line", silent: true, colour: "neutral", dash: "", width: 1, points: [[row.published, i], [row.measured, i]] })),
        ...rows.map((row, i) => point(row, i, "published", "text", { hollow: true })),
        ...rows.map((row, i) => point(row, i, "measured", `${row.kind}-dot`)),
      ];
      const y = { from: rows.length - 0.5, to: -0.5, label: "", ticks: rows.map((row, i) => [i, row.label]) };
      const cell = make("div", { class: "cell" }, make("p", { class: "panel-title" }, title));
      grid.append(cell);
      plot(cell, { title: `${title}, published and measured`, x, y, marks }, width, 28 * rows.length + 30, false);
    }
  };

  // Drawing what is seen

  const draw = (host, small) => {
    if (!host.clientWidth) return;
    const target = small ? host : host.querySelector(".charts");
    host.dataset.width = host.clientWidth;
    target.replaceChildren();
    if (host.classList.contains("beside")) return drawBeside(target, JSON.parse(target.dataset.beside));
    const drawn = drawings.get(host.dataset.picture);
    const chosen = (host.dataset.panels || "").split(" ").filter(Boolean).map(Number);
    const panels = chosen.length ? chosen.map((i) => drawn.panels[i]) : drawn.panels;
    (drawn.kind === "time" ? drawTime : drawPlot)(target, drawn, panels, small);
    if (small && drawn.kind === "time") {
      const entries = keyOf(panels);
      if (entries.length) target.prepend(key(entries));
    }
  };
  const hosts = document.querySelectorAll(".picture, .beside");
  const anew = (host) => draw(host, host.classList.contains("small"));
  // A picture that comes to be seen changes its width from nothing.
  const seen = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.dataset.width !== String(target.clientWidth)) anew(target);
  });
  for (const host of hosts) seen.observe(host);
  const repaint = () => hosts.forEach(anew);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", repaint);

  // Where one is

  const menu = document.querySelector(".menu");
  const open = (shown) => {
    menu.setAttribute("aria-expanded", shown);
    document.body.classList.toggle("open", shown);
  };
  menu.addEventListener("click", () => open(menu.getAttribute("aria-expanded") !== "true"));
  const arrive = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const article = id ? document.getElementById(id) : null;
    const heading = article?.matches("article") ? article.querySelector("h1").textContent : "";
    document.title = heading ? `${heading} · The papers, reproduced` : "The papers, reproduced";
    for (const link of document.querySelectorAll("nav a")) {
      if (link.getAttribute("href") === `#${id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    open(false);
    if (article?.matches(".page")) scrollTo(0, 0);
  };
  addEventListener("hashchange", arrive);

  for (const button of document.querySelectorAll("[data-filter]"))
    button.addEventListener("click", () => {
      const kind = button.dataset.filter;
      for (const each of document.querySelectorAll("[data-filter]")) each.setAttribute("aria-pressed", each === button);
      for (const item of document.querySelectorAll("[data-kind]")) item.hidden = Boolean(kind) && item.dataset.kind !== kind;
      for (const section of document.querySelectorAll("nav section, .all > section")) section.hidden = !section.querySelector("[data-kind]:not([hidden])");
    });

  // What can be taken away

  const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const save = (rows, name) => {
    const text = rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: `${name.replaceAll("/", "-")}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const tableRows = (table) =>
    [...table.rows].map((row) => [...row.cells].map((cell) => plain(cell.textContent)));
  const pictureRows = (drawn) => {
    const unit = (panel) => plain([panel.title, panel.y.label].filter(Boolean).join(", "));
    if (drawn.kind === "time") {
      const columns = drawn.panels.flatMap((panel) => panel.lines.map((line) => [[unit(panel), line.label].filter(Boolean).join(": "), unpack(line.y, drawn.places)]));
      return [["Time (s)", ...columns.map(([name]) => name)], ...times(drawn).map((t, i) => [Number(t.toPrecision(7)), ...columns.map(([, values]) => (values[i] === null ? "" : Number(values[i].toPrecision(6))))])];
    }
    const rows = [["panel", "line", "x", "y"]];
    for (const panel of drawn.panels) {
      const named = (axis, value) => (axis.ticks || []).find(([place]) => Math.abs(place - value) < 0.5 && /[a-z]/i.test(axis.ticks.map((t) => t[1]).join("")))?.[1] ?? value;
      for (const each of panel.marks)
        if (each.type === "bars") each.boxes.forEach(([x, y, w, h]) => rows.push([unit(panel), each.label, ...(each.across ? [w, named(panel.y, y + h / 2)] : [named(panel.x, x + w / 2), h])]));
        else if (each.points && each.type === "line") each.points.forEach(([x, y]) => rows.push([unit(panel), each.label, named(panel.x, x), named(panel.y, y)]));
    }
    return rows;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.csv === "picture") {
      const id = button.closest(".picture").dataset.picture;
      save(pictureRows(drawings.get(id)), id);
    } else if (button?.dataset.csv === "table") {
      const article = button.closest("article");
      save(tableRows(article.querySelector(`table.${button.dataset.of}`)), `${article.id}-${button.dataset.of}`);
    } else if (button?.dataset.copy) {
      navigator.clipboard?.writeText(button.dataset.copy);
      button.textContent = "Copied";
    }
  });

  // Another scenario to try: as the playground's address carries it

  const through = async (bytes, change) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(change)).arrayBuffer());
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  };
  const packed = async (text) => {
    const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
    return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  };
  // Hundreds of names are much alike: packed they are a tenth.
  for (const list of document.querySelectorAll(".files"))
    unpacked(list.dataset.packed).then((names) => {
      for (const name of JSON.parse(names)) list.append(make("a", { href: `${list.dataset.of}/${name}/scenario.toml` }, decodeURIComponent(name)), " ");
    });
  for (const choice of document.querySelectorAll(".try select")) {
    const scenarios = unpacked(choice.dataset.packed).then(JSON.parse);
    scenarios.then(([, ...others]) => choice.append(...others.map(([name]) => new Option(name))));
    choice.addEventListener("change", async () => {
      const [, text, command] = (await scenarios)[choice.selectedIndex];
      const go = choice.parentElement.querySelector(".go");
      if (go) go.href = `${go.getAttribute("href").split("#")[0]}#s=${await packed(text)}`;
      choice.parentElement.querySelector("code").textContent = command;
    });
  }

  document.body.classList.add("scripted");
  arrive();
  addEventListener("load", arrive);
})();
