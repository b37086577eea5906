"""Closed forms from the papers.

Buffers are given as k, the buffer over the bandwidth-delay product (link rate times base RTT), windows in segments,
times in seconds, rates and probabilities by their names. A value outside a formula's domain raises `InputError` (a
`ValueError`).

Fluid forms of one flow, or of many that lose together, measure windows in bandwidth-delay products: from a peak p = 1 +
k the window falls to beta p and climbs back in a straight line over round trips. Below 1 a round trip lasts one base
RTT and carries the window; above 1 it is longer in proportion, and the link is full.
"""

from __future__ import annotations

import math

from fullpipe.errors import InputError, check_range

__all__ = [
    "adaptive_aimd_buffer",
    "adaptive_aimd_utilization",
    "adaptive_alpha",
    "adaptive_beta",
    "aimd_buffer",
    "aimd_epoch_rounds",
    "aimd_utilization",
    "convergence_epochs",
    "hyun_jang_gain",
    "mathis_throughput",
    "pftk_throughput",
    "pftk_throughput_approximate",
    "reno_utilization",
    "sqrt_rule_buffer",
    "throughput_beta",
]


def hyun_jang_gain(k: float) -> float:
    """How many times Reno's throughput a window held at the full pipe yields on one link: Hyun and Jang, equation (5).

    Args:
        k: Buffer over the bandwidth-delay product, 0 to 1.

    Returns:
        4 (k^2 + k + 1) / (3 (k + 1)^2); 1 for a buffer of one bandwidth-delay product.

    Raises:
        InputError: k is not in 0 to 1; beyond 1 there is no gain, and the formula does not apply.
    """
    check_range("k", k, 0, 1)
    return 4 * (k * k + k + 1) / (3 * (k + 1) ** 2)


def reno_utilization(k: float) -> float:
    """Utilization of a link by one Reno flow in its steady sawtooth: `aimd_utilization` with RFC 5681's beta of 1/2.

    Up to k = 1 it is the inverse of `hyun_jang_gain`, from which it is derived independently.

    Args:
        k: Buffer over the bandwidth-delay product, at least 0.
    """
    return aimd_utilization(k)


def aimd_utilization(k: float, beta: float = 0.5) -> float:
    """Utilization of a link by one AIMD flow, or by synchronized ones of equal RTT: the theoretical curve of Shorten
    and Leith, figure 7, which the paper draws and does not print.

    Derived from the rules as in the head of this module; the increase alpha cancels. Exact for a fluid: the packet that
    is lost, the recovery and the timeouts of small windows are left out.

    Args:
        k: Buffer over the bandwidth-delay product, at least 0.
        beta: Factor kept of the window at a loss, above 0, below 1.

    Returns:
        1 from k = 1/beta - 1 on (their equation 3).

    Raises:
        InputError: k or beta is outside its domain.
    """
    check_range("k", k, 0)
    _between("beta", beta, 0, 1)
    peak = 1 + k
    trough = beta * peak
    if trough >= 1:
        return 1.0
    sent_above = (peak**2 - 1) / 2
    sent_below = (1 - trough**2) / 2
    time_above = sent_above
    time_below = 1 - trough
    return (sent_below + sent_above) / (time_below + time_above)


def aimd_buffer(utilization: float, beta: float = 0.5) -> float:
    """The smallest k at which one AIMD flow, or synchronized ones, reach a utilization: the inverse of
    `aimd_utilization`.

    With p = 1 + k that form reads p^2 (1 - beta^2 - U) + 2 U beta p - U = 0.

    Args:
        utilization: U, above 0, at most 1. For 1 the answer is 1/beta - 1; slightly less wants noticeably less buffer,
            as the curve is flat at its end (at U = 0.999, beta = 1/2: 0.896).
        beta: Factor kept of the window at a loss, above 0, below 1.

    Returns:
        k, 0 where no buffer is needed.

    Raises:
        InputError: utilization or beta is outside its domain.
    """
    if not 0 < utilization <= 1:
        raise InputError(f"utilization must be in (0, 1], got {utilization:g}")
    _between("beta", beta, 0, 1)
    half = utilization * beta
    # At U = 1 the root is double; rounding must not take it below 0.
    root = math.sqrt(max(0.0, half**2 + utilization * (1 - beta**2 - utilization)))
    return max(0.0, utilization / (half + root) - 1)


def aimd_epoch_rounds(peak_packets: float, alpha: float = 1.0, beta: float = 0.5) -> float:
    """Round trips from one loss to the next: (1 - beta) W / alpha. With alpha = 2 (1 - beta) it is W/2, as for Reno.

    Args:
        peak_packets: W, the window at the loss, segments.
        alpha: Increase, segments per round trip, above 0.
        beta: Factor kept of the window at a loss, above 0, below 1.
    """
    _above("peak_packets", peak_packets, 0)
    _above("alpha", alpha, 0)
    _between("beta", beta, 0, 1)
    return (1 - beta) * peak_packets / alpha


def adaptive_beta(rtt_min_s: float, rtt_max_s: float, beta_min: float = 0.5, beta_max: float = 0.8) -> float:
    """The backoff that just empties the queue: Shorten and Leith, equations (4) and (7), RTTmin/RTTmax.

    Args:
        rtt_min_s: RTT with empty queues, seconds, above 0.
        rtt_max_s: RTT with full queues, seconds, at least `rtt_min_s`.
        beta_min: Least value; section III: standard TCP's.
        beta_max: Greatest value; section III: the compromise with responsiveness.

    Raises:
        InputError: The times are not in order, or the limits are not between 0 and 1 and in order.
    """
    _above("rtt_min_s", rtt_min_s, 0)
    check_range("rtt_max_s", rtt_max_s, rtt_min_s)
    _limits(beta_min, beta_max)
    return min(max(rtt_min_s / rtt_max_s, beta_min), beta_max)


def throughput_beta(beta: float, before_bps: float, after_bps: float) -> float:
    """The next backoff from throughputs: Shorten and Leith, equation (10), beta(k) B-(k)/B+(k).

    The factor beta(k) was lost from the print; without it the ratio would exceed 1, as B- = w/RTTmax and B+ = beta
    w/RTTmin.

    Args:
        beta: The backoff at the last congestion event, above 0, below 1.
        before_bps: Throughput in the round trip before that event, above 0.
        after_bps: Throughput in the round trip after it, in the unit of ``before_bps``, above 0.
    """
    _between("beta", beta, 0, 1)
    _above("before_bps", before_bps, 0)
    _above("after_bps", after_bps, 0)
    return beta * before_bps / after_bps


def adaptive_alpha(beta: float) -> float:
    """The increase, segments per round trip, that keeps a flow with backoff beta fair to Reno: Shorten and Leith,
    equation (5), 2 (1 - beta).

    Args:
        beta: Factor kept of the window at a loss, above 0, below 1.
    """
    _between("beta", beta, 0, 1)
    return 2 * (1 - beta)


def adaptive_aimd_buffer(beta_max: float = 0.8) -> float:
    """The k from which adaptive AIMD fills the link: Shorten and Leith, equation (3) with the greatest backoff,
    1/beta_max - 1; a quarter for 0.8.

    Args:
        beta_max: Greatest backoff, above 0, below 1.
    """
    _between("beta_max", beta_max, 0, 1)
    return 1 / beta_max - 1


def adaptive_aimd_utilization(k: float, beta_min: float = 0.5, beta_max: float = 0.8) -> float:
    """Utilization of a link by one adaptive AIMD flow, or by synchronized ones of equal RTT: `aimd_utilization` with
    the backoff of equation (4) for a full queue, 1/(1 + k) within its limits.

    Args:
        k: Buffer over the bandwidth-delay product, at least 0.
        beta_min: Least backoff.
        beta_max: Greatest backoff.
    """
    check_range("k", k, 0)
    return aimd_utilization(k, adaptive_beta(1.0, 1.0 + k, beta_min, beta_max))


def convergence_epochs(beta: float, rise: float = 0.95) -> float:
    """Congestion epochs until windows have gone a part of the way to their equilibrium: Shorten and Leith, section VI,
    ln(1 - rise)/ln(beta).

    4.3 for 0.5, 10.4 for 0.75, 13.4 for 0.8 (12 in the text of the paper); 7.2 for 0.8 and 80 % of the way.

    Args:
        beta: The largest backoff in the network (its mean, where flows are not synchronized), above 0, below 1.
        rise: Part of the way, above 0, below 1.
    """
    _between("beta", beta, 0, 1)
    _between("rise", rise, 0, 1)
    return math.log(1 - rise) / math.log(beta)


def sqrt_rule_buffer(bdp_packets: float, flows: float) -> float:
    """The buffer that keeps a link nearly full with many flows that do not lose together: Appenzeller, Keslassy and
    McKeown, "Sizing Router Buffers", SIGCOMM 2004: bandwidth-delay product over the root of the number of flows.

    Holds for hundreds of flows and more; for few, or synchronized ones, it is too little.

    Args:
        bdp_packets: Link rate times the mean base RTT, packets, above 0.
        flows: How many, at least 1.
    """
    _above("bdp_packets", bdp_packets, 0)
    check_range("flows", flows, 1)
    return bdp_packets / math.sqrt(flows)


def mathis_throughput(rtt_s: float, loss: float, acked: float = 1.0) -> float:
    """Throughput of a long Reno flow from its loss rate: Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of
    the TCP Congestion Avoidance Algorithm", CCR 27(3), 1997, with losses evenly spaced: sqrt(3/(2 acked)) / (RTT
    sqrt(p)).

    Exact for a sawtooth over a constant RTT that loses one segment per tooth. Timeouts and limits of the window are
    left out, so that it is too high from about 1 % of loss on; random losses yield about 7 % more while they are rare.

    Args:
        rtt_s: Mean round-trip time, seconds, above 0.
        loss: p, congestion events over segments sent, above 0, at most 1.
        acked: Segments that one ACK acknowledges, at least 1; 2 for delayed ACKs.

    Returns:
        Segments per second.
    """
    _check_path(rtt_s, loss, acked)
    return math.sqrt(3 / (2 * acked * loss)) / rtt_s


def pftk_throughput(rtt_s: float, loss: float, rto_s: float, acked: float = 2.0, max_window: float = math.inf) -> float:
    """Sending rate of a long Reno flow from its loss rate, timeouts included: the full model of Padhye, Firoiu, Towsley
    and Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical Validation", SIGCOMM 1998.

    The model takes it that after a loss the rest of the round is lost too.

    Args:
        rtt_s: Mean round-trip time, seconds, above 0.
        loss: p, probability that a segment is lost when the one before it in the round was not, above 0, below 1.
        rto_s: T0, length of a first timeout, seconds, above 0.
        acked: b, segments that one ACK acknowledges, at least 1; 2 for delayed ACKs.
        max_window: Wm, the receiver's window, segments, at least 1.

    Returns:
        Segments per second.
    """
    _check_path(rtt_s, loss, acked)
    _between("loss", loss, 0, 1)
    _above("rto_s", rto_s, 0)
    check_range("max_window", max_window, 1)
    kept = 1 - loss
    first = (2 + acked) / (3 * acked)
    unlimited = first + math.sqrt(8 * kept / (3 * acked * loss) + first**2)
    if unlimited < max_window:
        window, rounds = unlimited, acked / 2 * unlimited + 1
    else:
        window, rounds = max_window, acked / 8 * max_window + kept / (loss * max_window) + 2
    timeout = _timeout_share(loss, window)
    backoff = sum(2.0 ** max(0, i - 1) * loss**i for i in range(7))
    sent = kept / loss + window + timeout / kept
    return sent / (rtt_s * rounds + timeout * backoff * rto_s / kept)


def pftk_throughput_approximate(
    rtt_s: float, loss: float, rto_s: float, acked: float = 2.0, max_window: float = math.inf
) -> float:
    """Approximation of `pftk_throughput` by its authors, used by TFRC (RFC 5348, section 3.1, there
    with acked = 1): min(Wm/RTT, 1/(RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))).

    Args:
        rtt_s: As for the full model.
        loss: As for the full model; 1 is allowed.
        rto_s: As for the full model.
        acked: As for the full model.
        max_window: As for the full model.

    Returns:
        Segments per second.
    """
    _check_path(rtt_s, loss, acked)
    _above("rto_s", rto_s, 0)
    check_range("max_window", max_window, 1)
    fast = rtt_s * math.sqrt(2 * acked * loss / 3)
    slow = rto_s * min(1.0, 3 * math.sqrt(3 * acked * loss / 8)) * loss * (1 + 32 * loss**2)
    return min(max_window / rtt_s, 1 / (fast + slow))


def _timeout_share(loss: float, window: float) -> float:
    """Q: the probability that a loss in a window of that size ends in a timeout."""
    if window <= 3:
        return 1.0
    kept = 1 - loss
    share: float = (1 - kept**3) * (1 + kept**3 * (1 - kept ** (window - 3))) / (1 - kept**window)
    return min(1.0, share)


def _check_path(rtt_s: float, loss: float, acked: float) -> None:
    _above("rtt_s", rtt_s, 0)
    if not 0 < loss <= 1:
        raise InputError(f"loss must be in (0, 1], got {loss:g}")
    check_range("acked", acked, 1)


def _limits(beta_min: float, beta_max: float) -> None:
    _between("beta_max", beta_max, 0, 1)
    if not 0 < beta_min <= beta_max:
        raise InputError(f"beta_min must be in (0, beta_max = {beta_max:g}], got {beta_min:g}")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise InputError(f"{name} must be in ({low:g}, {high:g}), got {value:g}")


def _above(name: str, value: float, low: float) -> None:
    if not low < value < math.inf:
        raise InputError(f"{name} must be above {low:g}, got {value:g}")
