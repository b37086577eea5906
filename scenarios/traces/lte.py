"""Writes lte.down, an invented trace of an LTE downlink: ``python lte.py > lte.down``.

A line is a millisecond at which 1504 bytes may leave (mahimahi's format). The rate wanders between 0.5 and 16 Mbit/s, a
step each 100 ms; each millisecond the cell serves this phone with probability 1/4, then with four times the rate; now
and then it is away for a third of a second to a second, as in a handover.
"""

import random

LENGTH_MS = 12_000
STEP_MS = 100
SLOWEST, FASTEST, MIDDLE = 0.5, 16.0, 6.0
"""Mbit/s."""
FACTOR = 1.4
"""A step up or down; up is likelier below the middle, down above it."""
AWAY = 0.01
"""Probability of going away, each step."""
SERVED = 0.25
"""Probability of being served, each millisecond."""
OPPORTUNITY_MBIT = 1504 * 8 / 1e6


def main() -> None:
    """Prints the trace."""
    chance = random.Random(4)
    rate, away, credit = MIDDLE, 0, 0.0
    for now in range(1, LENGTH_MS + 1):
        if now % STEP_MS == 0:
            up = chance.random() < (0.6 if rate < MIDDLE else 0.4)
            rate = min(FASTEST, rate * FACTOR) if up else max(SLOWEST, rate / FACTOR)
            if away == 0 and chance.random() < AWAY:
                away = 300 + int(700 * chance.random())
        if away > 0:
            away -= 1
        elif chance.random() < SERVED:
            credit += rate / SERVED / 1000
            for _ in range(int(credit / OPPORTUNITY_MBIT)):
                print(now)
                credit -= OPPORTUNITY_MBIT
    print(LENGTH_MS)


if __name__ == "__main__":
    main()
