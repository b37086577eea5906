/** Edits of a scenario's text: all else stays as it is. Expected texts by hand (TOML 1.0). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { add, has, headComment, quoted, remove, set, TOP, value } from "../src/toml.js";

const TEXT = `# A link.
#  Two lines.
duration = "1 s" # long
seed = 1

[[links]]
name = "a" # "b"
schedule = [ # more
  { at = "1 s", rate = "]#" },
]
rate = '1 Mbit/s'

[[links]]
"name" = "c\\"]"

[sweep]
text = """
x = 1
"""
last = 2
`;

test("values are read as they are written", () => {
  const values: [readonly [string, number], string, string | null][] = [
    [TOP, "duration", '"1 s"'],
    [TOP, "seed", "1"],
    [TOP, "name", null],
    [["links", 0], "name", '"a"'],
    [["links", 0], "schedule", '[ # more\n  { at = "1 s", rate = "]#" },\n]'],
    [["links", 0], "rate", "'1 Mbit/s'"],
    [["links", 1], "name", '"c\\"]"'],
    [["links", 2], "name", null],
    [["[sweep]", 0], "text", '"""\nx = 1\n"""'],
    [["[sweep]", 0], "last", "2"],
    [["[sweep]", 0], "x", null],
  ];
  for (const [place, key, text] of values) assert.equal(value(TEXT, place, key), text, `${place} ${key}`);
  assert.ok(has(TEXT, ["links", 1]) && has(TEXT, TOP));
  assert.ok(!has(TEXT, ["links", 2]) && !has(TEXT, ["flows", 0]));
});

test("a value that does not end reaches to the end of its line or text", () => {
  assert.equal(value('a = "x\nb = 1', TOP, "a"), '"x');
  assert.equal(value('a = "x\nb = 1', TOP, "b"), "1");
  assert.equal(value("a = [1,\n2", TOP, "a"), "[1,\n2");
  assert.equal(value('a = """x', TOP, "a"), '"""x');
  assert.equal(value('a = "x\\', TOP, "a"), '"x\\');
  assert.equal(value("a = '\\' # c", TOP, "a"), "'\\'");
});

test("a key is changed, added and removed in its table alone", () => {
  const text = "a = 1 # c\n\n[[t]]\nb = 2\n\n[[t]]\n";
  assert.equal(set(text, TOP, "a", "3"), "a = 3 # c\n\n[[t]]\nb = 2\n\n[[t]]\n");
  assert.equal(set(text, TOP, "x", "3"), "a = 1 # c\nx = 3\n\n[[t]]\nb = 2\n\n[[t]]\n");
  assert.equal(set(text, ["t", 0], "x", "3"), "a = 1 # c\n\n[[t]]\nb = 2\nx = 3\n\n[[t]]\n");
  assert.equal(set(text, ["t", 1], "x", "3"), "a = 1 # c\n\n[[t]]\nb = 2\n\n[[t]]\nx = 3\n");
  assert.equal(set(text, ["t", 0], "b", null), "a = 1 # c\n\n[[t]]\n\n[[t]]\n");
  assert.equal(set(text, TOP, "a", null), "\n[[t]]\nb = 2\n\n[[t]]\n");
  assert.equal(set(text, TOP, "x", null), text);
  assert.equal(set(text, ["t", 2], "b", "3"), text);
  assert.equal(set("[[t]]\n", TOP, "a", "1"), "a = 1\n[[t]]\n");
});

test("tables are added after the last of their name, and removed", () => {
  const text = "a = 1\n\n[[t]]\nb = 2\n\n[[u]]\nc = 3\n";
  assert.equal(add(text, "t", { b: "4" }), "a = 1\n\n[[t]]\nb = 2\n\n[[t]]\nb = 4\n\n[[u]]\nc = 3\n");
  assert.equal(add(text, "v", { d: "4", e: "5" }), `${text.trimEnd()}\n\n[[v]]\nd = 4\ne = 5\n`);
  assert.equal(remove(text, ["t", 0]), "a = 1\n\n[[u]]\nc = 3\n");
  assert.equal(remove(text, ["t", 1]), text);
});

test("the comment at the head is prose", () => {
  assert.equal(headComment(TEXT), "A link.  Two lines.");
  assert.equal(headComment("# only"), "only");
  assert.equal(headComment("a = 1\n# no"), "");
  assert.equal(quoted('a"b'), '"a\\"b"');
});
