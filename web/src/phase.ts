/** Phase plot: the window of one flow against the window of another. */
import type { Values } from "./charts";
import { short } from "./format";

/** Two flows of a run. */
export interface Phase {
  names: [string, string];
  windows: [Values, Values];
  /** Sum of the windows that fills path and buffer; infinite without a limit. */
  full: number;
}

const MARGIN = { left: 52, right: 14, top: 10, bottom: 38 };
const MOST_TICKS = 6;

/** Draws the plot; the figure is hidden without two flows. */
export function drawPhase(place: HTMLDetailsElement, phase: Phase | null): void {
  place.hidden = phase === null;
  if (phase === null || !place.open) return;
  const canvas = place.querySelector("canvas")!;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const points = pairs(phase.windows);
  const most = Math.max(1, ...points.map(([x, y]) => Math.max(x, y))) * 1.05;
  const side = { x: width - MARGIN.left - MARGIN.right, y: height - MARGIN.top - MARGIN.bottom };
  const at = (x: number, y: number): [number, number] => [MARGIN.left + (x / most) * side.x, MARGIN.top + side.y - (y / most) * side.y];
  const line = (from: [number, number], to: [number, number]) => {
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    pen.stroke();
  };

  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colour("--muted");
  pen.strokeStyle = colour("--grid");
  const step = roundStep(most / MOST_TICKS);
  for (let value = 0; value <= most; value += step) {
    line(at(value, 0), at(value, most));
    line(at(0, value), at(most, value));
    pen.textAlign = "center";
    pen.fillText(short(value), at(value, 0)[0], height - MARGIN.bottom + 14);
    pen.textAlign = "right";
    pen.fillText(short(value), MARGIN.left - 6, at(0, value)[1] + 4);
  }
  pen.textAlign = "center";
  pen.fillText(`Window of ${phase.names[0]} (packets)`, MARGIN.left + side.x / 2, height - 6);
  pen.save();
  pen.translate(12, MARGIN.top + side.y / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(`Window of ${phase.names[1]} (packets)`, 0, 0);
  pen.restore();

  pen.strokeStyle = colour("--muted");
  line(at(0, 0), at(most, most));
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left, MARGIN.top, side.x, side.y);
  pen.clip();
  pen.setLineDash([2, 4]);
  if (phase.full < 2 * most) line(at(0, phase.full), at(phase.full, 0));
  pen.restore();

  pen.strokeStyle = pen.fillStyle = colour("--accent");
  points.slice(1).forEach((point, i) => {
    pen.globalAlpha = 0.15 + (0.85 * i) / points.length;
    line(at(...points[i]!), at(...point));
  });
  pen.globalAlpha = 1;
  const last = points.at(-1);
  if (last) {
    pen.beginPath();
    pen.arc(...at(...last), 4, 0, 2 * Math.PI);
    pen.fill();
  }
  const said = last ? ` At the end: ${short(last[0])} and ${short(last[1])} packets.` : "";
  canvas.setAttribute("aria-label", `Window of ${phase.names[1]} against window of ${phase.names[0]}.${said}`);
}

/** A round number that is at least as large. */
function roundStep(least: number): number {
  const size = 10 ** Math.floor(Math.log10(least));
  return size * [1, 2, 5, 10].find((step) => step * size >= least)!;
}

/** Both windows at each time at which both are known. */
function pairs([first, second]: [Values, Values]): [number, number][] {
  return first.flatMap((x, i): [number, number][] => {
    const y = second[i];
    return x === null || y === null || y === undefined ? [] : [[x, y]];
  });
}
