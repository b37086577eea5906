/** The playground: what the reader does becomes a scenario, the scenario a run, the run pictures and figures. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Controls, MINE } from "./controls";
import { JAVASCRIPT, TOML } from "./colours";
import { Editor } from "./editor";
import { Engine, Refusal, type Result } from "./engine";
import { type Lesson, lesson as lessonOf, LESSONS, showLesson } from "./lessons";
import { carried, embeds, fragment, type Shown } from "./link";
import { Metrics } from "./metrics";
import { EXAMPLE } from "./own";
import { PRESETS } from "./presets";
import { Results } from "./results";
import { headComment, set, TOP } from "./toml";

/** How long a run goes on although another is wanted. */
const PATIENCE_MS = 1500;
/** Samples of the part that the panels show after a zoom, and of all flows and links over the run. */
const SAMPLES_SHOWN = 1000;
const SAMPLES_OF_RUN = 200_000;
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
  private lesson: Lesson | null = null;
  private readonly embedded = embeds(location.hash);
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
    this.results = new Results(new Metrics(catalogue.metrics), () => void this.resample());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    element("own").addEventListener("toggle", () => (this.own.text = this.code));
    element("version").textContent = `fullpipe ${catalogue.version} · the engine of the command line, compiled for the browser, with identical results`;
    document.body.classList.toggle("embedded", this.embedded);
    this.choices();
    this.buttons();
  }

  /** Shows what a link carries. */
  show({ text, code, lesson }: Shown): void {
    const found = lesson === null ? null : lessonOf(lesson);
    if (found === undefined) throw new Error(`The link names an unknown lesson, "${lesson}"`);
    if (code !== null && code !== this.code) {
      this.own.text = this.code = code;
      this.trusted = false;
    }
    this.open(found);
    this.take(text ?? found?.scenario ?? PRESETS[0]!.text);
  }

  /** Opens a lesson; null closes it. */
  private open(lesson: Lesson | null): void {
    this.lesson = lesson;
    const place = element("lesson");
    place.hidden = lesson === null;
    element("lessons").querySelectorAll("button").forEach((button, i) => button.setAttribute("aria-pressed", String(LESSONS[i] === lesson)));
    (element("phase") as HTMLDetailsElement).open = lesson?.phase_plot ?? false;
    if (lesson) showLesson(place, lesson, () => this.take(lesson.scenario));
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
    element("story").hidden = this.lesson !== null;
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
    const text = this.text === this.lesson?.scenario ? null : this.text;
    return { text, code: this.uses() ? this.code : null, lesson: this.lesson?.name ?? null };
  }

  private async work(): Promise<void> {
    while (this.wanted) {
      this.wanted = false;
      this.began = performance.now();
      const soon = setTimeout(() => this.tellAtWork(), SOON_MS);
      try {
        const result = await this.engine.run(this.text, this.shown().code);
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
    if (this.results.zoom !== null) setTimeout(() => void this.resample());
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  /** Runs the scenario again with more samples where the panels show a part of the run. */
  private async resample(): Promise<void> {
    const [last, zoom] = [this.last, this.results.zoom];
    if (!last || this.began !== null) return;
    if (zoom === null) {
      this.results.sampled(last, this.controls.link);
      return;
    }
    const { view } = last;
    const lines = view.links.length + view.flows.reduce((sum, { count }) => sum + count, 0);
    const interval_s = Math.max((zoom[1] - zoom[0]) / SAMPLES_SHOWN, (view.duration_s * lines) / SAMPLES_OF_RUN, 1e-6);
    const finer = set(this.text, TOP, "series_interval", `"${Math.ceil(interval_s * 1e6)} us"`);
    try {
      const result = await this.engine.run(finer, this.shown().code);
      if (!result || this.last !== last || this.results.zoom !== zoom || this.began !== null) return;
      this.results.sampled(result, this.controls.link);
      document.dispatchEvent(new CustomEvent("resampled"));
    } catch {
      // The samples that are drawn stay.
    }
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

  private choices(): void {
    const add = (place: string, title: string, chosen: () => void) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: title });
      button.addEventListener("click", chosen);
      element(place).append(button);
    };
    for (const { title, text } of PRESETS) {
      add("presets", title, () => {
        this.open(null);
        this.take(text);
      });
    }
    for (const lesson of LESSONS) {
      add("lessons", `${lesson.number} ${lesson.title}`, () => {
        this.open(lesson);
        this.take(lesson.scenario);
      });
    }
  }

  private buttons(): void {
    const whole = element("whole");
    whole.hidden = !this.embedded;
    whole.querySelector("a")!.addEventListener("click", async (event) => {
      event.preventDefault();
      const address = await this.link(false);
      open(address, "_blank", "noopener");
    });
    element("copy").addEventListener("click", () => this.copy(this.text, "The scenario is on the clipboard"));
    element("link").addEventListener("click", async () => {
      await this.copy(await this.link(false), `The link is on the clipboard${this.warning()}`);
    });
    element("embed").addEventListener("click", async () => {
      const frame = `<iframe src="${await this.link(true)}" title="fullpipe playground" width="100%" height="760" style="border: 0"></iframe>`;
      await this.copy(frame, `The code of a frame is on the clipboard${this.warning()}`);
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
        const { text, lesson } = this.shown();
        if (carries && (carries.text !== text || carries.lesson !== lesson)) this.show(carries);
      } catch (error) {
        this.refuseLink(error);
      }
    });
  }

  /** Address of the page that is shown: its own, or the hosted page if this one is a file on a disk. */
  private async link(embedded: boolean): Promise<string> {
    const base = location.protocol === "file:" && PLAYGROUND_URL ? PLAYGROUND_URL : location.href.split("#")[0];
    return base + (await fragment(this.shown(), embedded));
  }

  /** Warning about links to a file on a disk. */
  private warning(): string {
    if (location.protocol !== "file:") return "";
    return PLAYGROUND_URL ? `. It opens ${PLAYGROUND_URL}` : ". It works on this computer only, because this page is a file: put the page on a web server first";
  }

  private async copy(text: string, done: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch {
      this.say(copyBySelection(text) ? done : "This browser does not allow the copy: copy the address of the page, or the text of the scenario");
    }
  }

  private silence = 0;

  private say(text: string): void {
    const said = element("said");
    said.textContent = text;
    said.classList.add("shown");
    clearTimeout(this.silence);
    this.silence = window.setTimeout(() => said.classList.remove("shown"), text.length > 60 ? 8000 : 2500);
  }

  private pending = 0;

  /** Keeps the scenario in the address, once it rests. */
  private address(): void {
    clearTimeout(this.pending);
    this.pending = window.setTimeout(async () => history.replaceState(null, "", await fragment(this.shown(), this.embedded)), 500);
  }
}

/** Shows the scenario of the address, the scenario that was put into the page, or the first preset. */
async function showFirst(playground: Playground): Promise<void> {
  const given = JSON.parse(element("given").textContent ?? "null") as string | null;
  const preset = { text: given ?? PRESETS[0]!.text, code: null, lesson: null };
  try {
    playground.show((await carried(location.hash)) ?? preset);
  } catch (error) {
    playground.show(preset);
    playground.refuseLink(error);
  }
}

/** Copies by a selection, which pages without encryption may do. */
function copyBySelection(text: string): boolean {
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
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
