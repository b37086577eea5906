/** Size of a link's buffer. */
import type { LinkView } from "./engine";

type Buffer = Pick<LinkView, "buffer_packets" | "buffer_bytes" | "buffer_s" | "rate_bps">;

/** Buffer in packets of the scenario's size, however the scenario gives it; infinite without a limit. */
export function bufferPackets(link: Buffer, packetBytes: number): number {
  const { buffer_packets, buffer_bytes, buffer_s, rate_bps } = link;
  if (buffer_packets !== null) return buffer_packets;
  const bytes = buffer_bytes ?? (buffer_s === null ? Infinity : (buffer_s * rate_bps) / 8);
  return bytes / packetBytes;
}
