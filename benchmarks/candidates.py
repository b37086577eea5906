"""Ranks of the candidates in ``examples/candidates``, by their scores and by their report cards, as a Markdown table.

    python benchmarks/candidates.py                  # all, with cards of the profile quick
    python benchmarks/candidates.py reno aimd        # some of them
    python benchmarks/candidates.py --profile standard --seeds 3 --workers 2

Cards are ordered by the number of ``worse`` criteria, then by S over 400 held-out paths. The score contains the card of
the profile quick, so that its order is compared with that of a larger card, too, and that of the score without the card
(0.5 + 0.5 S for accepted candidates) with both. Kendall's tau counts the pairs that two orders place alike, less the
others, over all pairs.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import fullpipe
from fullpipe.evaluator import evaluate

FOLDER = Path(__file__).parents[1] / "examples/candidates"

HONEST = ("reno", "cubic_like", "vegas_like", "copa_like", "aimd", "aimd_4", "rate_based")
CHEATS = ("cheat_table", "cheat_clock", "cheat_state")

SECRET = b"fullpipe: ranks of the candidates"

HELD = 400
"""Held-out paths of S."""


class Rank(NamedTuple):
    """A candidate: its score, S, violated constraints, and ``worse`` criteria of its card."""

    name: str
    score: float
    s: float
    violated: tuple[str, ...]
    worse: tuple[str, ...]

    @property
    def without_card(self) -> float:
        """Score of the first two stages, and of S in place of the card."""
        return self.score if self.violated else 0.5 + 0.5 * self.s


def main() -> None:
    """Writes the table as rows are known, then tau, and the check that rejects each cheat."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=HONEST)
    parser.add_argument("--profile", default="quick", help="profile of the cards that the scores are compared with")
    parser.add_argument("--seeds", type=int, help="seeds of these cards; default: those of the profile")
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    ranks = []
    print("| candidate | score | S | violated | `worse` on the card |\n|---|---|---|---|---|", flush=True)
    for name in options.names:
        rank = measured(name, options.profile, options.seeds, options.workers)
        ranks.append(rank)
        worse = f"{len(rank.worse)}: {', '.join(rank.worse)}" if rank.worse else "0"
        print(f"| `{name}` | {rank.score:.3f} | {rank.s:.3f} | {', '.join(rank.violated)} | {worse} |", flush=True)
    by_score = sorted(ranks, key=lambda rank: -rank.score)
    by_card = sorted(ranks, key=lambda rank: (len(rank.worse), -rank.s))
    without = sorted(ranks, key=lambda rank: -rank.without_card)
    print("\nby card:", ", ".join(rank.name for rank in by_card))
    for title, order in (("score", by_score), ("score without the card", without)):
        print(f"by {title}: {', '.join(rank.name for rank in order)}; Kendall's tau: {tau(order, by_card):.2f}")
    for name in CHEATS:
        for check_source in (True, False):
            found = evaluate(FOLDER / f"{name}.py", secret=SECRET, check_source=check_source, workers=options.workers)
            print(f"{name}, static check {check_source}: {found['artifacts'].get('rejected')}", flush=True)


def measured(name: str, profile: str, seeds: int | None, workers: int | None) -> Rank:
    """Score and card of a candidate."""
    file = FOLDER / f"{name}.py"
    found = evaluate(file, secret=SECRET, held=HELD, workers=workers)
    if "rejected" in found["artifacts"]:
        raise SystemExit(f"{name}: {found['artifacts']['rejected']}")
    violated = tuple(key for key, each in found["constraints"].items() if each["violated"])
    card = fullpipe.evaluate(str(file), profile=profile, seeds=seeds, workers=workers)
    return Rank(name, found["combined_score"], found["metrics"]["s"], violated, tuple(card.worse))


def tau(ones: list[Rank], others: list[Rank]) -> float:
    """Kendall's tau of two orders."""
    places = {rank.name: place for place, rank in enumerate(others)}
    pairs = [1 if places[one.name] < places[other.name] else -1 for one, other in combinations(ones, 2)]
    return sum(pairs) / len(pairs)


if __name__ == "__main__":
    main()
