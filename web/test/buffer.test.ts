/** Buffers in each of their units; expected values by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bufferPackets } from "../src/buffer.js";

const none = { buffer_packets: null, buffer_bytes: null, buffer_s: null, rate_bps: 10_000_000 };

test("a buffer in time holds what the link sends in that time", () => {
  // 10 Mbit/s send 625 bytes in 500 us: half a packet of 1250 bytes. In 40 ms they send 50,000 bytes.
  assert.equal(bufferPackets({ ...none, buffer_s: 500e-6 }, 1250), 0.5);
  assert.equal(bufferPackets({ ...none, buffer_s: 0.04 }, 1000), 50);
});

test("a buffer in packets or bytes does not depend on the rate", () => {
  assert.equal(bufferPackets({ ...none, buffer_packets: 7 }, 1000), 7);
  assert.equal(bufferPackets({ ...none, buffer_bytes: 4500 }, 1500), 3);
  assert.equal(bufferPackets({ ...none, buffer_bytes: 0 }, 1500), 0);
});

test("a buffer without a limit is infinite", () => {
  assert.equal(bufferPackets(none, 1000), Infinity);
});
