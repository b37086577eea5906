/** What the page shows, in its address after the `#`: deflated, and in the alphabet of addresses. */

export interface Shown {
  /** The scenario. */
  text: string;
  /** The reader's own algorithm, where the scenario has it. */
  code: string | null;
}

/** The fragment that carries it. */
export async function fragment({ text, code }: Shown): Promise<string> {
  return `#s=${await packed(text)}${code === null ? "" : `&js=${await packed(code)}`}`;
}

/** What a fragment carries; null where it carries none. */
export async function carried(fragment: string): Promise<Shown | null> {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const [text, code] = [fields.get("s"), fields.get("js")];
  if (text === null) return null;
  try {
    return { text: await unpacked(text), code: code === null ? null : await unpacked(code) };
  } catch {
    throw new Error("the link is damaged: what it carries is no scenario");
  }
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
  return new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

async function through(bytes: Uint8Array<ArrayBuffer>, change: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(change)).arrayBuffer());
}
