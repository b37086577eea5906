/** Lessons: each has a scenario, a question, tasks, a hint, and an answer. */
import { LESSONS, type Lesson } from "virtual:lessons";

export { LESSONS, type Lesson };

/** The lesson of that name. */
export function lesson(name: string): Lesson | undefined {
  return LESSONS.find((lesson) => lesson.name === name);
}

/** Shows a lesson: question and tasks, with the hint and the answer behind buttons. */
export function showLesson(place: HTMLElement, { number, title, question, tasks, hint, answer }: Lesson, restart: () => void): void {
  const again = Object.assign(document.createElement("button"), { type: "button", textContent: "Start again" });
  again.addEventListener("click", restart);
  const heading = Object.assign(document.createElement("h2"), { textContent: `Lesson ${number}: ${title}` });
  const list = document.createElement("ol");
  list.append(...tasks.map(({ text }) => Object.assign(document.createElement("li"), { textContent: text })));
  const values = document.createElement("ol");
  values.append(...tasks.map(({ value }) => Object.assign(document.createElement("li"), { textContent: value })));
  place.replaceChildren(heading, again, ...paragraphs(question), list, hidden("Hint", paragraphs(hint)), hidden("Answer", [values, ...paragraphs(answer)]));
}

/** Text with a summary that opens it. */
function hidden(summary: string, content: HTMLElement[]): HTMLDetailsElement {
  const details = document.createElement("details");
  details.append(Object.assign(document.createElement("summary"), { textContent: summary }), ...content);
  return details;
}

function paragraphs(text: string): HTMLElement[] {
  return text.trim().split(/\n\n+/).map((textContent) => Object.assign(document.createElement("p"), { textContent }));
}
