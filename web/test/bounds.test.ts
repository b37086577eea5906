/** Text and links of strangers: the time and memory that they take are bounded, and what is wrong is reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { coloured, JAVASCRIPT, MOST_COLOURED, TOML } from "../src/colours.js";
import { carried, embeds, fragment, MOST_BYTES } from "../src/link.js";
import { has, value } from "../src/toml.js";

const packed = (text: string) => deflateRawSync(text).toString("base64url");

/** Processor time of the work, in units of that for a text of a thousand lines. */
function costs(work: (lines: number) => void): number {
  const seconds = (lines: number) => {
    const begun = process.cpuUsage();
    work(lines);
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  };
  work(1000);
  const unit = Math.max(1, ...[1, 2, 3].map(() => seconds(1000)));
  return seconds(60_000) / unit;
}

test("time to color a text grows with its length alone", () => {
  const shapes: [RegExp, string][] = [
    [TOML, "\n"],
    [TOML, " "],
    [TOML, "[] "],
    [TOML, "["],
    [TOML, "a-"],
    [TOML, "\"\\"],
    [TOML, "1e+"],
    [JAVASCRIPT, "\n"],
    [JAVASCRIPT, "1e."],
    [JAVASCRIPT, "/"],
  ];
  for (const [language, shape] of shapes) {
    // 60 times the length: quadratic work costs 3,600 times as much.
    const factor = costs((count) => coloured(shape.repeat(count), language, null));
    assert.ok(factor < 1000, `${JSON.stringify(shape)}: ${factor}`);
  }
});

test("time to look for a table grows with the length of a line alone", () => {
  const factor = costs((count) => has(`[${" ".repeat(count)}x`, ["x", 0]));
  assert.ok(factor < 1000, String(factor));
  assert.equal(value("[ x ]\na = 1", ["[x ]", 0], "a"), "1");
});

test("words have their colors, and a long text has none", () => {
  const html = coloured('# c\n[[links]]\nrate = "1 Mbit/s" # r\nseed = 7', TOML, 3);
  assert.equal(
    html,
    '<b class="comment"># c</b>\n<b class="table">[[links]]</b>\n' +
      '<mark><b class="key">rate</b> = <b class="string">"1 Mbit/s"</b> <b class="comment"># r</b></mark>\n' +
      '<b class="key">seed</b> = <b class="number">7</b>\n',
  );
  assert.equal(coloured("  rate = 1", TOML, null), '<b class="key">  rate</b> = <b class="number">1</b>\n');
  assert.equal(coloured("<&", TOML, null), "&lt;&amp;\n");
  const most = "1 ".repeat(MOST_COLOURED / 2);
  assert.notEqual(coloured(most, TOML, null), `${most}\n`);
  const long = `${most} `;
  assert.equal(coloured(long, TOML, null), `${long}\n`);
});

test("a link carries what was put into it", async () => {
  for (const shown of [{ text: "duration = \"1 s\" # ä\n", code: null, lesson: null }, { text: "x", code: "class {}", lesson: "l4s" }, { text: null, code: null, lesson: "l4s" }]) {
    assert.deepEqual(await carried(await fragment(shown)), shown);
    assert.ok(embeds(await fragment(shown, true)) && !embeds(await fragment(shown)));
    assert.deepEqual(await carried(await fragment(shown, true)), shown);
  }
  assert.equal(await carried(""), null);
  assert.equal(await carried("#other=1"), null);
  const most = "x".repeat(MOST_BYTES);
  assert.deepEqual(await carried(`#s=${packed(most)}`), { text: most, code: null, lesson: null });
});

test("a link that inflates to more than the page shows is refused", async () => {
  const large = packed("x".repeat(200_000_000));
  assert.ok(large.length < 270_000);
  const why = { message: "The link carries more than 1 MB, which is too much for this page" };
  const begun = process.memoryUsage().rss;
  await assert.rejects(carried(`#s=${large}`), why);
  await assert.rejects(carried(`#s=${packed("x")}&js=${large}`), why);
  assert.ok(process.memoryUsage().rss - begun < 100e6);
});

test("a damaged link is refused", async () => {
  const why = { message: "The link is damaged: it carries no scenario" };
  const whole = packed("duration = \"1 s\"\n".repeat(20));
  for (const damaged of ["", "%%%", "AAAA", whole.slice(0, 20)]) await assert.rejects(carried(`#s=${damaged}`), why);
  await assert.rejects(carried(`#s=${deflateRawSync(Buffer.from([0xff, 0xfe])).toString("base64url")}`), why);
});
