/** The engine as the page sees it: text in, a result, a problem or a fault out. It works in a worker, one run at a time. */
import compressed from "virtual:engine";
import type { Metric } from "./metrics";
import EngineWorker from "./worker?worker&inline";

/** What a run may hold of memory: phones have little, and the engine says which key is at fault. */
export const MEMORY_BYTES = 512e6;

export interface Asked {
  /** Later ones have greater numbers, and take the place of those before. */
  id: number;
  /** A scenario as TOML; null for the catalogue. */
  text: string | null;
  /** The module of the reader's own algorithm, where the scenario may name it. */
  code: string | null;
  memoryBytes: number;
}

export interface Answer {
  whole: boolean;
  ms: number;
  text: string;
  numbers: Float64Array<ArrayBuffer>;
}

export interface Catalogue {
  version: string;
  algorithms: { name: string; group: string; paper: string }[];
  queues: { name: string; source: string }[];
  metrics: Metric[];
}

export interface Problem {
  key: string;
  what: string;
  line: number | null;
}

export interface LinkView {
  name: string;
  rate_bps: number;
  traced: boolean;
  delay_s: number;
  round_trip_s: number;
  buffer_packets: number | null;
  buffer_bytes: number | null;
  buffer_s: number | null;
  queue: string;
  loss: number | null;
  /** How many changes its schedule has. */
  changes: number;
  /** Where that is one of the rate alone. */
  change: { at_s: number; rate_bps: number } | null;
}

export interface FlowsView {
  name: string;
  algorithm: string;
  count: number;
  ecn: string;
  /** The earliest start of its flows. */
  start_s: number;
  access_s: number;
  path: number[];
  reverse: boolean;
}

/** What the controls show of a scenario. */
export interface View {
  duration_s: number;
  warmup_s: number;
  seed: number;
  packet_bytes: number;
  links: LinkView[];
  flows: FlowsView[];
  other_traffic: boolean;
  warnings: string[];
}

interface Table {
  rows: number;
  text: Record<string, string[]>;
  numbers: Record<string, number>;
}

/** What a run yields; tables and columns are called as in the Python package. */
export class Result {
  readonly view: View;
  readonly totals: { data_packets: number; jain_index: number };
  private readonly tables: Record<string, Table>;

  constructor(
    answer: string,
    private readonly all: Float64Array,
    readonly ms: number,
  ) {
    ({ view: this.view, totals: this.totals, tables: this.tables } = JSON.parse(answer));
  }

  numbers(table: string, column: string): Float64Array {
    const place = this.tables[table]?.numbers[column];
    if (place === undefined) throw new Error(`no column ${table}.${column}`);
    return this.all.subarray(place, place + this.rows(table));
  }

  text(table: string, column: string): string[] {
    return this.tables[table]?.text[column] ?? [];
  }

  rows(table: string): number {
    return this.tables[table]?.rows ?? 0;
  }

  columns(table: string): string[] {
    return Object.keys(this.tables[table]?.numbers ?? {});
  }
}

/** The scenario is wrong. */
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.key ? `${problem.key}: ${problem.what}` : problem.what);
  }
}

/** The run did not end: a trap, or it was stopped. The engine has begun again. */
export class Fault extends Error {}

/** What the worker says of what it was asked: the answer, how far it is, a trap. */
interface Said {
  id: number;
  answer?: Answer;
  share?: number;
  trap?: string;
}

interface Job {
  id: number;
  resolve(answer: Answer | null): void;
  reject(error: Error): void;
}

export class Engine {
  /** Told how far a run is that takes its time. */
  progress: (share: number) => void = () => {};
  private worker: Worker;
  private job: Job | null = null;
  private asked = 0;

  private constructor(private readonly module: WebAssembly.Module) {
    this.worker = this.start();
  }

  static async load(): Promise<Engine> {
    const bytes = Uint8Array.from(atob(compressed), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Engine(await WebAssembly.compile(await new Response(plain).arrayBuffer()));
  }

  async catalogue(): Promise<Catalogue> {
    return JSON.parse((await this.ask(null, null))!.text);
  }

  /** Runs a scenario; null where another has been asked for meanwhile, which takes its place. */
  async run(text: string, code: string | null = null): Promise<Result | null> {
    const answer = await this.ask(text, code);
    if (answer === null) return null;
    if (!answer.whole) throw new Refusal(JSON.parse(answer.text));
    return new Result(answer.text, answer.numbers, answer.ms);
  }

  /** Ends what is at work, whatever it does, for another to take its place. */
  giveUp(): void {
    this.restart()?.resolve(null);
  }

  /** The same for nothing in its place. */
  stop(): void {
    this.end(new Fault("stopped"));
  }

  private ask(text: string | null, code: string | null): Promise<Answer | null> {
    if (this.job) this.giveUp();
    const id = ++this.asked;
    return new Promise((resolve, reject) => {
      this.job = { id, resolve, reject };
      this.worker.postMessage({ id, text, code, memoryBytes: MEMORY_BYTES } satisfies Asked);
    });
  }

  private start(): Worker {
    const worker = new EngineWorker();
    worker.onmessage = ({ data: { id, answer, share, trap } }: MessageEvent<Said>) => {
      if (trap !== undefined) {
        this.end(new Fault(`the engine failed and was started again: ${trap}`));
      } else if (this.job?.id === id && share !== undefined) {
        this.progress(share);
      } else if (this.job?.id === id && answer) {
        const job = this.job;
        this.job = null;
        job.resolve(answer);
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.end(new Fault(`the engine failed and was started again: ${event.message}`));
    };
    worker.postMessage(this.module);
    return worker;
  }

  private end(fault: Fault): void {
    this.restart()?.reject(fault);
  }

  /** A new worker; what the last one was at, if anything. */
  private restart(): Job | null {
    this.worker.terminate();
    this.worker = this.start();
    const job = this.job;
    this.job = null;
    return job;
  }
}
