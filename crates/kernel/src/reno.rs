//! Kernel functions for congestion controls: those of Reno, on the windows of the socket (RFC 5681; with appropriate byte
//! counting in segments, RFC 3465).

use crate::run::Machine;
use crate::target::Field;
use std::sync::OnceLock;

struct Windows {
    cwnd: Field,
    count: Field,
    clamp: Field,
    ssthresh: Field,
    prior: Field,
    limited: Field,
    most_out: Field,
}

fn windows() -> &'static Windows {
    static WINDOWS: OnceLock<Windows> = OnceLock::new();
    WINDOWS.get_or_init(|| {
        let field = |path| Field::of("tcp_sock", path);
        Windows {
            cwnd: field("snd_cwnd"),
            count: field("snd_cwnd_cnt"),
            clamp: field("snd_cwnd_clamp"),
            ssthresh: field("snd_ssthresh"),
            prior: field("prior_cwnd"),
            limited: field("is_cwnd_limited"),
            most_out: field("max_packets_out"),
        }
    })
}

impl Machine {
    fn read(&self, field: &Field) -> u32 {
        field.read(self.socket()) as u32
    }

    /// `tcp_reno_ssthresh`: half the window, at least 2 (RFC 5681 equation 4).
    pub(crate) fn reno_ssthresh(&self) -> u32 {
        (self.read(&windows().cwnd) / 2).max(2)
    }

    /// `tcp_reno_undo_cwnd`: the window before the loss that was none.
    pub(crate) fn reno_undo(&self) -> u32 {
        self.read(&windows().cwnd).max(self.read(&windows().prior))
    }

    /// `tcp_slow_start`: a segment for each one acknowledged, up to the threshold. Returns the rest of them.
    pub(crate) fn slow_start(&mut self, acked: u32) -> u32 {
        let w = windows();
        let (before, ssthresh, clamp) = (self.read(&w.cwnd), self.read(&w.ssthresh), self.read(&w.clamp));
        let after = before.saturating_add(acked).min(ssthresh);
        w.cwnd.set(self.socket_mut(), after.min(clamp).into());
        acked.wrapping_sub(after.wrapping_sub(before))
    }

    /// `tcp_cong_avoid_ai`: a segment for every `per` acknowledged.
    pub(crate) fn additive(&mut self, per: u32, acked: u32) {
        let w = windows();
        let per = per.max(1);
        let (mut cwnd, mut count) = (self.read(&w.cwnd), self.read(&w.count));
        // Credit that was gathered for a greater window is worth a segment at once.
        if count >= per {
            (cwnd, count) = (cwnd.saturating_add(1), 0);
        }
        count = count.saturating_add(acked);
        cwnd = cwnd.saturating_add(count / per);
        let clamp = self.read(&w.clamp);
        w.count.set(self.socket_mut(), (count % per).into());
        w.cwnd.set(self.socket_mut(), cwnd.min(clamp).into());
    }

    /// `tcp_reno_cong_avoid`: slow start, then a segment a window; nothing where the window is not the limit.
    pub(crate) fn reno_avoid(&mut self, acked: u32) {
        let w = windows();
        let cwnd = self.read(&w.cwnd);
        let slow = cwnd < self.read(&w.ssthresh);
        let limited = self.read(&w.limited) == 1 || slow && cwnd < self.read(&w.most_out).saturating_mul(2);
        if !limited {
            return;
        }
        let left = if slow { self.slow_start(acked) } else { acked };
        if left > 0 {
            self.additive(self.read(&w.cwnd), left);
        }
    }
}
