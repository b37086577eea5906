"""The page of a card that is run for it."""

from __future__ import annotations

from typing import Any

import pytest

from fullpipe.experiments.evaluate import Card, Statement, evaluate
from fullpipe.experiments.evaluate.page import card_page
from test_evaluate_page import check_pictures

EVIL = 'x"><script>alert("<b>")</script>'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Card:
    """A card of cells that are quickly run."""
    said = Statement({"5.3.1": EVIL}, ("7.5",))
    cache = tmp_path_factory.mktemp("cache")
    only = ["loss-30", "overload", "iot", "step", "delay", "cheat", "lte", "7.5", "5.2.2"]
    return evaluate("bbr", only=only, cache=cache, statement=said)


@pytest.fixture(scope="module")
def card(made: Card) -> dict[str, Any]:
    """Card of an algorithm whose name would break a page."""
    return {**made.data, "algorithm": EVIL}


def test_what_is_put_into_the_page_is_escaped(card: dict[str, Any]) -> None:
    whole = card_page(card)
    assert "<script" not in whole
    assert "&lt;script&gt;" in whole


def test_every_picture_shows_its_word(card: dict[str, Any]) -> None:
    assert check_pictures(card) > 10
