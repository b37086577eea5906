/** The playground: what the reader does becomes a scenario, the scenario a run, the run pictures and figures. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Controls, MINE } from "./controls";
import { JAVASCRIPT, TOML } from "./colours";
import { Editor } from "./editor";
import { Engine, Refusal, type Result } from "./engine";
import { carried, fragment, type Shown } from "./link";
import { Metrics } from "./metrics";
import { EXAMPLE } from "./own";
import { PRESETS } from "./presets";
import { Results } from "./results";
import { headComment } from "./toml";

/** How long a run goes on although another is wanted. */
const PATIENCE_MS = 1500;
/** From when on a run is said to be at work. */
const SOON_MS = 400;

const element = (id: string) => document.getElementById(id)!;

class Playground {
  private wanted = false;
  private began: number | null = null;
  private text = "";
  private code = EXAMPLE;
  /** Code that came in a link runs when the reader says so. */
  private trusted = true;
  private last: Result | null = null;
  /** A fault of the link that opened the page, until the reader takes another scenario. */
  private linkFault: string | null = null;
  private readonly editor: Editor;
  private readonly own: Editor;
  private readonly controls: Controls;
  private readonly results: Results;

  constructor(
    private readonly engine: Engine,
    catalogue: Awaited<ReturnType<Engine["catalogue"]>>,
  ) {
    this.editor = new Editor(element("text") as HTMLTextAreaElement, element("colours"), TOML, (text) => this.take(text));
    this.own = new Editor(element("code") as HTMLTextAreaElement, element("own-colours"), JAVASCRIPT, (code) => {
      this.code = code;
      this.trusted = true;
      this.take(this.text);
    });
    this.own.text = this.code;
    const edit = (change: (text: string) => string) => this.take(change(this.text));
    const redraw = () => this.last && this.draw(this.last);
    this.controls = new Controls(element("controls"), catalogue, () => this.text, edit, redraw);
    this.results = new Results(new Metrics(catalogue.metrics));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    element("own").addEventListener("toggle", () => (this.own.text = this.code));
    element("version").textContent = `fullpipe ${catalogue.version} · the engine of the command line, compiled for the browser, with identical results`;
    this.presets();
    this.buttons();
  }

  /** Shows what a link carries. */
  show({ text, code }: Shown): void {
    if (code !== null && code !== this.code) {
      this.own.text = this.code = code;
      this.trusted = false;
    }
    this.take(text);
  }

  /** Reports what is wrong with a link. The scenario that is shown stays. */
  refuseLink(error: unknown): void {
    this.linkFault = `${(error as Error).message}. What you see is not from it.`;
    this.notice("wrong", this.linkFault);
    document.dispatchEvent(new CustomEvent("refused"));
  }

  /** Takes a scenario and runs it. */
  take(text: string): void {
    this.linkFault = null;
    this.text = text;
    this.editor.text = text;
    element("story").textContent = headComment(text);
    const preset = PRESETS.findIndex((preset) => preset.text === text);
    element("presets").querySelectorAll("button").forEach((button, i) => button.setAttribute("aria-pressed", String(i === preset)));
    this.address();
    const own = element("own") as HTMLDetailsElement;
    if (this.uses() && !own.open) own.open = true;
    if (this.uses() && !this.trusted) {
      this.askForTrust();
      return;
    }
    this.wanted = true;
    if (this.began === null) void this.work();
    else this.hurry(this.began);
  }

  /** Gives a run up that is still at work when patience is over, although another is wanted. */
  private hurry(began: number): void {
    const late = () => this.wanted && this.began === began && this.engine.giveUp();
    setTimeout(late, PATIENCE_MS - (performance.now() - began));
  }

  /** Whether the scenario has the reader's own algorithm. */
  private uses(): boolean {
    return this.text.includes(`"${MINE}"`);
  }

  private shown(): Shown {
    return { text: this.text, code: this.uses() ? this.code : null };
  }

  private async work(): Promise<void> {
    while (this.wanted) {
      this.wanted = false;
      this.began = performance.now();
      const soon = setTimeout(() => this.tellAtWork(), SOON_MS);
      try {
        const { text, code } = this.shown();
        const result = await this.engine.run(text, code);
        if (result) {
          this.last = result;
          this.quiet();
          this.draw(result);
        }
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
    if (this.linkFault === null) element("notice").hidden = true;
    else this.notice("wrong", this.linkFault);
    element("results").classList.remove("stale");
    this.editor.mark(null);
  }

  private tellAtWork(): void {
    const stop = document.createElement("button");
    stop.type = "button";
    stop.textContent = "Stop";
    stop.addEventListener("click", () => this.engine.stop());
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", "Progress of the run");
    this.engine.progress = (share) => (bar.value = share);
    this.notice("busy", "Simulating\u2026 ", bar, stop);
  }

  private askForTrust(): void {
    const run = document.createElement("button");
    run.type = "button";
    run.textContent = "Run it";
    run.addEventListener("click", () => {
      this.trusted = true;
      this.take(this.text);
    });
    this.notice("busy", "This link contains an algorithm in JavaScript. Read it below the scenario before you run it. It runs in this page only, without the network. ", run);
  }

  private tellProblem(error: unknown): void {
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
      await this.copy(location.href.split("#")[0] + (await fragment(this.shown())), "The link is on the clipboard");
    });
    element("save").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([this.text], { type: "application/toml" }));
      link.download = "scenario.toml";
      link.click();
      URL.revokeObjectURL(link.href);
    });
    addEventListener("hashchange", async () => {
      try {
        const carries = await carried(location.hash);
        if (carries && carries.text !== this.text) this.show(carries);
      } catch (error) {
        this.refuseLink(error);
      }
    });
  }

  private async copy(text: string, done: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch {
      this.say("This browser does not allow the copy: select the text and copy it yourself");
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
    this.pending = window.setTimeout(async () => history.replaceState(null, "", await fragment(this.shown())), 500);
  }
}

/** Shows the scenario of the address, the scenario that was put into the page, or the first preset. */
async function showFirst(playground: Playground): Promise<void> {
  const given = JSON.parse(element("given").textContent ?? "null") as string | null;
  const preset = { text: given ?? PRESETS[0]!.text, code: null };
  try {
    playground.show((await carried(location.hash)) ?? preset);
  } catch (error) {
    playground.show(preset);
    playground.refuseLink(error);
  }
}

async function begin(): Promise<void> {
  const engine = await Engine.load();
  const playground = new Playground(engine, await engine.catalogue());
  await showFirst(playground);
  // For the console: `await playground.run(toml, javascript)` has the tables of a run, `playground.take(toml)` shows it.
  let second: Engine | null = null;
  const run = async (text: string, code: string | null = null) => (second ??= await Engine.load()).run(text, code);
  Object.assign(window, { playground: { run, take: (text: string) => playground.take(text) } });
}

begin().catch((error: unknown) => {
  const notice = element("notice");
  notice.className = "wrong";
  notice.textContent = `This browser cannot run the playground: ${(error as Error).message}`;
  notice.hidden = false;
});
