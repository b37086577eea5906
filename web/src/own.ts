/** The reader's own algorithm: a class in JavaScript, which the engine calls "mine". This side of `crates/wasm/src/own.rs`. */

/** A sender's state after the event; times in seconds, NaN where unknown. */
interface Flow {
  now: number;
  delivered: number;
  lost: number;
  flightSize: number;
  inFlight: number;
  srtt: number;
  minRtt: number;
  round: number;
  inRecovery: boolean;
  cwndLimited: boolean;
  appLimited: boolean;
}

interface Ack {
  acked: number;
  credit: number;
  roundStart: boolean;
  rtt: number;
  newlyLost: number;
  ce: number;
}

/** A packet at the time it was sent; bytes, and nanoseconds on the flow's clock. */
interface Sent {
  number: number;
  bytes: number;
  sentAt: number;
  inFlight: number;
  delivered: number;
  lost: number;
  deliveredAt: number;
  firstSentAt: number;
  appLimited: boolean;
  isProbe: boolean;
  ecn: number;
}

/** A packet that was found lost. */
interface Lost extends Sent {
  by: string;
  lostSinceSent: number;
  deliveredSinceSent: number;
}

/** What a class has to have; windows in segments, the rate in segments a second. */
interface Mine {
  cwnd: number;
  ssthresh?: number;
  pacingRate?: number;
  onAck(flow: Flow, ack: Ack): void;
  onCongestion(flow: Flow, signal: string): void;
  onRecovered?(flow: Flow): void;
  onUndo?(cwnd: number, ssthresh: number): void;
  onSent?(flow: Flow, sent: Sent): void;
  onLost?(flow: Flow, lost: Lost): void;
}

type Class = new (start: { window: number; rtt: number; segmentBytes: number }) => Mine;

const SIGNALS = ["loss", "ecn", "timeout"];
const LOST_BY = ["packetThreshold", "timeThreshold"];
const TOLD = 3;

export class Own {
  /** What the class threw. */
  thrown: unknown = null;
  private objects = new Map<number, Mine>();
  private type: Class | null = null;
  private code = "";
  private row = new Float64Array();
  private readonly flow = {} as Flow;
  private readonly ack = {} as Ack;
  private readonly sent = {} as Sent;
  private readonly lost = {} as Lost;

  constructor(private readonly memory: () => ArrayBuffer) {}

  /** Takes the class that `code`, a module, exports. */
  async load(code: string): Promise<void> {
    this.objects.clear();
    this.thrown = null;
    if (code === this.code) return;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    try {
      const { default: type } = (await import(/* @vite-ignore */ url)) as { default?: Class };
      if (typeof type?.prototype?.onAck !== "function" || typeof type.prototype.onCongestion !== "function") {
        throw new Error("it exports no class with onAck and onCongestion; begin with: export default class");
      }
      this.type = type;
      this.code = code;
    } finally {
      URL.revokeObjectURL(url);
    }
  }

  /** What the engine imports. */
  readonly imports = {
    begin: (object: number, row: number) =>
      this.tell(object, row, (told) => {
        if (!this.type) throw new Error("there is no class yet");
        const start = { window: this.row[told]!, rtt: this.row[told + 1]!, segmentBytes: this.row[told + 2]! };
        const mine = new this.type(start);
        this.objects.set(object, mine);
        this.row[told] = mine.onSent || mine.onLost ? 1 : 0;
      }),
    ack: (object: number, row: number) => this.tell(object, row, (told, mine) => mine.onAck(this.flowAt(told), this.ackAt(told + 11))),
    congestion: (object: number, signal: number, row: number) =>
      this.tell(object, row, (told, mine) => mine.onCongestion(this.flowAt(told), SIGNALS[signal]!)),
    recovered: (object: number, row: number) => this.tell(object, row, (told, mine) => mine.onRecovered?.(this.flowAt(told))),
    undo: (object: number, cwnd: number, ssthresh: number, row: number) =>
      this.tell(object, row, (_, mine) => {
        if (mine.onUndo) mine.onUndo(cwnd, ssthresh);
        else mine.cwnd = Math.max(mine.cwnd, cwnd);
      }),
    sent: (object: number, row: number) =>
      this.tell(object, row, (told, mine) => mine.onSent?.(this.flowAt(told), this.sentAt(told + 11, this.sent))),
    lost: (object: number, row: number) =>
      this.tell(object, row, (told, mine) => mine.onLost?.(this.flowAt(told), this.lostAt(told + 11))),
  };

  /** Calls an object, and writes what it answers into the row; 0 where it throws. */
  private tell(object: number, row: number, call: (told: number, mine: Mine) => void): number {
    if (this.row.buffer !== this.memory()) this.row = new Float64Array(this.memory());
    const at = row / 8;
    try {
      call(at + TOLD, this.objects.get(object)!);
      const { cwnd, ssthresh = Infinity, pacingRate = NaN } = this.objects.get(object)!;
      this.row[at] = cwnd;
      this.row[at + 1] = ssthresh;
      this.row[at + 2] = pacingRate;
      return 1;
    } catch (thrown) {
      this.thrown ??= thrown;
      return 0;
    }
  }

  private flowAt(at: number): Flow {
    const { flow, row } = this;
    flow.now = row[at]!;
    flow.delivered = row[at + 1]!;
    flow.lost = row[at + 2]!;
    flow.flightSize = row[at + 3]!;
    flow.inFlight = row[at + 4]!;
    flow.srtt = row[at + 5]!;
    flow.minRtt = row[at + 6]!;
    flow.round = row[at + 7]!;
    flow.inRecovery = row[at + 8] !== 0;
    flow.cwndLimited = row[at + 9] !== 0;
    flow.appLimited = row[at + 10] !== 0;
    return flow;
  }

  private sentAt<T extends Sent>(at: number, sent: T): T {
    const { row } = this;
    sent.number = row[at]!;
    sent.bytes = row[at + 1]!;
    sent.sentAt = row[at + 2]!;
    sent.inFlight = row[at + 3]!;
    sent.delivered = row[at + 4]!;
    sent.lost = row[at + 5]!;
    sent.deliveredAt = row[at + 6]!;
    sent.firstSentAt = row[at + 7]!;
    sent.appLimited = row[at + 8] !== 0;
    sent.isProbe = row[at + 9] !== 0;
    sent.ecn = row[at + 10]!;
    return sent;
  }

  private lostAt(at: number): Lost {
    const { row } = this;
    const lost = this.sentAt(at, this.lost);
    lost.by = LOST_BY[row[at + 11]!]!;
    lost.lostSinceSent = row[at + 12]!;
    lost.deliveredSinceSent = row[at + 13]!;
    return lost;
  }

  private ackAt(at: number): Ack {
    const { ack, row } = this;
    ack.acked = row[at]!;
    ack.credit = row[at + 1]!;
    ack.roundStart = row[at + 2] !== 0;
    ack.rtt = row[at + 3]!;
    ack.newlyLost = row[at + 4]!;
    ack.ce = row[at + 5]!;
    return ack;
  }
}

/** Reno's rules, to begin with. */
export const EXAMPLE = `// Windows are in segments, times in seconds; NaN is unknown.
export default class Mine {
  constructor({ window }) {
    this.cwnd = window;
    this.ssthresh = Infinity;
  }

  // flow: now, delivered, lost, flightSize, inFlight, srtt, minRtt,
  //       round, inRecovery, cwndLimited, appLimited
  // ack:  acked, credit, roundStart, rtt, newlyLost, ce
  onAck(flow, ack) {
    if (flow.inRecovery || !flow.cwndLimited) return;
    const gain = this.cwnd < this.ssthresh ? 1 : 1 / this.cwnd;
    this.cwnd += gain * ack.credit;
  }

  // signal: "loss", "ecn" or "timeout"
  onCongestion(flow, signal) {
    this.ssthresh = Math.max(this.cwnd / 2, 2);
    this.cwnd = signal === "timeout" ? 1 : this.ssthresh;
  }
}
`;
