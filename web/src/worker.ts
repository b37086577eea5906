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

/** A run is looked after at so many places, and others are heard this often. */
const STEPS = 100;
const HEARING_MS = 40;

let engine: Exports;
const own = new Own(() => engine.memory.buffer);
let latest = 0;
const { port1: bell, port2: ring } = new MessageChannel();

self.onmessage = async ({ data }: MessageEvent<WebAssembly.Module | Asked>) => {
  if (data instanceof WebAssembly.Module) {
    engine = new WebAssembly.Instance(data, { mine: own.imports }).exports as Exports;
    return;
  }
  latest = data.id;
  try {
    const answer = data.text === null ? catalogue() : await run(data);
    if (answer) self.postMessage({ id: data.id, answer }, [answer.numbers.buffer]);
    else self.postMessage({ id: data.id });
  } catch (trap) {
    const said = string(engine.fault_start(), engine.fault_bytes());
    self.postMessage({ id: data.id, trap: said || String((trap as Error).message ?? trap) });
  }
};

function catalogue(): Answer {
  engine.catalogue();
  return { whole: true, ms: 0, text: string(engine.text_start(), engine.text_bytes()), numbers: new Float64Array() };
}

/** Runs a scenario; null where another is wanted meanwhile. */
async function run({ id, text, code, memoryBytes }: Asked): Promise<Answer | null> {
  if (code !== null) {
    const wrong = await own.load(code).then(() => null, String);
    if (wrong !== null) return problem(wrong);
    if (id !== latest) return null;
  }
  const begun = performance.now();
  const bytes = new TextEncoder().encode(text ?? "");
  const place = engine.input(bytes.length);
  new Uint8Array(engine.memory.buffer, place, bytes.length).set(bytes);
  let whole = engine.begin(memoryBytes) !== 0;
  let heard = begun;
  for (let step = 1; whole && step < STEPS; step++) {
    whole = engine.advance(step / STEPS) !== 0;
    if (performance.now() - heard < HEARING_MS) continue;
    await others();
    if (id !== latest) return null;
    self.postMessage({ id, share: step / STEPS });
    heard = performance.now();
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

/** Lets messages in that have come meanwhile. */
function others(): Promise<void> {
  return new Promise((resolve) => {
    bell.onmessage = () => resolve();
    ring.postMessage(null);
  });
}

function string(start: number, bytes: number): string {
  return new TextDecoder().decode(new Uint8Array(engine.memory.buffer, start, bytes));
}
