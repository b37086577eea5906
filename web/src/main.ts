/** The bench: what the reader does becomes a scenario, the scenario a run, the run pictures and figures. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Controls } from "./controls";
import { Editor } from "./editor";
import { Engine, Fault, Refusal, type Result } from "./engine";
import { carried, fragment } from "./link";
import { PRESETS } from "./presets";
import { Results } from "./results";
import { headComment } from "./toml";

/** How long a run goes on although another is wanted. */
const PATIENCE_MS = 1500;
/** From when on a run is said to be at work. */
const SOON_MS = 400;

const element = (id: string) => document.getElementById(id)!;

class Bench {
  private wanted: string | null = null;
  private began: number | null = null;
  private text = "";
  private last: Result | null = null;
  private readonly editor: Editor;
  private readonly controls: Controls;
  private readonly results: Results;

  constructor(
    private readonly engine: Engine,
    catalogue: Awaited<ReturnType<Engine["catalogue"]>>,
  ) {
    this.editor = new Editor(element("text") as HTMLTextAreaElement, element("colours"), (text) => this.take(text));
    const edit = (change: (text: string) => string) => this.take(change(this.text));
    const redraw = () => this.last && this.draw(this.last);
    this.controls = new Controls(element("controls"), catalogue, () => this.text, edit, redraw);
    this.results = new Results();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    element("version").textContent = `fullpipe ${catalogue.version} · the engine of the command line, compiled for the browser: the same bits`;
    this.presets();
    this.buttons();
  }

  /** Takes a scenario and runs it. */
  take(text: string): void {
    this.text = text;
    this.editor.text = text;
    element("story").textContent = headComment(text);
    const preset = PRESETS.findIndex((preset) => preset.text === text);
    element("presets").querySelectorAll("button").forEach((button, i) => button.setAttribute("aria-pressed", String(i === preset)));
    this.wanted = text;
    this.address();
    if (this.began === null) void this.work();
    else if (performance.now() - this.began > PATIENCE_MS) this.engine.stop("");
  }

  private async work(): Promise<void> {
    while (this.wanted !== null) {
      const text = this.wanted;
      this.wanted = null;
      this.began = performance.now();
      const soon = setTimeout(() => this.tellAtWork(), SOON_MS);
      try {
        const result = await this.engine.run(text);
        this.last = result;
        this.quiet();
        this.draw(result);
      } catch (error) {
        this.tellProblem(error);
      }
      clearTimeout(soon);
      this.began = null;
    }
  }

  private draw(result: Result): void {
    this.controls.sync(result.view, this.text);
    this.results.draw(result, this.controls.link);
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  private quiet(): void {
    element("notice").hidden = true;
    element("results").classList.remove("stale");
    this.editor.mark(null);
  }

  private tellAtWork(): void {
    const stop = document.createElement("button");
    stop.type = "button";
    stop.textContent = "Stop";
    stop.addEventListener("click", () => this.engine.stop("stopped"));
    this.notice("busy", "Simulating\u2026 ", stop);
  }

  private tellProblem(error: unknown): void {
    if (error instanceof Fault && !error.message) return;
    if (error instanceof Refusal) this.editor.mark(error.problem.line);
    const line = error instanceof Refusal && error.problem.line !== null ? `Line ${error.problem.line}, ` : "";
    this.notice("wrong", `${line}${(error as Error).message}`);
    document.dispatchEvent(new CustomEvent("refused"));
  }

  private notice(kind: string, ...content: (string | Node)[]): void {
    const notice = element("notice");
    notice.className = kind;
    notice.replaceChildren(...content);
    notice.hidden = false;
    element("results").classList.add("stale");
  }

  private presets(): void {
    for (const { title, text } of PRESETS) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = title;
      button.addEventListener("click", () => this.take(text));
      element("presets").append(button);
    }
  }

  private buttons(): void {
    element("copy").addEventListener("click", () => this.copy(this.text, "The scenario is on the clipboard"));
    element("link").addEventListener("click", async () => {
      await this.copy(location.href.split("#")[0] + (await fragment(this.text)), "The link is on the clipboard");
    });
    element("save").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([this.text], { type: "application/toml" }));
      link.download = "scenario.toml";
      link.click();
      URL.revokeObjectURL(link.href);
    });
    addEventListener("hashchange", async () => {
      const text = await carried(location.hash).catch(() => null);
      if (text !== null && text !== this.text) this.take(text);
    });
  }

  private async copy(text: string, done: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch {
      this.say("The browser keeps its clipboard to itself: mark the text and copy it");
    }
  }

  private say(text: string): void {
    const said = element("said");
    said.textContent = text;
    said.classList.add("shown");
    setTimeout(() => said.classList.remove("shown"), 2500);
  }

  private pending = 0;

  /** Keeps the scenario in the address, once it rests. */
  private address(): void {
    clearTimeout(this.pending);
    this.pending = window.setTimeout(async () => history.replaceState(null, "", await fragment(this.text)), 500);
  }
}

/** What to begin with: the address's scenario, the one that was put into the page, or the first preset. */
async function first(): Promise<string> {
  const given = JSON.parse(element("given").textContent ?? "null") as string | null;
  return (await carried(location.hash).catch(() => null)) ?? given ?? PRESETS[0]!.text;
}

async function begin(): Promise<void> {
  const engine = await Engine.load();
  const bench = new Bench(engine, await engine.catalogue());
  bench.take(await first());
  // For the console: `await bench.run(toml)` has the tables of a run, `bench.take(toml)` shows it.
  let second: Engine | null = null;
  const run = async (text: string) => (second ??= await Engine.load()).run(text);
  Object.assign(window, { bench: { run, take: (text: string) => bench.take(text) } });
}

begin().catch((error: unknown) => {
  const notice = element("notice");
  notice.className = "wrong";
  notice.textContent = `This browser cannot run the bench: ${(error as Error).message}`;
  notice.hidden = false;
});
