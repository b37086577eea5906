/** Numbers as people read them, and as scenarios write them. */

const UNKNOWN = "–";

/** Three significant digits, without an exponent where none is needed. */
export function short(x: number): string {
  if (!Number.isFinite(x)) return UNKNOWN;
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-3) return x.toExponential(1).replace("e-", "·10⁻").replace(/⁻(\d+)$/, (_, power: string) => `⁻${raised(power)}`);
  if (size >= 1000) return Math.round(x).toLocaleString("en").replaceAll(",", "\u202f");
  return String(Number(x.toPrecision(3)));
}

function raised(digits: string): string {
  return [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
}

export function rate(bps: number): string {
  return scaled(bps, [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]);
}

export function time(s: number): string {
  return s === 0 ? "0 s" : scaled(s, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${short(100 * share)} %` : UNKNOWN;
}

/** A column's value in the unit that its name ends with. */
export function inUnit(value: number, unit: string): string {
  if (unit === "s") return time(value);
  if (unit === "bps") return rate(value);
  return Number.isFinite(value) ? `${short(value)} ${unit}` : UNKNOWN;
}

function scaled(x: number, units: [number, string][]): string {
  if (!Number.isFinite(x)) return UNKNOWN;
  const [size, unit] = units.find(([size]) => x >= 0.9995 * size) ?? units.at(-1)!;
  return `${short(x / size)} ${unit}`;
}

/** A rate as TOML has it. */
export function rateText(bps: number): string {
  const [size, unit] = bps >= 1e9 ? [1e9, "Gbit/s"] : bps >= 1e6 ? [1e6, "Mbit/s"] : [1e3, "kbit/s"];
  return `"${plain(bps / size)} ${unit}"`;
}

/** A time as TOML has it. */
export function timeText(s: number): string {
  return s >= 1 ? `"${plain(s)} s"` : s >= 1e-3 || s === 0 ? `"${plain(s * 1e3)} ms"` : `"${plain(s * 1e6)} us"`;
}

/** A plain decimal number of up to nine digits. */
export function plain(x: number): string {
  return x.toFixed(9).replace(/\.?0+$/, "");
}
