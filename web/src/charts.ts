/** What happens over time: a panel each for windows, queues, round trips and shares, with one cursor. */
import uPlot from "uplot";
import { type Look, outline, swatch } from "./looks";

export type Values = (number | null)[];

export interface Line {
  look: Look;
  values: Values;
  /** Thin lines stand behind a bold one. */
  bold: boolean;
}

/** What a legend says: the value at the cursor, or without one the figure of the whole run. */
export interface Entry {
  name: string;
  look: Look;
  figure: number;
  at(sample: number): number | null;
}

export interface Drawing {
  lines: Line[];
  entries: Entry[];
  /** Levels worth knowing, drawn where they are near the values. */
  levels: { name: string; value: number }[];
  /** The most that the axis has; as the values ask for where it is absent. */
  top?: number;
  /** Areas one upon the other; `lines` then are their upper edges, from the top down. */
  stacked?: boolean;
}

export interface Frame {
  t_s: number[];
  duration_s: number;
  warmup_s: number;
}

const SYNC = "time";

export class Panel {
  private readonly legend: HTMLElement;
  private readonly place: HTMLElement;
  private readonly figure: HTMLElement;
  private plot: uPlot | null = null;
  private frame: Frame = { t_s: [], duration_s: 1, warmup_s: 0 };
  private drawing: Drawing = { lines: [], entries: [], levels: [] };
  private shape = "";
  private zoom: [number, number] | null = null;
  private outputs: HTMLElement[] = [];

  constructor(
    below: HTMLElement,
    id: string,
    private readonly title: string,
    private readonly unit: string,
    private readonly format: (value: number) => string,
    private readonly moved: (sample: number | null, zoom: [number, number] | null) => void,
  ) {
    this.figure = document.createElement("figure");
    this.figure.id = id;
    this.figure.innerHTML = `<figcaption><h2>${title}<small>${unit}</small></h2><span class="legend"></span></figcaption><div class="plot" role="img"></div>`;
    this.legend = this.figure.querySelector(".legend")!;
    this.place = this.figure.querySelector(".plot")!;
    below.before(this.figure);
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.place);
  }

  draw(frame: Frame, drawing: Drawing, theme: string): void {
    if (frame.duration_s !== this.frame.duration_s) this.zoom = null;
    this.frame = frame;
    this.drawing = drawing;
    const shape = JSON.stringify([theme, drawing.stacked, drawing.lines.map(({ look, bold }) => [look, bold]), drawing.entries.map(({ name }) => name)]);
    const data = [frame.t_s, ...drawing.lines.map((line) => line.values)] as uPlot.AlignedData;
    if (shape !== this.shape || !this.plot) {
      this.shape = shape;
      this.begin(data);
    } else {
      this.plot.batch(() => {
        this.plot!.setData(data, false);
        this.scale();
      });
    }
    this.tell(this.plot?.cursor.idx ?? null);
    const said = drawing.entries.map(({ name, figure }) => `${name} ${this.format(figure)}`).join(", ");
    this.place.setAttribute("aria-label", `${this.title} over time, ${this.unit}: ${said || "nothing"}`);
  }

  /** Puts the cursor to a sample. */
  point(sample: number | null): void {
    if (!this.plot) return;
    const left = sample === null ? -10 : this.plot.valToPos(this.frame.t_s[sample] ?? 0, "x");
    this.plot.setCursor({ left, top: sample === null ? -10 : 1 }, false);
    this.tell(sample);
  }

  /** Shows a part of the run; null for all. */
  show(zoom: [number, number] | null): void {
    this.zoom = zoom;
    this.scale();
  }

  private scale(): void {
    const [min, max] = this.zoom ?? [0, this.frame.duration_s];
    this.plot?.setScale("x", { min, max });
  }

  private tell(sample: number | null): void {
    this.drawing.entries.forEach((entry, i) => {
      const value = sample === null ? entry.figure : entry.at(sample);
      const output = this.outputs[i];
      if (output) output.textContent = value === null ? "–" : this.format(value);
    });
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(this.place.clientWidth, 60), height: Math.max(this.place.clientHeight, 40) };
  }

  private begin(data: uPlot.AlignedData): void {
    this.plot?.destroy();
    this.legend.replaceChildren(
      ...this.drawing.entries.map(({ name, look }) => {
        const item = document.createElement("span");
        const output = document.createElement("b");
        item.append(swatch(look), `${name} `, output);
        return item;
      }),
    );
    this.outputs = [...this.legend.querySelectorAll("b")];
    const style = getComputedStyle(this.figure);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const narrow = this.place.clientWidth < 260;
    const font = `${narrow ? 10 : 11}px system-ui, sans-serif`;
    const axis = { stroke: colour("--muted"), font, grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false } };
    const lines = this.drawing.lines;
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        padding: [8, 16, 0, 0],
        scales: { x: { time: false, auto: false }, y: { range: (_, __, max) => [0, this.top(max)] } },
        axes: [
          { ...axis, size: narrow ? 20 : 24, gap: 3, space: narrow ? 36 : 60, values: (_, ticks) => ticks.map((t, i) => (i === ticks.length - 1 ? `${t} s` : `${t}`)) },
          { ...axis, size: narrow ? 30 : 46, gap: 4, space: narrow ? 22 : 28, values: (_, ticks) => ticks.map((tick) => brief(tick)) },
        ],
        series: [
          {},
          ...lines.map(({ look, bold }) => ({
            stroke: look.colour,
            width: this.drawing.stacked ? 1 : bold ? 1.6 : 0.7,
            alpha: bold ? 1 : 0.35,
            dash: this.drawing.stacked ? [] : bold ? look.dash : [],
            points: { show: false },
            ...(this.drawing.stacked ? { fill: `${look.colour}${bold ? "b8" : "30"}` } : {}),
          })),
        ],
        bands: this.drawing.stacked ? lines.slice(1).map((_, i) => ({ series: [i + 1, i + 2] as [number, number] })) : [],
        cursor: {
          sync: { key: SYNC, setSeries: false },
          y: false,
          points: { size: 7, width: 1.5, fill: colour("--card") },
          drag: { x: true, y: false, setScale: false },
        },
        hooks: {
          drawClear: [(plot) => this.shade(plot, colour("--shade"))],
          draw: [(plot) => this.level(plot, colour("--muted"), colour("--card"), font), (plot) => this.mark(plot, colour("--card"))],
          setCursor: [
            (plot) => {
              this.tell(plot.cursor.idx ?? null);
              if (plot.cursor.event) this.moved(plot.cursor.idx ?? null, this.zoom);
            },
          ],
          setSelect: [
            (plot) => {
              const { left, width } = plot.select;
              if (width < 8) return;
              const zoom: [number, number] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
              plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
              this.moved(null, zoom);
            },
          ],
          ready: [
            (plot) => {
              plot.over.addEventListener("dblclick", () => this.moved(null, null));
              plot.over.addEventListener("pointermove", (event) => {
                if (event.pointerType === "touch") plot.setCursor({ left: event.offsetX, top: 1 });
              });
            },
          ],
        },
      },
      data,
      this.place,
    );
    this.scale();
  }

  /** A round number above all values. */
  private top(max: number | null): number {
    if (this.drawing.top !== undefined) return this.drawing.top;
    if (max === null || !(max > 0)) return 1;
    const size = 10 ** Math.floor(Math.log10(max * 1.04));
    return size * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * size >= max * 1.04)!;
  }

  private shade(plot: uPlot, colour: string): void {
    const { ctx, bbox } = plot;
    const end = Math.min(Math.max(plot.valToPos(this.frame.warmup_s, "x", true), bbox.left), bbox.left + bbox.width);
    ctx.fillStyle = colour;
    if (this.frame.warmup_s > 0) ctx.fillRect(bbox.left, bbox.top, end - bbox.left, bbox.height);
  }

  private level(plot: uPlot, colour: string, ground: string, font: string): void {
    const { ctx, bbox } = plot;
    const top = plot.scales["y"]?.max ?? 0;
    for (const { name, value } of this.drawing.levels) {
      if (!(value > 0 && value <= top)) continue;
      const y = Math.round(plot.valToPos(value, "y", true)) + 0.5;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.lineWidth = uPlot.pxRatio;
      ctx.setLineDash([2 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.font = font.replace(/^\d+/, (size) => String(Number(size) * uPlot.pxRatio));
      ctx.textAlign = "right";
      ctx.textBaseline = y - bbox.top < 16 * uPlot.pxRatio ? "top" : "bottom";
      const gap = (ctx.textBaseline === "top" ? 3 : -2) * uPlot.pxRatio;
      const right = bbox.left + bbox.width - 4 * uPlot.pxRatio;
      ctx.setLineDash([]);
      ctx.lineJoin = "round";
      ctx.lineWidth = 4 * uPlot.pxRatio;
      ctx.strokeStyle = ground;
      ctx.strokeText(name, right, y + gap);
      ctx.fillText(name, right, y + gap);
      ctx.restore();
    }
  }

  /** Markers along the bold lines, so that color is not all that tells them apart. */
  private mark(plot: uPlot, ground: string): void {
    const { ctx, bbox } = plot;
    const bold = this.drawing.lines.filter((line) => line.bold);
    if (this.drawing.stacked || bold.length < 2) return;
    const gap = 130 * uPlot.pxRatio;
    bold.forEach(({ look, values }, place) => {
      for (let x = bbox.left + gap * (0.3 + (0.7 * place) / bold.length); x < bbox.left + bbox.width; x += gap) {
        const sample = plot.posToIdx(x - bbox.left, true);
        const value = values[sample];
        if (value === null || value === undefined) continue;
        const path = outline(look.marker, plot.valToPos(this.frame.t_s[sample]!, "x", true), plot.valToPos(value, "y", true), 4.2 * uPlot.pxRatio);
        ctx.save();
        ctx.fillStyle = look.colour;
        ctx.strokeStyle = ground;
        ctx.lineWidth = 1.4 * uPlot.pxRatio;
        ctx.stroke(path);
        ctx.fill(path);
        ctx.restore();
      }
    });
  }
}

function brief(tick: number): string {
  return Math.abs(tick) >= 1000 ? `${Number((tick / 1000).toPrecision(3))}k` : String(Number(tick.toPrecision(3)));
}
