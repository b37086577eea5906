/** The engine at work, beside the page. */
import type { Answer, Asked } from "./engine";

interface Exports extends WebAssembly.Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  run(memoryBytes: number): number;
  catalogue(): void;
  text_start(): number;
  text_bytes(): number;
  numbers_start(): number;
  numbers_count(): number;
  fault_start(): number;
  fault_bytes(): number;
}

declare const self: DedicatedWorkerGlobalScope;

let engine: Exports;

self.onmessage = ({ data }: MessageEvent<WebAssembly.Module | Asked>) => {
  if (data instanceof WebAssembly.Module) {
    engine = new WebAssembly.Instance(data, {}).exports as Exports;
    return;
  }
  try {
    const answer = data.text === null ? catalogue() : run(data.text, data.memoryBytes);
    self.postMessage(answer, [answer.numbers.buffer]);
  } catch (trap) {
    const said = string(engine.fault_start(), engine.fault_bytes());
    self.postMessage({ trap: said || String((trap as Error).message ?? trap) });
  }
};

function catalogue(): Answer {
  engine.catalogue();
  return { whole: true, ms: 0, text: string(engine.text_start(), engine.text_bytes()), numbers: new Float64Array() };
}

function run(scenario: string, memoryBytes: number): Answer {
  const begun = performance.now();
  const bytes = new TextEncoder().encode(scenario);
  const place = engine.input(bytes.length);
  new Uint8Array(engine.memory.buffer, place, bytes.length).set(bytes);
  const whole = engine.run(memoryBytes) !== 0;
  const ms = performance.now() - begun;
  const text = string(engine.text_start(), engine.text_bytes());
  const numbers = new Float64Array(engine.memory.buffer, engine.numbers_start(), engine.numbers_count()).slice();
  return { whole, ms, text, numbers };
}

function string(start: number, bytes: number): string {
  return new TextDecoder().decode(new Uint8Array(engine.memory.buffer, start, bytes));
}
