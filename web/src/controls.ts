/** Sliders and menus: each reads what the engine made of the scenario, and writes the scenario's text. */
import * as buffer from "./buffer";
import type { Catalogue, FlowsView, View } from "./engine";
import * as format from "./format";
import * as toml from "./toml";

type Edit = (text: string) => string;

interface Control {
  sync(view: View, text: string): void;
}

interface Slider {
  read(view: View): number;
  show(view: View): string;
  /** A line below. */
  note?(view: View): string;
  able(view: View, text: string): boolean;
  write(value: number): Edit;
}

const NICE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
const RATES_BPS = grid(5e5, 1e9);
const RTTS_S = grid(1e-3, 0.6);
const BUFFERS_BDP = grid(0.01, 10);
const LOSSES = [0, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1];
const DURATIONS_S = [5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400];
const COUNTS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50];
/** Parts of the run at which the rate may change. */
const MOMENTS = Array.from({ length: 19 }, (_, i) => Number(((i + 1) / 20).toFixed(2)));
/** Parts of the run at which flows may start. */
const STARTS = [0, ...MOMENTS];
const SEEDS = Array.from({ length: 50 }, (_, i) => i + 1);
const ECN_MODES = ["off", "classic", "accurate", "ace"];
/** What scenarios call the reader's own algorithm. */
export const MINE = "mine";
const NOBODY = "none";
const SIDES = ["A", "B"];

export class Controls {
  private readonly controls: Control[] = [];
  private view: View | null = null;
  /** The link that the controls are of. */
  link = 0;

  constructor(
    private readonly root: HTMLElement,
    catalogue: Catalogue,
    private readonly text: () => string,
    private readonly edit: (change: Edit) => void,
    private readonly chosen: () => void,
  ) {
    this.traffic(catalogue);
    this.network(catalogue);
  }

  sync(view: View, text: string): void {
    this.view = view;
    this.link = Math.min(this.link, view.links.length - 1);
    for (const control of this.controls) control.sync(view, text);
  }

  private network(catalogue: Catalogue): void {
    const group = this.group("Link");
    this.linkMenu(group);
    const at = (): toml.Place => ["links", this.link];
    const link = (view: View) => view.links[this.link]!;
    const owned = (text: string) => toml.has(text, at());
    this.slider(group, "Rate", RATES_BPS, {
      read: (view) => link(view).rate_bps,
      show: (view) => format.rate(link(view).rate_bps),
      able: (view, text) => owned(text) && !link(view).traced,
      write: (bps) => (text) => toml.set(text, at(), "rate", format.rateText(bps)),
    });
    this.slider(group, "Round trip", RTTS_S, {
      read: (view) => baseRtt(view, this.link),
      show: (view) => format.time(baseRtt(view, this.link)),
      able: (_, text) => owned(text),
      write: (rtt_s) => (text) => {
        const longer_s = (rtt_s - baseRtt(this.view!, this.link)) / 2;
        return toml.set(text, at(), "delay", format.timeText(Math.max(link(this.view!).delay_s + longer_s, 0)));
      },
    });
    this.slider(group, "Buffer", BUFFERS_BDP, {
      read: (view) => bufferBdp(view, this.link),
      show: (view) => bufferText(view, this.link),
      note: (view) => bufferNote(view, this.link),
      able: (_, text) => owned(text),
      write: (bdp) => (text) => toml.set(text, at(), "buffer", `"${format.plain(bdp)} BDP"`),
    });
    this.slider(group, "Random loss", LOSSES, {
      read: (view) => link(view).loss ?? 0,
      show: (view) => (link(view).loss === null ? "in bursts" : format.percent(link(view).loss ?? 0)),
      able: (view, text) => owned(text) && link(view).loss !== null,
      write: (loss) => (text) => toml.set(text, at(), "loss", loss === 0 ? null : format.plain(loss)),
    });
    const queues = catalogue.queues.map(({ name }) => ({ value: name, group: "" }));
    this.menu(group, "Queue", queues, {
      read: (view) => link(view).queue,
      able: (_, text) => owned(text),
      write: (name) => (text) => toml.set(text, at(), "queue", toml.quoted(name)),
    });
    const run = this.group("Run");
    this.slider(run, "Length", DURATIONS_S, {
      read: (view) => view.duration_s,
      show: (view) => format.time(view.duration_s),
      able: () => true,
      write: (duration_s) => (text) => {
        const share = this.view!.warmup_s / this.view!.duration_s;
        const longer = toml.set(text, toml.TOP, "duration", format.timeText(duration_s));
        return share > 0 ? toml.set(longer, toml.TOP, "warmup", format.timeText(Number((share * duration_s).toPrecision(3)))) : longer;
      },
    });
    this.slider(run, "Seed", SEEDS, {
      read: (view) => view.seed,
      show: (view) => String(view.seed),
      able: () => true,
      write: (seed) => (text) => toml.set(text, toml.TOP, "seed", String(seed)),
    });
    this.change();
  }

  /** A change of the rate in the middle: a time and a rate in the link's schedule, run from the beginning. */
  private change(): void {
    const group = this.group("Rate change");
    const at = (): toml.Place => ["links", this.link];
    const link = (view: View) => view.links[this.link]!;
    const many = (view: View) => link(view).changes > 0 && link(view).change === null;
    const write = (at_s: number, bps: number): Edit => {
      const entry = `[{ at = ${format.timeText(at_s)}, rate = ${format.rateText(bps)} }]`;
      return (text) => toml.set(text, at(), "schedule", bps > 0 ? entry : null);
    };
    this.slider(group, "New rate", [0, ...RATES_BPS], {
      read: (view) => link(view).change?.rate_bps ?? 0,
      show: (view) => (many(view) ? "as scheduled below" : link(view).change === null ? "none" : format.rate(link(view).change!.rate_bps)),
      able: (view, text) => toml.has(text, at()) && !link(view).traced && !many(view),
      write: (bps) => write(link(this.view!).change?.at_s ?? middle(this.view!), bps),
    });
    this.slider(group, "At", MOMENTS, {
      read: (view) => (link(view).change?.at_s ?? middle(view)) / view.duration_s,
      show: (view) => (link(view).change === null ? "" : format.time(link(view).change!.at_s)),
      able: (view) => link(view).change !== null,
      write: (moment) => write(Number((moment * this.view!.duration_s).toPrecision(4)), link(this.view!).change!.rate_bps),
    });
  }

  private traffic(catalogue: Catalogue): void {
    const own = { name: MINE, group: "your own" };
    const algorithms = [...catalogue.algorithms, own].map(({ name, group }) => ({ value: name, group: GROUPS[group] ?? group }));
    SIDES.forEach((side, i) => {
      const place: toml.Place = ["flows", i];
      const group = this.group(`Side ${side}`);
      const here = (view: View): FlowsView | undefined => view.flows[i];
      const nobody = i > 0 ? [{ value: NOBODY, group: "" }] : [];
      this.menu(group, "Algorithm", [...nobody, ...algorithms], {
        read: (view) => here(view)?.algorithm ?? NOBODY,
        able: (view, text) => toml.has(text, place) || (here(view) === undefined && view.flows.length === i),
        write: (name) => (text) => {
          if (name === NOBODY) return toml.remove(text, place);
          return toml.has(text, place) ? toml.set(text, place, "algorithm", toml.quoted(name)) : toml.add(text, "flows", like(text, name));
        },
      });
      this.slider(group, "Flows", COUNTS, {
        read: (view) => here(view)?.count ?? 1,
        show: (view) => String(here(view)?.count ?? 0),
        able: (_, text) => toml.has(text, place),
        write: (count) => (text) => toml.set(text, place, "count", count === 1 ? null : String(count)),
      });
      this.slider(group, "Start", STARTS, {
        read: (view) => (here(view)?.start_s ?? 0) / view.duration_s,
        show: (view) => (here(view) ? format.time(here(view)!.start_s) : ""),
        able: (_, text) => toml.has(text, place),
        write: (part) => (text) => toml.set(text, place, "start", format.timeText(Number((part * this.view!.duration_s).toPrecision(4)))),
      });
      this.menu(group, "ECN", ECN_MODES.map((value) => ({ value, group: "" })), {
        read: (view) => here(view)?.ecn ?? "off",
        able: (_, text) => toml.has(text, place),
        write: (name) => (text) => toml.set(text, place, "ecn", toml.quoted(name)),
      });
    });
  }

  private group(title: string): HTMLFieldSetElement {
    const group = document.createElement("fieldset");
    group.innerHTML = `<legend>${title}</legend>`;
    this.root.append(group);
    return group;
  }

  private linkMenu(group: HTMLElement): void {
    const { row, field } = labelled(group, "Link", document.createElement("select"));
    field.addEventListener("change", () => {
      this.link = field.selectedIndex;
      if (this.view) this.sync(this.view, this.text());
      this.chosen();
    });
    this.controls.push({
      sync: (view) => {
        row.hidden = view.links.length < 2;
        if ([...field.options].map((option) => option.text).join() !== view.links.map(({ name }) => name).join()) {
          field.replaceChildren(...view.links.map(({ name }) => new Option(name)));
        }
        field.selectedIndex = this.link;
      },
    });
  }

  private menu(
    root: HTMLElement,
    label: string,
    choices: { value: string; group: string }[],
    does: { read(view: View): string; able(view: View, text: string): boolean; write(name: string): Edit },
  ): void {
    const { field } = labelled(root, label, document.createElement("select"));
    for (const { value, group } of choices) {
      const parent = group ? (field.querySelector(`optgroup[label="${group}"]`) ?? field.appendChild(Object.assign(document.createElement("optgroup"), { label: group }))) : field;
      parent.append(new Option(value, value));
    }
    field.setAttribute("aria-label", `${root.querySelector("legend")!.textContent}: ${label.toLowerCase()}`);
    field.addEventListener("change", () => this.edit(does.write(field.value)));
    this.controls.push({
      sync(view, text) {
        field.disabled = !does.able(view, text);
        field.value = does.read(view);
      },
    });
  }

  private slider(
    root: HTMLElement,
    label: string,
    values: number[],
    does: Slider,
  ): void {
    const { row, field } = labelled(root, label, document.createElement("input"));
    const output = row.querySelector("output")!;
    const note = row.appendChild(document.createElement("small"));
    Object.assign(field, { type: "range", min: "0", max: String(values.length - 1), step: "1" });
    field.setAttribute("aria-label", `${root.querySelector("legend")!.textContent}: ${label.toLowerCase()}`);
    const fill = () => field.style.setProperty("--at", String(Number(field.value) / (values.length - 1)));
    let held: number | null = null;
    field.addEventListener("input", () => {
      fill();
      held = values[Number(field.value)]!;
      this.edit(does.write(held));
    });
    field.addEventListener("change", () => (held = null));
    this.controls.push({
      sync(view, text) {
        field.disabled = !does.able(view, text);
        if (held === null) field.value = String(nearest(values, does.read(view)));
        fill();
        output.textContent = does.show(view);
        note.textContent = does.note?.(view) ?? "";
        field.setAttribute("aria-valuetext", does.show(view));
      },
    });
  }
}

const GROUPS: Record<string, string> = {
  loss: "loss-based",
  delay: "delay-based",
  both: "to loss and delay",
  model: "models the path",
  ECN: "ECN-based",
};

/** The base round trip of the first flow that crosses the link, which its buffer's BDP is of. */
export function baseRtt(view: View, link: number): number {
  const flow = view.flows.find(({ path }) => path.includes(link));
  if (!flow) return view.links[link]!.round_trip_s;
  return flow.path.reduce((sum, i) => sum + view.links[i]!.round_trip_s, 2 * flow.access_s);
}

/** Packets that fill the pipe. */
export function bdpPackets(view: View, link: number): number {
  return (view.links[link]!.rate_bps * baseRtt(view, link)) / (8 * view.packet_bytes);
}

/** How many packets of the scenario's size the buffer holds; infinite without a limit. */
export function bufferPackets(view: View, link: number): number {
  return buffer.bufferPackets(view.links[link]!, view.packet_bytes);
}

function bufferBdp(view: View, link: number): number {
  return bufferPackets(view, link) / bdpPackets(view, link);
}

function bufferText(view: View, link: number): string {
  const packets = bufferPackets(view, link);
  return packets === Infinity ? "unlimited" : `${format.short(bufferBdp(view, link))} BDP`;
}

function bufferNote(view: View, link: number): string {
  const packets = bufferPackets(view, link);
  if (packets === Infinity) return "";
  const delay_s = (packets * view.packet_bytes * 8) / view.links[link]!.rate_bps;
  return `${format.short(Math.round(packets))} packets, up to ${format.time(delay_s)} of delay`;
}

/** A second side that has what the first one has of the network. */
function like(text: string, algorithm: string): Record<string, string> {
  const kept = ["access_delay", "access_rate", "path"].map((key) => [key, toml.value(text, ["flows", 0], key)] as const);
  const pairs = kept.filter((pair): pair is [string, string] => pair[1] !== null);
  return { algorithm: toml.quoted(algorithm), ...Object.fromEntries(pairs) };
}

function labelled<Field extends HTMLElement>(root: HTMLElement, label: string, field: Field): { row: HTMLElement; field: Field } {
  const row = document.createElement("label");
  row.className = field instanceof HTMLSelectElement ? "control menu" : "control";
  const name = document.createElement("span");
  name.textContent = label;
  row.append(name, document.createElement("output"), field);
  root.append(row);
  return { row, field };
}

/** Half way through what is measured. */
function middle({ warmup_s, duration_s }: View): number {
  return Number(((warmup_s + duration_s) / 2).toPrecision(4));
}

function nearest(values: number[], value: number): number {
  const far = (x: number) => Math.abs(Math.log(Math.max(x, 1e-9)) - Math.log(Math.max(Math.min(value, 1e15), 1e-9)));
  return values.reduce((best, x, i) => (far(x) < far(values[best]!) ? i : best), 0);
}

/** Round numbers from `least` to `most`, some ten to each power of ten. */
function grid(least: number, most: number): number[] {
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power++) {
    for (const step of NICE) {
      const value = Number((step * 10 ** power).toPrecision(3));
      if (value >= least * 0.999 && value <= most * 1.001) values.push(value);
    }
  }
  return values;
}
