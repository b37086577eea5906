/** Colors of text: the words of a language, as HTML. */

/** The words of a language: a group for each of comment, string, table, key and number. */
export const TOML =
  /(#.*)|("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)|(^[ \t]*\[\[?.*?\]\]?)(?=[ \t]*(?:#|$))|(^[ \t]*[\w-]+)(?=[ \t]*=)|(\b\d[\d_.eE+-]*\b|\btrue\b|\bfalse\b)/gm;
export const JAVASCRIPT =
  /(\/\/.*)|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(\b(?:export|default|class|constructor|return|if|else|for|while|const|let|new|this|static)\b)|(\bon[A-Z]\w+)|(\b\d[\d_.eE]*\b)/gm;
const KINDS = ["comment", "string", "table", "key", "number"];


/** Characters that are colored, at most. A longer text is shown in one color: each edit would take seconds. */
export const MOST_COLOURED = 200_000;

/** The text as HTML, with its words in bold by kind, and a marked line (counted from 1). The time grows with the length alone. */
export function coloured(text: string, language: RegExp, wrong: number | null): string {
  const lines =
    text.length > MOST_COLOURED
      ? text
      : text.replace(language, (token, ...groups: (string | undefined)[]) => {
          const kind = KINDS[groups.findIndex((group) => group !== undefined)];
          return `\u0001${kind}\u0002${token}\u0003`;
        });
  const html = lines
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replace(/\u0001(\w+)\u0002/g, '<b class="$1">')
    .replaceAll("\u0003", "</b>")
    .split("\n")
    .map((line, i) => (i + 1 === wrong ? `<mark>${line || " "}</mark>` : line));
  return `${html.join("\n")}\n`;
}
