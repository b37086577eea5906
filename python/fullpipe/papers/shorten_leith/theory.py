"""Models for Shorten and Leith's figures that `fullpipe.models` lacks; rates in capacities, windows in rates times
time.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["backoff_factor", "pair_convergence", "synchronized_utilization"]


def backoff_factor(base_rtt_s: float, *queueing_s: float) -> float:
    """RTTmin over RTTmax, equations (4) and (7). By equation (6), RTTmax adds the delays of the full queues."""
    return base_rtt_s / (base_rtt_s + sum(queueing_s))


def pair_convergence(betas: tuple[float, float]) -> float:
    """Fraction of the distance from the equilibrium that two synchronized flows keep per epoch, for alpha = 2 (1 -
    beta).

    The second eigenvalue of diag(beta) + alpha (1 - beta)^T / sum(alpha) ([5] of the paper): the trace less the first
    eigenvalue, which is 1. Section VI bounds it by the larger beta.
    """
    alphas = [2 * (1 - beta) for beta in betas]
    pulls = [alpha * (1 - beta) for alpha, beta in zip(alphas, betas, strict=True)]
    return sum(betas) + sum(pulls) / sum(alphas) - 1


def synchronized_utilization(base_rtts_s: Sequence[float], queue_s: float, beta: float = 0.5) -> float:
    """Utilization if every flow backs off at every congestion event, for any RTTs (line of figure 3).

    The fluid model of equations (1) and (2): the windows determine the queue, each window grows by one unit per RTT,
    and all are multiplied by ``beta`` when the queue reaches ``queue_s``.

    Args:
        base_rtts_s: Base RTTs of the flows.
        queue_s: Delay of the full queue, buffer over rate.
        beta: Backoff factor.
    """
    windows = [1.0 / len(base_rtts_s)] * len(base_rtts_s)
    # A window's growth per step. How fast is of no matter, since queue and rate follow from the windows.
    step = queue_s / 1000
    used = 0.0
    for _ in range(12):
        windows = [beta * window for window in windows]
        sent = time = queue = 0.0
        while queue < queue_s:
            rate = sum(w / rtt for w, rtt in zip(windows, base_rtts_s, strict=True))
            queue = _queue(windows, base_rtts_s, queue) if rate > 1 else 0.0
            sent += min(rate, 1.0)
            time += 1.0
            windows = [w + step * base_rtts_s[0] / (rtt + queue) for w, rtt in zip(windows, base_rtts_s, strict=True)]
        used = sent / time
    return used


def _queue(windows: Sequence[float], base_rtts_s: Sequence[float], guess: float) -> float:
    """Queueing delay at which the windows just fill the link: equation (1), by Newton's method."""
    queue = guess
    for _ in range(3):
        rates = [w / (rtt + queue) for w, rtt in zip(windows, base_rtts_s, strict=True)]
        slope = sum(rate / (rtt + queue) for rate, rtt in zip(rates, base_rtts_s, strict=True))
        queue = max(0.0, queue + (sum(rates) - 1) / slope)
    return queue
