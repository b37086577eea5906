/** Titles from the registry. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../src/metrics.js";

const metric = (id: string, title: string) => ({ id, title, unit: "s", kind: "percentile", definition: "" });
const metrics = new Metrics([metric("p95_rtt_s", "p95 RTT"), metric("p50_queueing_delay_s", "p50 queueing delay")]);

test("a heading is the title of the registry", () => {
  assert.equal(metrics.title("p95_rtt_s"), "p95 RTT");
  assert.throws(() => metrics.title("rtt"), /no metric rtt/);
});

test("percentiles of one quantity share its name", () => {
  assert.equal(metrics.quantity("p95_rtt_s"), "RTT");
  assert.equal(metrics.quantity("p50_queueing_delay_s"), "Queueing delay");
});
