/** Text in place: a text area over the same text in colors. */

import { coloured } from "./colours";

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
    this.behind.innerHTML = coloured(this.area.value, this.language, this.wrong);
    this.area.style.height = "auto";
    this.area.style.height = `${this.behind.scrollHeight + 2}px`;
    this.area.style.width = "100%";
  }
}
