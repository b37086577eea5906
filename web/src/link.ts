/** A scenario in the page's address, after the `#`: deflated, and in the alphabet of addresses. */

const BEGIN = "#s=";

/** The fragment that carries `text`. */
export async function fragment(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return BEGIN + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text that a fragment carries; null where it carries none. */
export async function carried(fragment: string): Promise<string | null> {
  if (!fragment.startsWith(BEGIN)) return null;
  try {
    const binary = atob(fragment.slice(BEGIN.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    throw new Error("the link is damaged: it carries no scenario");
  }
}

async function through(bytes: Uint8Array<ArrayBuffer>, change: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(change)).arrayBuffer());
}
