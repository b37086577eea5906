/** What the page shows, in its address after the `#`: deflated, and in the alphabet of addresses. */

export interface Shown {
  /** The scenario; null for the one of the lesson. */
  text: string | null;
  /** The reader's own algorithm, where the scenario has it. */
  code: string | null;
  /** Name of the lesson, if one is open. */
  lesson: string | null;
}

/** Bytes of a scenario, or of an algorithm, that a link carries, at most. A few bytes of a link can stand for gigabytes. */
export const MOST_BYTES = 1_000_000;

/** A link carries more than the page shows. */
class TooLong extends Error {}

/** The fragment that carries it. */
export async function fragment({ text, code, lesson }: Shown, embedded = false): Promise<string> {
  const fields = embedded ? ["embed"] : [];
  if (lesson !== null) fields.push(`lesson=${lesson}`);
  if (text !== null) fields.push(`s=${await packed(text)}`);
  if (code !== null) fields.push(`js=${await packed(code)}`);
  return `#${fields.join("&")}`;
}

/** Whether a fragment asks for the page without controls, as a part of another page. */
export function embeds(fragment: string): boolean {
  return fieldsOf(fragment).has("embed");
}

/** What a fragment carries; null where it carries none. */
export async function carried(fragment: string): Promise<Shown | null> {
  const fields = fieldsOf(fragment);
  const [text, code, lesson] = [fields.get("s"), fields.get("js"), fields.get("lesson")];
  if (text === null) return lesson === null ? null : { text: null, code: null, lesson };
  try {
    return { text: await unpacked(text), code: code === null ? null : await unpacked(code), lesson };
  } catch (error) {
    if (error instanceof TooLong) throw error;
    throw new Error("The link is damaged: it carries no scenario");
  }
}

function fieldsOf(fragment: string): URLSearchParams {
  return new URLSearchParams(fragment.replace(/^#/, ""));
}

async function packed(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(text: string): Promise<string> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const plain = await through(bytes, new DecompressionStream("deflate-raw"), MOST_BYTES);
  return new TextDecoder("utf-8", { fatal: true }).decode(plain);
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  change: CompressionStream | DecompressionStream,
  most = Infinity,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(change).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > most) {
      reader.cancel().catch(() => {});
      throw new TooLong(`The link carries more than ${most / 1e6} MB, which is too much for this page`);
    }
    parts.push(next.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
