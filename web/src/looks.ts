/** One color, dash and marker per algorithm, the same in all of fullpipe's pictures. */
import looks from "../../python/fullpipe/plots/looks.json";

export type Marker = "o" | "s" | "^" | "v" | "D" | "P" | "X";

export interface Look {
  colour: string;
  dash: number[];
  marker: Marker;
}

const DASHES: Record<string, number[]> = looks.dashes;

type Colour = keyof typeof looks.colours;

const KNOWN = looks.algorithms as Record<string, typeof looks.other>;

/** Looks of groups by their algorithms. A group whose algorithm another group has already gets a color that is free. */
export function groupLooks(algorithms: string[], dark: boolean): Look[] {
  const own = (algorithm: string) => (KNOWN[algorithm] ?? looks.other).colour as Colour;
  const taken = new Set(algorithms.map(own));
  return algorithms.map((algorithm, i) => {
    const repeated = algorithms.slice(0, i).filter((other) => other === algorithm).length;
    const free = (Object.keys(looks.colours) as Colour[]).find((colour) => !taken.has(colour));
    const colour = repeated && free ? free : own(algorithm);
    taken.add(colour);
    return look(algorithm, colour, repeated, dark);
  });
}

function look(algorithm: string, colour: Colour, repeated: number, dark: boolean): Look {
  const { dash, marker } = KNOWN[algorithm] ?? looks.other;
  const shades = looks.colours[colour];
  return {
    colour: dark ? shades.dark : shades.light,
    dash: repeated === 0 ? DASHES[dash]! : looks.repeated[(repeated - 1) % looks.repeated.length]!,
    marker: marker as Marker,
  };
}

/** How the i-th link is drawn, which is no algorithm's. */
export function linkLook(i: number, dark: boolean): Look {
  const shades = looks.links[i % looks.links.length]!;
  return { colour: dark ? shades.dark : shades.light, dash: i ? looks.repeated[1]! : [], marker: "o" };
}

/** The outline of a marker about a point. */
export function outline(marker: Marker, x: number, y: number, r: number): Path2D {
  const path = new Path2D();
  const polygon = (points: [number, number][]) => {
    points.forEach(([dx, dy], i) => (i ? path.lineTo(x + dx * r, y + dy * r) : path.moveTo(x + dx * r, y + dy * r)));
    path.closePath();
  };
  const plus: [number, number][] = [[-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35], [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35], [-1, -0.35], [-0.35, -0.35]];
  if (marker === "o") path.arc(x, y, r * 0.95, 0, 2 * Math.PI);
  else if (marker === "s") polygon([[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]);
  else if (marker === "^") polygon([[0, -1.05], [1, 0.8], [-1, 0.8]]);
  else if (marker === "v") polygon([[0, 1.05], [1, -0.8], [-1, -0.8]]);
  else if (marker === "D") polygon([[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]]);
  else if (marker === "P") polygon(plus);
  else polygon(plus.map(([dx, dy]) => [(dx - dy) * Math.SQRT1_2, (dx + dy) * Math.SQRT1_2]));
  return path;
}

/** A piece of the line with its marker, for legends. */
export function swatch({ colour, dash, marker }: Look): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 28 12");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("aria-hidden", "true");
  const shapes: Record<Marker, string> = {
    o: "M18 6a4 4 0 1 1-8 0 4 4 0 0 1 8 0Z",
    s: "M10.5 2.5h7v7h-7Z",
    "^": "M14 1.5 18.3 9.5H9.7Z",
    v: "M14 10.5 18.3 2.5H9.7Z",
    D: "M14 1 19 6 14 11 9 6Z",
    P: "M12.4 1.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2V7.6H9.5V4.4h2.9Z",
    X: "M11.2 1 14 3.8 16.8 1 19 3.2 16.2 6 19 8.8 16.8 11 14 8.2 11.2 11 9 8.8 11.8 6 9 3.2Z",
  };
  svg.innerHTML =
    `<path d="M0 6h28" fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.map((n) => n * 0.6).join(" ")}"/>` +
    `<path d="${shapes[marker]}" fill="${colour}"/>`;
  return svg;
}
