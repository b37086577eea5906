/** Quantities as scenarios write them and as people read them; expected values by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inUnit, percent, plain, rate, rateText, short, time, timeText } from "../src/format.js";

test("a time is written in the unit in which it is at least 1", () => {
  const texts: [number, string][] = [
    [0, '"0 ms"'],
    [500e-6, '"500 us"'],
    [50e-6, '"50 us"'],
    [1.5e-6, '"1.5 us"'],
    [999e-6, '"999 us"'],
    [1e-3, '"1 ms"'],
    [0.1, '"100 ms"'],
    [0.0395, '"39.5 ms"'],
    [0.999, '"999 ms"'],
    [1, '"1 s"'],
    [100, '"100 s"'],
    [2.5, '"2.5 s"'],
  ];
  for (const [seconds, text] of texts) assert.equal(timeText(seconds), text);
});

test("a rate is written in the unit in which it is at least 1", () => {
  const texts: [number, string][] = [
    [500, '"0.5 kbit/s"'],
    [1e5, '"100 kbit/s"'],
    [1e6, '"1 Mbit/s"'],
    [2.5e8, '"250 Mbit/s"'],
    [1e9, '"1 Gbit/s"'],
    [1e10, '"10 Gbit/s"'],
  ];
  for (const [bps, text] of texts) assert.equal(rateText(bps), text);
});

test("plain numbers lose no zeros before the point", () => {
  for (const [number, text] of [[500, "500"], [10, "10"], [0, "0"], [0.5, "0.5"], [1.25, "1.25"]] as const) {
    assert.equal(plain(number), text);
  }
});

test("times and rates are read with three digits", () => {
  assert.equal(time(0.0123456), "12.3 ms");
  assert.equal(time(0.0999), "99.9 ms");
  assert.equal(time(0.99949), "999 ms");
  assert.equal(time(0.9996), "1 s");
  assert.equal(time(500e-6), "500 µs");
  assert.equal(rate(123_456_789), "123 Mbit/s");
  assert.equal(rate(999_600), "1 Mbit/s");
  assert.equal(percent(0.12345), "12.3 %");
  assert.equal(short(1234.5), "1\u202f235");
  assert.equal(short(0.00012), "1.2·10⁻⁴");
  assert.equal(inUnit(0.05, "s"), "50 ms");
  for (const unknown of [NaN, Infinity]) assert.equal(time(unknown), "–");
});

test("numbers change their notation at the limits of three digits", () => {
  const texts: [number, string][] = [
    [0, "0"],
    [1000, "1\u202f000"],
    [999.4, "999"],
  ];
  for (const [number, text] of texts) assert.equal(short(number), text);
  assert.equal(rate(1), "1 bit/s");
  assert.equal(rate(0.5), "0.5 bit/s");
  assert.equal(rate(999.5), "1 kbit/s");
});
