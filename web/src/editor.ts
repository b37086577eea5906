/** Text in place: a text area over the same text in colours. */

/** The words of a language: a group for each of comment, string, table, key and number. */
export const TOML =
  /(#.*)|("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)|(^\s*\[\[?.*?\]\]?)(?=\s*(?:#|$))|(^\s*[\w-]+)(?=\s*=)|(\b\d[\d_.eE+-]*\b|\btrue\b|\bfalse\b)/gm;
export const JAVASCRIPT =
  /(\/\/.*)|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(\b(?:export|default|class|constructor|return|if|else|for|while|const|let|new|this|static)\b)|(\bon[A-Z]\w+)|(\b\d[\d_.eE]*\b)/gm;
const KINDS = ["comment", "string", "table", "key", "number"];

export class Editor {
  private wrong: number | null = null;

  constructor(
    private readonly area: HTMLTextAreaElement,
    private readonly behind: HTMLElement,
    private readonly language: RegExp,
    changed: (text: string) => void,
  ) {
    area.addEventListener("input", () => {
      this.wrong = null;
      this.colour();
      changed(area.value);
    });
  }

  set text(text: string) {
    this.wrong = null;
    if (this.area.value !== text) this.area.value = text;
    this.colour();
  }

  get text(): string {
    return this.area.value;
  }

  /** Marks a line, counted from 1. */
  mark(line: number | null): void {
    this.wrong = line;
    this.area.setAttribute("aria-invalid", String(line !== null));
    this.colour();
  }

  private colour(): void {
    const lines = this.area.value.replace(this.language, (token, ...groups: (string | undefined)[]) => {
      const kind = KINDS[groups.findIndex((group) => group !== undefined)];
      return `\u0001${kind}\u0002${token}\u0003`;
    });
    const html = lines
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replace(/\u0001(\w+)\u0002/g, '<b class="$1">')
      .replaceAll("\u0003", "</b>")
      .split("\n")
      .map((line, i) => (i + 1 === this.wrong ? `<mark>${line || " "}</mark>` : line));
    this.behind.innerHTML = `${html.join("\n")}\n`;
    this.area.style.height = "auto";
    this.area.style.height = `${this.behind.scrollHeight + 2}px`;
    this.area.style.width = "100%";
  }
}
