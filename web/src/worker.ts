/** The engine at work, beside the page. */
import type { Answer, Asked } from "./engine";
import { Own } from "./own";

interface Exports extends WebAssembly.Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  begin(memoryBytes: number): number;
  advance(share: number): number;
  finish(): number;
  catalogue(): void;
  text_start(): number;
  text_bytes(): number;
  numbers_start(): number;
  numbers_count(): number;
  fault_start(): number;
  fault_bytes(): number;
}

declare const self: DedicatedWorkerGlobalScope;

/** A run is looked after at so many places, and said to be there this often. */
const STEPS = 100;
const TELLING_MS = 40;

let engine: Exports;
const own = new Own(() => engine.memory.buffer);

self.onmessage = async ({ data }: MessageEvent<WebAssembly.Module | Asked>) => {
  if (data instanceof WebAssembly.Module) {
    engine = new WebAssembly.Instance(data, { mine: own.imports }).exports as Exports;
    return;
  }
  try {
    const answer = data.text === null ? catalogue() : await run(data);
    self.postMessage({ id: data.id, answer }, [answer.numbers.buffer]);
  } catch (trap) {
    const said = string(engine.fault_start(), engine.fault_bytes());
    // Without a message from the engine, memory ran out.
    const what = String((trap as Error).message ?? trap);
    self.postMessage({ id: data.id, trap: said || (what === "unreachable" ? "memory ran out" : what) });
  }
};

function catalogue(): Answer {
  engine.catalogue();
  return { whole: true, ms: 0, text: string(engine.text_start(), engine.text_bytes()), numbers: new Float64Array() };
}

/** Runs a scenario. */
async function run({ id, text, code, memoryBytes }: Asked): Promise<Answer> {
  if (code !== null) {
    const wrong = await own.load(code).then(() => null, String);
    if (wrong !== null) return problem(wrong);
  }
  const begun = performance.now();
  const bytes = new TextEncoder().encode(text ?? "");
  const place = engine.input(bytes.length);
  new Uint8Array(engine.memory.buffer, place, bytes.length).set(bytes);
  let whole = engine.begin(memoryBytes) !== 0;
  let told = begun;
  for (let step = 1; whole && step < STEPS; step++) {
    whole = engine.advance(step / STEPS) !== 0;
    if (performance.now() - told < TELLING_MS) continue;
    self.postMessage({ id, share: step / STEPS });
    told = performance.now();
  }
  whole &&= engine.finish() !== 0;
  const ms = performance.now() - begun;
  if (own.thrown !== null) return problem(`your algorithm: ${String(own.thrown)}`);
  const numbers = new Float64Array(engine.memory.buffer, engine.numbers_start(), whole ? engine.numbers_count() : 0).slice();
  return { whole, ms, text: string(engine.text_start(), engine.text_bytes()), numbers };
}

function problem(what: string): Answer {
  return { whole: false, ms: 0, text: JSON.stringify({ key: "", what, line: null }), numbers: new Float64Array() };
}

function string(start: number, bytes: number): string {
  return new TextDecoder().decode(new Uint8Array(engine.memory.buffer, start, bytes));
}
