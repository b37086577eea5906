// The report's pictures, navigation and downloads. Works from a file, without network.
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
  const scale = (axis, start, end) => {
    const map = axis.log ? Math.log : (value) => value;
    const low = map(axis.from);
    const span = map(axis.to) - low || 1;
    return (value) => start + ((map(value) - low) / span) * (end - start);
  };

  // Pictures without time: SVG in the page's colours

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
    const open = OPEN.includes(kind) || pen.hollow;
    return shape("path", {
      d: (MARKS[kind] || MARKS.o)(x, y, r),
      fill: pen.hollow && !OPEN.includes(kind) ? "var(--panel)" : open ? "none" : colour(pen.colour),
      stroke: open ? colour(pen.colour) : "var(--panel)",
      "stroke-width": open ? 2 : 1,
    });
  };

  const wrapped = (text, most) => {
    const lines = [];
    for (const word of text.split(/\s+/)) {
      const last = lines.length - 1;
      if (last >= 0 && lines[last].length + word.length < most) lines[last] += ` ${word}`;
      else lines.push(word);
    }
    return lines;
  };

  /** One panel as SVG; `points` is filled with what can be read off. */
  const plot = (panel, width, height, small) => {
    const across = panel.marks.some((each) => each.across) || (panel.y.ticks && !panel.x.ticks && !panel.y.log && panel.y.ticks.some(([, t]) => /[a-z]/i.test(t)));
    const letter = 6.6;
    const yTicks = ticksOf(panel.y, small ? 3 : height / 48);
    const widest = Math.max(...yTicks.map(([, text]) => text.length), 1);
    const most = Math.floor((across ? width * 0.42 : width * 0.3) / letter);
    const left = Math.min(widest, most) * letter + 12;
    const right = across ? 48 : 14;
    const xTicks = ticksOf(panel.x, (width - left - right) / (small ? 60 : 76));
    const room = (width - left - right) / Math.max(1, xTicks.length);
    const named = Boolean(panel.x.ticks) && !across;
    const turned = named && xTicks.some(([, text]) => Math.max(...wrapped(text, 10).map((w) => w.length)) * letter > room + 2);
    const deepest = turned ? Math.max(...xTicks.map(([, text]) => text.length)) * letter * 0.72 + 10 : named ? 14 * Math.max(...xTicks.map(([, text]) => wrapped(text, Math.max(4, room / letter)).length)) + 4 : 18;
    const bottom = deepest + (panel.x.label && !small ? 22 : 4);
    const top = 8;
    if (across) height = small ? 13 * yTicks.length + top + bottom : Math.max(height, 26 * yTicks.length + top + bottom);
    const x = scale(panel.x, left, width - right);
    const y = scale(panel.y, height - bottom, top);
    const points = [];
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": plain(`${panel.title || ""} ${panel.y.label} ${panel.x.label ? `against ${panel.x.label}` : ""}`) });
    const grid = shape("g", { class: "grid" });
    for (const [place, text] of yTicks) {
      const at = y(place);
      if (!across) grid.append(shape("path", { d: `M${left},${at}H${width - right}` }));
      const lines = text.length > most ? wrapped(text, most) : [text];
      lines.forEach((line, i) =>
        grid.append(shape("text", { x: left - 7, y: at + 4 + 12 * (i - (lines.length - 1) / 2), "text-anchor": "end" }, line)),
      );
    }
    xTicks.forEach(([place, text]) => {
      const at = x(place);
      if (!named) grid.append(shape("path", { d: `M${at},${top}V${height - bottom}` }));
      const base = height - bottom + 15;
      if (turned) grid.append(shape("text", { x: at, y: base - 4, "text-anchor": "end", transform: `rotate(-40 ${at} ${base - 4})` }, text));
      else if (named) wrapped(text, Math.max(4, room / letter)).forEach((line, i) => grid.append(shape("text", { x: at, y: base + 13 * i, "text-anchor": "middle" }, line)));
      else grid.append(shape("text", { x: at, y: base, "text-anchor": "middle" }, text));
    });
    if (panel.x.label && !small) grid.append(shape("text", { class: "unit", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, panel.x.label));
    svg.append(grid);
    const clip = `clip-${(plot.count = (plot.count || 0) + 1)}`;
    svg.append(shape("clipPath", { id: clip }, shape("rect", { x: left - 6, y: top - 6, width: Math.max(0, width - left - right + 12), height: Math.max(0, height - top - bottom + 12) })));
    const ink = shape("g", { "clip-path": `url(#${clip})` });
    const above = shape("g", {});
    const nameX = (value) => (panel.x.ticks || []).find(([place]) => Math.abs(place - value) < 1e-9)?.[1] ?? number(value);
    const nameY = (value) => (panel.y.ticks || []).find(([place]) => Math.abs(place - value) < 1e-9)?.[1] ?? number(value);
    const nearest = (ticks, value) => (ticks || []).reduce((best, each) => (best && Math.abs(best[0] - value) <= Math.abs(each[0] - value) ? best : each), null)?.[1] ?? "";
    for (const each of panel.marks) {
      if (each.type === "area") {
        ink.append(shape("path", { d: `M${each.points.map(([a, b]) => `${x(a)},${y(b)}`).join("L")}z`, fill: colour(each.colour), opacity: 0.25 }));
      } else if (each.type === "bars") {
        each.boxes.forEach(([bx, by, bw, bh], i) => {
          const [x0, x1] = [x(bx), x(bx + bw)].sort((a, b) => a - b);
          const [y0, y1] = [y(by), y(by + bh)].sort((a, b) => a - b);
          const fill = colour(each.colours[i]);
          ink.append(shape("rect", { x: x0, y: y0, width: Math.max(0, x1 - x0), height: Math.max(0, y1 - y0), fill, rx: 1.5 }));
          const where = each.across ? nearest(panel.y.ticks, by + bh / 2) : nearest(panel.x.ticks, bx + bw / 2);
          const value = each.across ? bw : bh;
          points.push({ x: each.across ? x1 : (x0 + x1) / 2, y: each.across ? (y0 + y1) / 2 : y0, text: [where, each.label, number(value)].filter(Boolean).join(": ") });
          if (each.across) above.append(shape("text", { class: "value", x: x1 + 5, y: (y0 + y1) / 2 + 4 }, number(value)));
        });
      } else if (each.type === "level" || each.type === "upright") {
        const at = each.type === "level" ? y(each.at) : x(each.at);
        const d = each.type === "level" ? `M${left},${at}H${width - right}` : `M${at},${top}V${height - bottom}`;
        ink.append(shape("path", { d, fill: "none", stroke: colour(each.colour), "stroke-width": 1.2, "stroke-dasharray": each.dash || null }));
      } else {
        const places = each.points.map(([a, b]) => [x(a), y(b)]);
        if (each.dash !== null)
          ink.append(shape("path", { d: `M${places.map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L")}`, fill: "none", stroke: colour(each.colour), "stroke-width": Math.max(1, each.width * 1.35), "stroke-dasharray": each.dash || null, "stroke-linejoin": "round", opacity: each.alpha }));
        if (each.marker) places.forEach(([a, b]) => above.append(mark(each.marker, a, b, (small ? 3 : 4) * (each.dash !== null && places.length > 8 ? 0.6 : 1), each)));
        const pick = Math.max(1, Math.ceil(places.length / 200));
        places.forEach(([a, b], i) => {
          if (each.marker || i % pick === 0)
            points.push({ x: a, y: b, text: `${each.label ? `${each.label}: ` : ""}${across ? `${nameY(each.points[i][1])}: ${nameX(each.points[i][0])}` : `${nameX(each.points[i][0])} → ${nameY(each.points[i][1])}`}` });
        });
      }
    }
    svg.append(ink, above);
    readable(svg, points, shape("circle", { r: 7, class: "near", visibility: "hidden" }));
    return svg;
  };

  const tip = document.getElementById("tip");
  const readable = (svg, points, ring) => {
    svg.append(ring);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      let best = null;
      for (const each of points) {
        const far = Math.hypot(each.x - px, each.y - py);
        if (!best || far < best.far) best = { ...each, far };
      }
      if (!best || best.far > 60) return hide();
      ring.setAttribute("cx", best.x);
      ring.setAttribute("cy", best.y);
      ring.setAttribute("visibility", "visible");
      tip.textContent = best.text;
      tip.hidden = false;
      const wide = tip.offsetWidth;
      tip.style.left = `${Math.max(4, Math.min(document.documentElement.clientWidth - wide - 4, box.left + best.x - wide / 2)) + scrollX}px`;
      tip.style.top = `${box.top + best.y - tip.offsetHeight - 12 + scrollY}px`;
    });
    const hide = () => {
      tip.hidden = true;
      ring.setAttribute("visibility", "hidden");
    };
    svg.addEventListener("pointerleave", hide);
  };

  const swatch = (pen) => {
    const svg = shape("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" });
    if (pen.box) svg.append(shape("rect", { x: 5, y: 0, width: 14, height: 12, rx: 2, fill: colour(pen.colour), opacity: pen.faint ? 0.3 : 1 }));
    else {
      if (pen.dash !== null && pen.dash !== undefined) svg.append(shape("path", { d: "M0,6H26", stroke: colour(pen.colour), "stroke-width": 2, "stroke-dasharray": pen.dash || null }));
      if (pen.marker) svg.append(mark(pen.marker, 13, 6, 4, pen));
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
    const across = panels.some((panel) => panel.marks.some((each) => each.across) || (panel.y.ticks && !panel.x.ticks));
    const least = across ? 400 : 300;
    const columns = small ? 1 : Math.max(1, Math.min(panels.length, panels.length > 3 && !across ? Math.floor(room / 220) : Math.floor(room / least), panels.length === 4 ? 2 : 9));
    const width = Math.floor((room - 24 * (columns - 1)) / columns);
    const grid = make("div", { class: "grid-of", style: `grid-template-columns: repeat(${columns}, minmax(0, 1fr))` });
    const names = panels.find((panel) => panel.y.ticks?.length)?.y.ticks;
    panels.forEach((each, i) => {
      // Below one another panels have names of their own, side by side those of the first do for all.
      const panel = across && columns === 1 && names && !each.y.ticks?.length ? { ...each, y: { ...each.y, ticks: names } } : each;
      const cell = make("div", { class: "cell" });
      const title = plain([panel.title === drawn.title ? "" : panel.title, panel.y.label].filter(Boolean).join(", "));
      if (title) cell.append(make("p", { class: "panel-title" }, title));
      if (!common && keys[i].length) cell.append(key(keys[i]));
      cell.append(plot(panel, width, small ? 136 : columns > 1 ? 250 : Math.min(340, Math.max(240, width * 0.45)), small));
      grid.append(cell);
    });
    host.append(grid);
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
    const font = "12px system-ui, sans-serif";
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
      const levels = (chart) => {
        const { ctx, bbox } = chart;
        ctx.save();
        for (const rule of panel.rules) {
          ctx.strokeStyle = resolved(rule.colour);
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash((rule.dash || "").split(" ").filter(Boolean).map((n) => n * devicePixelRatio));
          ctx.beginPath();
          if (rule.type === "level") {
            const y = chart.valToPos(rule.at, "y", true);
            ctx.moveTo(bbox.left, y);
            ctx.lineTo(bbox.left + bbox.width, y);
          } else {
            const x = chart.valToPos(rule.at, "x", true);
            if (x < bbox.left || x > bbox.left + bbox.width) continue;
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
          }
          ctx.stroke();
        }
        ctx.restore();
      };
      const values = (v) => v.map((each) => number(each));
      const axis = { stroke: resolved("quiet"), font, grid, ticks: { show: false } };
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
          { ...axis, size: last && !small ? 44 : 24, label: last && !small ? panel.x.label : undefined, labelSize: 18, labelFont: font, labelGap: 0, values: (_, v) => values(v) },
          { ...axis, size: 52, values: (_, v) => values(v), space: small ? 40 : 32 },
        ],
        hooks: {
          draw: [levels],
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
    const grid = make("div", { class: "grid-of", style: `grid-template-columns: repeat(${columns}, minmax(0, 1fr))` });
    host.append(grid);
    for (const panel of panels) {
      const width = Math.floor((room - 24 * (columns - 1)) / columns);
      const cell = make("div", { class: "cell" }, make("p", { class: "panel-title" }, panel.title));
      const letter = 6.6;
      const most = Math.floor((width * 0.42) / letter);
      const left = Math.min(most, Math.max(...panel.rows.map((row) => row.label.length))) * letter + 14;
      const right = 76;
      const all = panel.rows.flatMap((row) => [row.published, row.measured, ...(panel.log ? [] : [row.low, row.high])]);
      const [low, high] = [Math.min(...all), Math.max(...all)];
      const pad = (high - low) * 0.04 || 1;
      const axis = panel.log ? { log: true, from: low / 1.3, to: high * 1.3 } : { from: low - pad, to: high + pad };
      const height = 28 * panel.rows.length + 30;
      const x = scale(axis, left, width - right);
      const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${panel.title}, published and measured` });
      const lines = shape("g", { class: "grid" });
      for (const [place, text] of ticksOf(axis, (width - left - right) / 64)) {
        lines.append(shape("path", { d: `M${x(place)},4V${height - 24}` }), shape("text", { x: x(place), y: height - 8, "text-anchor": "middle" }, text));
      }
      svg.append(lines);
      const points = [];
      panel.rows.forEach((row, i) => {
        const y = 18 + 28 * i;
        const label = wrapped(row.label, most);
        label.forEach((line, n) => svg.append(shape("text", { x: left - 10, y: y + 4 + 12 * (n - (label.length - 1) / 2), "text-anchor": "end" }, line)));
        const bound = (value) => Math.max(left, Math.min(width - right, x(panel.log ? Math.max(value, axis.from) : value)));
        svg.append(shape("rect", { x: bound(row.low), y: y - 6, width: Math.max(2, bound(row.high) - bound(row.low)), height: 12, rx: 3, class: "passes" }));
        svg.append(shape("path", { d: `M${x(row.published)},${y}H${x(row.measured)}`, class: "between" }));
        svg.append(shape("circle", { cx: x(row.published), cy: y, r: 6, class: "published" }));
        svg.append(shape("circle", { cx: x(row.measured), cy: y, r: 4, class: `measured ${row.kind}` }));
        svg.append(shape("text", { x: width - right + 12, y: y + 4, class: `value ${row.kind}` }, number(row.measured)));
        for (const [what, value] of [["published", row.published], ["measured", row.measured]]) points.push({ x: x(value), y, text: `${row.label}: ${what} ${number(value)}` });
      });
      readable(svg, points, shape("circle", { r: 8, class: "near", visibility: "hidden" }));
      cell.append(svg);
      grid.append(cell);
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
      return [["time, s", ...columns.map(([name]) => name)], ...times(drawn).map((t, i) => [Number(t.toPrecision(7)), ...columns.map(([, values]) => (values[i] === null ? "" : Number(values[i].toPrecision(6))))])];
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
