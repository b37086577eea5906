"""The papers' closed forms against numbers worked by hand or printed in the papers, and against simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from fullpipe import Scenario, models, run
from fullpipe.engine import tables
from fullpipe.errors import InputError
from fullpipe.models import hyun_jang_gain, reno_utilization


def test_equation_5_worked_by_hand() -> None:
    # k = 1/2: 4 (1/4 + 1/2 + 1) / (3 (3/2)^2) = 7 / 6.75.
    assert hyun_jang_gain(0.5) == pytest.approx(float(Fraction(28, 27)))
    assert hyun_jang_gain(0.0) == pytest.approx(4 / 3)
    assert hyun_jang_gain(1.0) == 1.0


@pytest.mark.parametrize(("k", "percent"), [(1 / 8, 20.16), (1 / 4, 12.0), (1 / 2, 3.7), (3 / 4, 0.68)])
def test_equation_5_as_table_1_prints_it(k: float, percent: float) -> None:
    assert 100 * (hyun_jang_gain(k) - 1) == pytest.approx(percent, abs=0.01)


def test_reno_utilization_worked_by_hand() -> None:
    # Without a buffer the sawtooth between 1/2 and 1 carries 3/4 on average.
    assert reno_utilization(0.0) == pytest.approx(0.75)
    # k = 1/8: p = 9/8; (1 - 81/256)/2 = 175/512 sent in 7/16, then 17/128 at the full rate: 243/512 over 73/128.
    assert reno_utilization(1 / 8) == pytest.approx(float(Fraction(243, 512) / Fraction(73, 128)))
    assert reno_utilization(1 / 8) == pytest.approx(0.832, abs=0.0005)
    assert reno_utilization(1.0) == 1.0


@pytest.mark.parametrize("k", [0.0, 0.1, 0.37, 0.9])
def test_equation_5_is_what_the_sawtooth_leaves_free(k: float) -> None:
    assert hyun_jang_gain(k) * reno_utilization(k) == pytest.approx(1.0)


def test_adaptive_beta_and_alpha_worked_by_hand() -> None:
    # Figure 5: 85 packets of delay-bandwidth product, 25 of queue: RTTmin/RTTmax = 85/110.
    assert models.adaptive_beta(85, 110) == pytest.approx(0.7727, abs=1e-4)
    assert models.adaptive_beta(0.1, 0.1) == 0.8
    assert models.adaptive_beta(0.1, 0.3) == 0.5
    assert models.adaptive_alpha(0.75) == 0.5
    assert models.adaptive_alpha(0.5) == 1.0
    # Equation 10: B- = w/RTTmax, B+ = beta w/RTTmin; beta B-/B+ is RTTmin/RTTmax = 100/140 whatever w and beta are.
    assert models.throughput_beta(0.6, 50 / 0.140, 0.6 * 50 / 0.100) == pytest.approx(100 / 140)


def test_buffers_that_fill_a_link() -> None:
    assert models.adaptive_aimd_buffer() == pytest.approx(0.25)
    assert models.aimd_buffer(1.0) == pytest.approx(1.0)
    assert models.aimd_buffer(1.0, 0.8) == pytest.approx(0.25)
    # Without a buffer Reno carries 3/4.
    assert models.aimd_buffer(0.75) == pytest.approx(0.0, abs=1e-12)
    assert models.aimd_buffer(0.5) == 0.0
    # With k = 1 - e equation 5 reads 1/U - 1 = e^2/(12 - 12 e + 3 e^2): for U = 0.999, e = 0.1039.
    assert models.aimd_buffer(0.999) == pytest.approx(0.8961, abs=1e-4)


@pytest.mark.parametrize("beta", [0.5, 0.7, 0.8])
@pytest.mark.parametrize("k", [0.02, 0.1, 0.2])
def test_buffer_is_the_inverse_of_utilization(beta: float, k: float) -> None:
    assert models.aimd_buffer(models.aimd_utilization(k, beta), beta) == pytest.approx(k)


@pytest.mark.parametrize(("k", "percent"), [(0.05, 93.8), (0.10, 96.5), (0.20, 99.65), (0.25, 100), (1.0, 100)])
def test_adaptive_utilization_as_ns2_measures_it(k: float, percent: float) -> None:
    # One SACK flow, 100 Mbit/s, 40 ms, emulated in ns-2 (inventory of figure 7); the form is within 0.4 points.
    assert 100 * models.adaptive_aimd_utilization(k) == pytest.approx(percent, abs=0.4)


@pytest.mark.parametrize(
    ("beta", "rise", "epochs"), [(0.5, 0.95, 4.32), (0.75, 0.95, 10.41), (0.8, 0.95, 13.43), (0.8, 0.8, 7.21)]
)
def test_convergence_epochs(beta: float, rise: float, epochs: float) -> None:
    assert models.convergence_epochs(beta, rise) == pytest.approx(epochs, abs=0.005)


def test_newcomers_get_their_share_as_fast_as_the_epochs_say() -> None:
    # Two Reno flows whose losses coincide, the second long after the first: the first one's excess over its share
    # halves from peak to peak, and is down to a twentieth after 4.3 of them.
    flow = {"algorithm": "newreno", "recovery": "sack", "access_delay": "1 ms"}
    scenario = Scenario(
        duration="205 s",
        packet_size=1500,
        series_interval="20 ms",
        links=[{"name": "bottleneck", "rate": "10 Mbit/s", "delay": "49 ms", "buffer": "80 packets"}],
        flows=[flow, {**flow, "start": "150 s"}],
    )
    series = run(scenario).series.to_pandas()
    cwnd = series[(series.flow == 0) & (series.t_s > 150)].cwnd_packets.to_numpy()
    peaks = cwnd[:-1][cwnd[1:] < 0.9 * cwnd[:-1]]
    assert len(peaks) > 8
    excess = peaks - peaks[-1]
    fallen = next(epoch for epoch, part in enumerate(excess / excess[0]) if part <= 0.05)
    assert fallen == math.ceil(models.convergence_epochs(0.5, 0.95))


def test_sqrt_rule() -> None:
    # Appenzeller and others, section 1: 10 Gbit/s, 250 ms, 50,000 flows need 10 Mbit (printed) instead of 2.5 Gbit.
    assert models.sqrt_rule_buffer(2.5e9, 50_000) == pytest.approx(11.2e6, rel=0.01)


def test_mathis_worked_by_hand() -> None:
    # One loss in 3/8 W^2 segments, mean window 3/4 W: W = 40 gives p = 1/600 and 30 segments per round trip.
    assert models.mathis_throughput(0.1, 1 / 600) == pytest.approx(300)
    assert models.mathis_throughput(0.1, 1 / 600, acked=2) == pytest.approx(300 / math.sqrt(2))


def test_pftk_limits() -> None:
    # Rare losses: the form without timeouts. A small window: window over RTT.
    assert models.pftk_throughput(0.1, 1e-7, 1.0, acked=1) == pytest.approx(
        models.mathis_throughput(0.1, 1e-7), rel=0.01
    )
    assert models.pftk_throughput(0.1, 1e-9, 1.0, max_window=20) == pytest.approx(200, rel=0.001)
    assert models.pftk_throughput_approximate(0.1, 1e-9, 1.0, max_window=20) == 200


def test_pftk_worked_by_hand() -> None:
    # b = 1, p = 0.04: sqrt(2p/3) = 0.16330, 3 sqrt(3p/8) = 0.36742, 1 + 32 p^2 = 1.0512; RTT 0.1 s, T0 0.4 s:
    # 1/(0.016330 + 0.4 * 0.36742 * 0.04 * 1.0512) = 1/0.022510.
    assert models.pftk_throughput_approximate(0.1, 0.04, 0.4, acked=1) == pytest.approx(44.43, abs=0.02)
    # Full: E[W] = 1 + sqrt(8 * 0.96/0.12 + 1) = 9.0623; 0.96^3 = 0.884736, 0.96^6.0623 = 0.78076, 0.96^9.0623 =
    # 0.69076: Q = 0.115264 * (1 + 0.884736 * 0.21924)/0.30924 = 0.44503; G = 1.04345; sent = 24 + 9.0623 + 0.46357 =
    # 33.5259; time = 0.1 * 5.53115 + 0.44503 * 1.04345 * 0.4/0.96 = 0.553115 + 0.193486.
    assert models.pftk_throughput(0.1, 0.04, 0.4, acked=1) == pytest.approx(33.5259 / 0.746601, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: models.hyun_jang_gain(1.5),
        lambda: models.reno_utilization(-0.1),
        lambda: models.aimd_utilization(0.5, 1.0),
        lambda: models.aimd_utilization(math.nan),
        lambda: models.aimd_buffer(1.01),
        lambda: models.aimd_buffer(0.0),
        lambda: models.aimd_epoch_rounds(0),
        lambda: models.adaptive_beta(0.2, 0.1),
        lambda: models.adaptive_beta(0.1, 0.2, 0.9, 0.8),
        lambda: models.adaptive_alpha(1.0),
        lambda: models.adaptive_aimd_buffer(0.0),
        lambda: models.throughput_beta(0.5, 0.0, 1.0),
        lambda: models.convergence_epochs(0.5, 1.0),
        lambda: models.sqrt_rule_buffer(100, 0),
        lambda: models.mathis_throughput(0.1, 0.0),
        lambda: models.mathis_throughput(0.1, 0.1, acked=0.5),
        lambda: models.pftk_throughput(0.1, 1.0, 0.2),
        lambda: models.pftk_throughput_approximate(0.0, 0.1, 0.2),
    ],
)
def test_what_is_outside_a_formulas_domain(wrong: Callable[[], float]) -> None:
    with pytest.raises(InputError, match="must be"):
        wrong()


def one_flow(algorithm: str, buffer: str, **link: object) -> Scenario:
    """800 packets of bandwidth-delay product, so that whole packets matter little."""
    bottleneck = {"name": "bottleneck", "rate": "80 Mbit/s", "delay": "40 ms", "buffer": buffer, **link}
    return Scenario(
        duration="900 s",
        warmup="300 s",
        series_interval="off",
        links=[bottleneck],
        flows=[{"algorithm": algorithm, "recovery": "sack"}],
    )


@pytest.mark.parametrize("k", [0.125, 0.5])
@pytest.mark.parametrize(
    ("algorithm", "form"),
    [("newreno", models.reno_utilization), ("adaptive-aimd", models.adaptive_aimd_utilization)],
)
def test_a_simulated_sawtooth_has_that_utilization(algorithm: str, form: Callable[[float], float], k: float) -> None:
    result = run(one_flow(algorithm, f"{k} BDP"))
    assert result.links["utilization"][0].as_py() == pytest.approx(form(k), abs=0.006)


def test_a_simulated_sawtooth_obeys_mathis() -> None:
    # A small buffer, as the form takes the RTT for constant; 400 packets in the pipe, some 35 teeth.
    result = run(one_flow("newreno", "0.05 BDP", rate="40 Mbit/s"))
    (flow,), (link,) = tables.rows(result.columns("flows")), tables.rows(result.columns("links"))
    events = flow["fast_recoveries"] / link["arrived_packets"]
    assert flow["goodput_bps"] / 8000 == pytest.approx(models.mathis_throughput(flow["mean_rtt_s"], events), rel=0.03)


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.03])
def test_a_simulated_flow_with_random_losses_obeys_pftk(loss: float) -> None:
    # 50 ms one way, no queue: the RTT does not vary, and the timeout is the least one, 200 ms (rule 2.4 of RFC 6298).
    scenario = one_flow("newreno", "unlimited", rate="1 Gbit/s", delay="50 ms", loss=loss)
    result = run(scenario)
    (flow,), (link,) = tables.rows(result.columns("flows")), tables.rows(result.columns("links"))
    # With the loss that the run has drawn: over seeds 1 to 4 the ratio is 0.93 to 1.07.
    formula = models.pftk_throughput(0.1, link["loss_rate"], 0.2, acked=1)
    assert flow["throughput_bps"] / 8000 == pytest.approx(formula, rel=0.1)


def test_a_simulated_cubic_flow_with_random_losses_obeys_rfc_9438() -> None:
    """Equation 5: a mean window of (C (3 + beta)/(4 (1 - beta)))^(1/4) (RTT/p)^(3/4) = 1.0541 (RTT/p)^(3/4); p as drawn
    by the run. The equation takes losses for evenly spaced; random ones yield more (1.11 to 1.17 in nine runs).
    """
    scenario = one_flow("cubic", "unlimited", rate="10 Gbit/s", delay="50 ms", loss=1e-5).replace(
        duration="1200 s", warmup="100 s"
    )
    result = run(scenario)
    (flow,) = tables.rows(result.columns("flows"))
    (link,) = tables.rows(result.columns("links"))
    evenly_spaced = 1.0541 * (0.1 / link["loss_rate"]) ** 0.75
    assert 1.0 < flow["mean_cwnd_packets"] / evenly_spaced < 1.25
