declare module "virtual:engine" {
  /** The compiled engine, gzipped, as base64. */
  const engine: string;
  export default engine;
}

declare module "virtual:lessons" {
  export interface Task {
    text: string;
    value: string;
  }

  /** A lesson as `python/fullpipe/lessons` has it. */
  export interface Lesson {
    number: number;
    name: string;
    title: string;
    question: string;
    hint: string;
    answer: string;
    scenario: string;
    phase_plot: boolean;
    tasks: Task[];
  }

  export const LESSONS: readonly Lesson[];
}

/** Address of the hosted page; empty if the build sets none. */
declare const PLAYGROUND_URL: string;
