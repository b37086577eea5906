/** A result on the page: panels over time, figures, the table of groups. */
import { type Drawing, type Entry, type Frame, type Line, Panel, type Values } from "./charts";
import { baseRtt, bdpPackets, bufferPackets } from "./controls";
import type { FlowsView, Result } from "./engine";
import * as format from "./format";
import { groupLooks, linkLook, type Look, swatch } from "./looks";
import type { Metrics } from "./metrics";
import { drawPhase, type Phase } from "./phase";

/** More flows than this are drawn thin, with the mean of each group. */
const FEW = 6;
/** Flows of a group that are drawn at all. */
const MOST = 12;
const SMOOTH = 100;

const element = (id: string) => document.getElementById(id)!;

/** A group of flows and what is known of it. */
interface Group {
  name: string;
  look: Look;
  ids: number[];
  view: FlowsView;
}

export class Results {
  private readonly panels: Record<"window" | "queue" | "rtt" | "share", Panel>;
  private frame: Frame = { t_s: [], duration_s: 1, warmup_s: 0 };
  private phase: Phase | null = null;
  /** Part of the run that the panels show; null for all. */
  zoom: [from_s: number, to_s: number] | null = null;

  constructor(
    private readonly metrics: Metrics,
    private readonly zoomed: () => void,
  ) {
    const below = document.querySelector<HTMLElement>(".scrub")!;
    const moved = (sample: number | null, zoom: [number, number] | null) => this.moved(sample, zoom);
    this.panels = {
      window: new Panel(below, "window", metrics.title("cwnd_packets"), "packets", format.short, moved),
      queue: new Panel(below, "queue", metrics.title("queue_packets"), "packets", format.short, moved),
      rtt: new Panel(below, "rtt", metrics.title("rtt_s"), "ms", format.short, moved),
      share: new Panel(below, "share", metrics.title("share"), "% of the link", format.short, moved),
    };
    const cursor = element("cursor") as HTMLInputElement;
    cursor.addEventListener("input", () => this.point(Number(cursor.value)));
    cursor.addEventListener("blur", () => this.point(null));
    const redraw = () => drawPhase(element("phase") as HTMLDetailsElement, this.phase);
    element("phase").addEventListener("toggle", redraw);
    new ResizeObserver(redraw).observe(element("phase"));
  }

  draw(result: Result, link: number): void {
    if (result.view.duration_s !== this.frame.duration_s) this.zoom = null;
    const samples = this.sampled(result, link);
    element("figures").replaceChildren(...figures(result, link, samples, this.metrics));
    element("groups").replaceChildren(table(result, this.groups(result), this.metrics));
    element("pace").textContent = `${format.short(result.totals.data_packets)} packets in ${format.time(result.ms / 1e3)}`;
    const warnings = element("warnings");
    warnings.hidden = result.view.warnings.length === 0;
    warnings.replaceChildren(...result.view.warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  }

  /** Draws the samples of a run; the figures stay. */
  sampled(result: Result, link: number): Samples {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const groups = this.groups(result);
    const samples = new Samples(result);
    this.frame = { t_s: samples.t_s, duration_s: result.view.duration_s, warmup_s: result.view.warmup_s };
    const drawings = {
      window: windows(result, groups, samples, link),
      queue: queues(result, samples, link, dark),
      rtt: roundTrips(result, groups, samples, link),
      share: shares(result, groups, samples, link, dark),
    };
    for (const [name, drawing] of Object.entries(drawings)) {
      this.panels[name as keyof typeof drawings].draw(this.frame, drawing, String(dark));
    }
    (element("cursor") as HTMLInputElement).max = String(Math.max(samples.t_s.length - 1, 0));
    this.phase = phase(result, groups, samples, link);
    drawPhase(element("phase") as HTMLDetailsElement, this.phase);
    return samples;
  }

  private groups(result: Result): Group[] {
    return groupsOf(result, matchMedia("(prefers-color-scheme: dark)").matches);
  }

  private moved(sample: number | null, zoom: [number, number] | null): void {
    for (const panel of Object.values(this.panels)) panel.show(zoom);
    // The panels share the selection, and each reports it.
    if (String(zoom) !== String(this.zoom)) {
      this.zoom = zoom;
      this.zoomed();
    }
    if (sample !== null) this.tell(sample);
  }

  private point(sample: number | null): void {
    for (const panel of Object.values(this.panels)) panel.point(sample);
    this.tell(sample);
  }

  private tell(sample: number | null): void {
    const t_s = sample === null ? undefined : this.frame.t_s[sample];
    const text = t_s === undefined ? "" : `${t_s.toFixed(t_s < 100 ? 2 : 1)} s`;
    element("moment").textContent = text;
    const cursor = element("cursor") as HTMLInputElement;
    cursor.setAttribute("aria-valuetext", text || "none");
    if (sample !== null && document.activeElement !== cursor) cursor.value = String(sample);
    cursor.style.setProperty("--at", String(Number(cursor.value) / Math.max(Number(cursor.max), 1)));
  }
}

/** The series on one grid of times. */
class Samples {
  readonly t_s: number[];
  private readonly rows: Map<number, [from: number, to: number]>;
  private readonly flowTimes: Float64Array;

  constructor(private readonly result: Result) {
    const all = result.numbers("link_series", "t_s");
    this.t_s = Array.from(all.subarray(0, all.length / Math.max(result.view.links.length, 1)));
    this.flowTimes = result.numbers("series", "t_s");
    this.rows = new Map();
    const flows = result.numbers("series", "flow");
    for (let from = 0; from < flows.length; ) {
      let to = from + 1;
      while (to < flows.length && flows[to] === flows[from]) to++;
      this.rows.set(flows[from]!, [from, to]);
      from = to;
    }
  }

  /** A flow's column, null where the flow has no value. */
  flow(id: number, column: string, scale = 1): Values {
    const values: Values = new Array<number | null>(this.t_s.length).fill(null);
    const rows = this.rows.get(id);
    if (!rows || this.t_s.length === 0) return values;
    const numbers = this.result.numbers("series", column);
    const first = Math.round(this.flowTimes[rows[0]]! / this.t_s[0]!) - 1;
    for (let i = 0; i < rows[1] - rows[0]; i++) {
      const number = numbers[rows[0] + i]! * scale;
      if (Number.isFinite(number)) values[first + i] = number;
    }
    return values;
  }

  /** A link's column. */
  link(index: number, column: string, scale = 1): Values {
    const count = this.t_s.length;
    return Array.from(this.result.numbers("link_series", column).subarray(index * count, (index + 1) * count), (x) => x * scale);
  }
}

function groupsOf({ view }: Result, dark: boolean): Group[] {
  const looks = groupLooks(view.flows.map(({ algorithm }) => algorithm), dark);
  let next = 0;
  return view.flows.map((flows, i) => {
    const ids = Array.from({ length: flows.count }, (_, i) => next + i);
    next += flows.count;
    return { name: flows.name, look: looks[i]!, ids, view: flows };
  });
}

function windows(result: Result, groups: Group[], samples: Samples, link: number): Drawing {
  const drawn = perFlow(groups, (id) => samples.flow(id, "cwnd_packets"), result.numbers("flows", "mean_cwnd_packets"));
  const one = result.view.flows.length === 1 && result.view.flows[0]!.count === 1;
  const pipe = bdpPackets(result.view, link);
  return { ...drawn, levels: one ? [{ name: "the pipe", value: pipe }, { name: "pipe and buffer", value: pipe + bufferPackets(result.view, link) }] : [] };
}

/** Windows of the first flows of two groups, or of the first two flows of the only group. */
function phase(result: Result, groups: Group[], samples: Samples, link: number): Phase | null {
  const flows = groups.length > 1 ? groups.slice(0, 2).map(({ name, ids }) => ({ name, id: ids[0] })) : (groups[0]?.ids.slice(0, 2) ?? []).map((id, i) => ({ name: `flow ${i + 1}`, id }));
  const [first, second] = flows;
  if (first?.id === undefined || second?.id === undefined) return null;
  const names: [string, string] = first.name === second.name ? [`${first.name}, side A`, `${second.name}, side B`] : [first.name, second.name];
  return {
    names,
    windows: [samples.flow(first.id, "cwnd_packets"), samples.flow(second.id, "cwnd_packets")],
    full: bdpPackets(result.view, link) + bufferPackets(result.view, link),
  };
}

function roundTrips(result: Result, groups: Group[], samples: Samples, link: number): Drawing {
  const means = result.numbers("flows", "mean_rtt_s").map((s) => s * 1e3);
  const drawn = perFlow(groups, (id) => samples.flow(id, "rtt_s", 1e3), means);
  return { ...drawn, levels: [{ name: "the path alone", value: 1e3 * baseRtt(result.view, link) }] };
}

function perFlow(groups: Group[], values: (id: number) => Values, means: Float64Array): Omit<Drawing, "levels"> {
  const few = groups.reduce((sum, { ids }) => sum + ids.length, 0) <= FEW;
  const lines: Line[] = [];
  const entries: Entry[] = [];
  for (const { name, look, ids } of groups) {
    const all = ids.map(values);
    const middle = all.length === 1 ? all[0]! : mean(all);
    for (const one of few ? all : all.slice(0, MOST)) lines.push({ look, values: one, bold: few });
    if (!few) lines.push({ look, values: middle, bold: true });
    const known = ids.map((id) => means[id]!).filter(Number.isFinite);
    const figure = known.reduce((a, b) => a + b, 0) / known.length;
    entries.push({ name, look, figure, at: (sample) => middle[sample] ?? null });
  }
  return { lines: [...lines].sort((a, b) => Number(a.bold) - Number(b.bold)), entries };
}

function queues(result: Result, samples: Samples, link: number, dark: boolean): Drawing {
  const means = result.numbers("links", "mean_queue_packets");
  const others = result.view.links.map((_, i) => i).filter((i) => i !== link);
  const drawn = [link, ...others].slice(0, 3).map((index, i): Line & Entry => {
    const values = samples.link(index, "queue_packets");
    return { look: linkLook(i, dark), values, bold: true, name: result.view.links[index]!.name, figure: means[index]!, at: (sample) => values[sample] ?? null };
  });
  return { lines: [...drawn].reverse(), entries: drawn, levels: [{ name: "the buffer", value: bufferPackets(result.view, link) }] };
}

/** Who sends on the link: each group's part of what crosses it, from packets in flight over the round trip; together they are the
 * utilization, where all is TCP in one direction. */
function shares(result: Result, groups: Group[], samples: Samples, link: number, dark: boolean): Drawing {
  const { view } = result;
  const width = Math.max(1, Math.round(samples.t_s.length / SMOOTH));
  const crossing = groups.filter(({ view }) => view.path.includes(link) && !view.reverse);
  const alone = !view.other_traffic && !groups.some(({ view }) => view.reverse && view.path.includes(link));
  const used = smooth(samples.link(link, "utilization", 100), width);
  const full = (8 * view.packet_bytes * 100) / view.links[link]!.rate_bps;
  const rates = crossing.map(({ ids }) => smooth(rate(ids, samples), width));
  const total = samples.t_s.map((_, i) => rates.reduce((sum, rate) => sum + (rate[i] ?? 0), 0));
  const part = (rate: Values): Values =>
    rate.map((r, i) => {
      const whole = alone && total[i]! > 0 ? (used[i] ?? 0) / total[i]! : full;
      return (r ?? 0) * whole;
    });
  const parts = crossing.map((group, i) => ({ name: group.name, look: group.look, values: part(rates[i]!) }));
  if (!alone) {
    const look = linkLook(1, dark);
    const rest = used.map((u, i) => Math.max((u ?? 0) - parts.reduce((sum, { values }) => sum + (values[i] ?? 0), 0), 0));
    parts.push({ name: "other traffic", look, values: rest });
  }
  const lines: Line[] = [];
  let below: Values = samples.t_s.map(() => 0);
  for (const { look, values } of parts) {
    below = values.map((value, i) => (value ?? 0) + below[i]!);
    lines.unshift({ look, values: below, bold: true });
  }
  const entries = parts.map(({ name, look, values }) => ({ name, look, figure: average(values, samples.t_s, view.warmup_s), at: (i: number) => values[i] ?? null }));
  return { lines, entries, levels: [], top: 100, stacked: true };
}

/** Packets a second of several flows: what is in flight over the round trip. */
function rate(ids: number[], samples: Samples): Values {
  const sum: Values = samples.t_s.map(() => 0);
  for (const id of ids) {
    const flight = samples.flow(id, "in_flight_packets");
    const rtt_s = samples.flow(id, "rtt_s");
    flight.forEach((packets, i) => {
      const s = rtt_s[i];
      if (packets !== null && s) sum[i]! += packets / s;
    });
  }
  return sum;
}

/** The mean at each time, of those that have a value then. */
function mean(all: Values[]): Values {
  return (all[0] ?? []).map((_, i) => {
    let sum = 0;
    let count = 0;
    for (const values of all) {
      const value = values[i];
      if (value === null || value === undefined) continue;
      sum += value;
      count++;
    }
    return count ? sum / count : null;
  });
}

/** The mean of so many samples about each. */
function smooth(values: Values, width: number): Values {
  const sums = [0];
  for (const value of values) sums.push(sums.at(-1)! + (value ?? 0));
  return values.map((_, i) => {
    const from = Math.max(0, i - (width >> 1));
    const to = Math.min(values.length, from + width);
    return (sums[to]! - sums[from]!) / (to - from);
  });
}

function average(values: Values, t_s: number[], from_s: number): number {
  const kept = values.filter((value, i) => value !== null && t_s[i]! > from_s) as number[];
  return kept.reduce((a, b) => a + b, 0) / kept.length;
}

/** Loss over the whole run, which figures of the measured part leave out. */
function wholeLoss(samples: Samples, link: number): string {
  const [dropped, arrived] = ["dropped_packets", "arrived_packets"].map((column) => samples.link(link, column).reduce((sum: number, x) => sum + (x ?? 0), 0));
  return `whole run: ${format.percent(arrived ? dropped! / arrived : 0)}, ${format.short(dropped!)} dropped`;
}

function figures(result: Result, link: number, samples: Samples, metrics: Metrics): Node[] {
  const of = (column: string) => result.numbers("links", column)[link]!;
  const { view } = result;
  const queueing_s = (of("mean_queue_packets") * view.packet_bytes * 8) / view.links[link]!.rate_bps;
  const marked = of("marked_packets");
  const waits = percentiles(result, "links", metrics).flatMap(({ unit, parts }) => parts.map(({ column, name }) => `${name} ${format.inUnit(of(column), unit)}`));
  const pairs: [string, string, string][] = [
    [metrics.title("utilization"), format.percent(of("utilization")), "of the link"],
    [metrics.title("mean_queue_packets"), `${format.short(of("mean_queue_packets"))} pkt`, [`${format.time(queueing_s)} of delay`, waits.join(", ")].filter(Boolean).join("; ")],
    [metrics.title("loss_rate"), format.percent(of("loss_rate")), `${format.short(of("dropped_packets"))} dropped${marked ? `, ${format.short(marked)} marked` : ""}${view.warmup_s > 0 && samples.t_s.length > 0 ? `; ${wholeLoss(samples, link)}` : ""}`],
    [metrics.title("jain_index"), format.short(result.totals.jain_index), "1 if all flows have equal goodput"],
  ];
  return pairs.map(([name, value, note]) => {
    const figure = document.createElement("div");
    const parts = [["dt", name], ["dd", value], ["dd", note]].map(([tag, text]) => Object.assign(document.createElement(tag!), { textContent: text! }));
    figure.append(...parts);
    return figure;
  });
}

/** A quantity of which a table has percentiles: `p50_rtt_s`, `p95_rtt_s` and so on, by the least first. */
interface Percentiles {
  title: string;
  unit: string;
  parts: { column: string; name: string }[];
}

/** Those of a table, but for what was not measured. */
function percentiles(result: Result, table: "links" | "flows" | "groups", metrics: Metrics): Percentiles[] {
  const found = new Map<string, Percentiles>();
  for (const column of result.columns(table)) {
    const [, name, quantity, unit] = /^(p\d+)_(.+)_([a-z]+)$/.exec(column) ?? [];
    if (!name || !quantity || !unit || !result.numbers(table, column).some(Number.isFinite)) continue;
    const known = found.get(quantity) ?? { title: metrics.quantity(column), unit, parts: [] };
    known.parts.push({ column, name });
    found.set(quantity, known);
  }
  return [...found.values()];
}

/** Values with units in a row, the unit once where all have the same: a table of them would be wider than a screen. */
function together(values: string[]): string {
  const units = new Set(values.map((value) => value.split(" ")[1]));
  const [unit] = units;
  if (units.size > 1 || !unit) return values.join(", ");
  return `${values.map((value) => value.split(" ")[0]).join(", ")} ${unit}`;
}

/** What each group got. */
function table(result: Result, groups: Group[], metrics: Metrics): HTMLElement {
  const of = (column: string) => result.numbers("flows", column);
  const [goodput, active, rtt, again, timeouts] = ["goodput_bps", "active_s", "mean_rtt_s", "retransmits", "timeouts"].map(of) as Float64Array[];
  const window_s = result.view.duration_s - result.view.warmup_s;
  const known = (x: number) => (Number.isFinite(x) ? x : 0);
  const sum = (ids: number[], value: (id: number) => number) => ids.reduce((total, id) => total + known(value(id)), 0);
  const grouped = result.text("groups", "name");
  const more = percentiles(result, grouped.length ? "groups" : "flows", metrics);
  // Its mean stands with them.
  const isRtt = ({ parts }: Percentiles) => parts[0]!.column.endsWith("_rtt_s");
  // Of several flows together only the engine knows them.
  const whole = (column: string, name: string, ids: number[]) =>
    grouped.length ? (result.numbers("groups", column)[grouped.indexOf(name)] ?? NaN) : ids.length === 1 ? of(column)[ids[0]!]! : NaN;
  const rows = groups.map(({ name, look, ids, view }) => {
    const measured = ids.filter((id) => Number.isFinite(rtt![id]!));
    const mean = format.time(sum(measured, (id) => rtt![id]!) / measured.length);
    return {
      name: view.name === view.algorithm ? name : `${name} (${view.algorithm})`,
      look,
      count: ids.length,
      bps: sum(ids, (id) => goodput![id]! * active![id]!) / window_s,
      more: [
        ...(more.some(isRtt) ? [] : [mean]),
        ...more.map((one) => {
          const values = one.parts.map(({ column }) => format.inUnit(whole(column, view.name, ids), one.unit));
          return together(isRtt(one) ? [mean, ...values] : values);
        }),
      ],
      again: sum(ids, (id) => again![id]!),
      timeouts: sum(ids, (id) => timeouts![id]!),
    };
  });
  const total = rows.reduce((sum, { bps }) => sum + bps, 0);
  const element = document.createElement("table");
  element.createCaption().textContent = verdict(rows);
  const head = element.createTHead().insertRow();
  for (const title of [...["flows", "goodput_bps", "share"].map((id) => metrics.title(id)), ...(more.some(isRtt) ? [] : [metrics.title("mean_rtt_s")]), ...more.map((one) => `${one.title} ${[...(isRtt(one) ? ["mean"] : []), ...one.parts.map(({ name }) => name)].join(", ")}`), ...["retransmits", "timeouts"].map((id) => metrics.title(id))]) {
    head.append(Object.assign(document.createElement("th"), { textContent: title, scope: "col" }));
  }
  const body = element.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    const name = document.createElement("th");
    name.scope = "row";
    name.append(swatch(row.look), `${row.name} \u00d7 ${row.count}`);
    line.append(name);
    const cells = [format.rate(row.bps), format.percent(row.bps / total), ...row.more, format.short(row.again), format.short(row.timeouts)];
    for (const text of cells) line.insertCell().textContent = text;
  }
  return element;
}

/** Who gets more, of two. */
function verdict(rows: { name: string; count: number; bps: number }[]): string {
  if (rows.length !== 2 || rows.some(({ bps }) => !(bps > 0))) return "Goodput of each group of flows";
  const each = rows.map(({ name, count, bps }) => ({ name, count, bps: bps / count }));
  const [more, less] = each[0]!.bps >= each[1]!.bps ? [each[0]!, each[1]!] : [each[1]!, each[0]!];
  const times = more.bps / less.bps;
  if (times < 1.05) return "Both sides have equal goodput, within 5 %";
  const flows = rows.some(({ count }) => count > 1) ? "A flow of " : "";
  return `${flows}${more.name} has ${format.short(times)} times the goodput of ${flows ? "a flow of " : ""}${less.name}`;
}
