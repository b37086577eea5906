/** Edits of a scenario's text that leave all else as it is: comments, order, spaces. */

interface Pair {
  key: string;
  /** Where the value begins and ends. */
  from: number;
  to: number;
  /** Where the statement begins, and where its line ends. */
  start: number;
  end: number;
}

interface Part {
  /** The name of a `[[name]]` table; "" for what stands before the first. */
  name: string;
  start: number;
  /** Where its last statement ends. */
  end: number;
  pairs: Pair[];
}

/** The keys before any table: `place` of those. */
export const TOP: Place = ["", 0];

/** A table by its name and its place among those of that name. */
export type Place = readonly [name: string, index: number];

/** Whether the text has such a table. */
export function has(text: string, place: Place): boolean {
  return find(parts(text), place) !== undefined;
}

/** The value of a key as it is written, without its comment; null where it is absent. */
export function value(text: string, place: Place, key: string): string | null {
  const pair = find(parts(text), place)?.pairs.find((pair) => pair.key === key);
  return pair ? text.slice(pair.from, pair.to) : null;
}

/** The text with `key = value` in a table; with null, without the key. */
export function set(text: string, place: Place, key: string, value: string | null): string {
  const part = find(parts(text), place);
  if (!part) return text;
  const pair = part.pairs.find((pair) => pair.key === key);
  if (pair) {
    return value === null
      ? text.slice(0, pair.start) + text.slice(pair.end).replace(/^\n/, "")
      : text.slice(0, pair.from) + value + text.slice(pair.to);
  }
  if (value === null) return text;
  const at = part.pairs.at(-1)?.end ?? part.end;
  const line = `${key} = ${value}`;
  return at === 0 ? `${line}\n${text}` : `${text.slice(0, at)}\n${line}${text.slice(at)}`;
}

/** The text with one table more, after the last of its name. */
export function add(text: string, name: string, pairs: Record<string, string>): string {
  const all = parts(text);
  const last = all.findLast((part) => part.name === name) ?? all.at(-1);
  const at = last?.end ?? text.length;
  const lines = Object.entries(pairs).map(([key, value]) => `${key} = ${value}`);
  const rest = text.slice(at);
  return `${text.slice(0, at)}\n\n[[${name}]]\n${lines.join("\n")}${rest.startsWith("\n") ? "" : "\n"}${rest}`;
}

/** The text without a table. */
export function remove(text: string, place: Place): string {
  const part = find(parts(text), place);
  if (!part) return text;
  return `${text.slice(0, part.start).trimEnd()}\n${text.slice(part.end).replace(/^\n/, "")}`;
}

/** The comment at the head, as prose. */
export function headComment(text: string): string {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("#"));
  const head = end < 0 ? lines : lines.slice(0, end);
  return head.map((line) => line.replace(/^#\s?/, "")).join(" ").trim();
}

/** Text as TOML writes it. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

function find(all: Part[], [name, index]: Place): Part | undefined {
  return all.filter((part) => part.name === name)[index];
}

function parts(text: string): Part[] {
  const all: Part[] = [{ name: "", start: 0, end: 0, pairs: [] }];
  for (let at = 0; at < text.length; ) {
    const start = at;
    const line = lineEnd(text, at);
    const first = text.slice(at, line).trim();
    const header = /^\[\[\s*([A-Za-z0-9_-]+)\s*\]\]/.exec(first) ?? /^\[([^\]]*)\]/.exec(first);
    const pair = /^\s*([A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')\s*=\s*/.exec(text.slice(at, line));
    const part = all[all.length - 1]!;
    if (header) {
      all.push({ name: first.startsWith("[[") ? header[1]! : `[${header[1]!.trimStart()}]`, start, end: line, pairs: [] });
      at = line + 1;
    } else if (pair) {
      const from = at + pair[0].length;
      const to = valueEnd(text, from);
      const end = lineEnd(text, to);
      part.pairs.push({ key: pair[1]!.replace(/^["']|["']$/g, ""), from, to, start, end });
      part.end = end;
      at = end + 1;
    } else {
      at = line + 1;
    }
  }
  return all;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** Where a value ends that begins at `from`: brackets may span lines, strings and comments may hold brackets. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  let last = from;
  for (let at = from; at < text.length; ) {
    const c = text[at]!;
    if (c === '"' || c === "'") {
      at = last = stringEnd(text, at);
    } else if (c === "#") {
      if (depth === 0) return last;
      at = lineEnd(text, at);
    } else if (c === "\n" && depth === 0) {
      return last;
    } else {
      depth += "[{".includes(c) ? 1 : "]}".includes(c) ? -1 : 0;
      at += 1;
      if (c.trim()) last = at;
    }
  }
  return last;
}

function stringEnd(text: string, from: number): number {
  const quote = text[from]!;
  const triple = quote.repeat(3);
  if (text.startsWith(triple, from)) {
    const end = text.indexOf(triple, from + 3);
    return end < 0 ? text.length : end + 3;
  }
  let at = from + 1;
  while (at < text.length && text[at] !== quote && text[at] !== "\n") at += quote === '"' && text[at] === "\\" ? 2 : 1;
  return Math.min(text[at] === quote ? at + 1 : at, text.length);
}
