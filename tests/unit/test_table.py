"""Layout of tables for files and terminals."""

from __future__ import annotations

from fullpipe._util.table import table_lines

ROWS = [("codel", "1.5", "20"), ("fq-codel", "10.25", "3")]


def test_text_is_aligned_left_and_numbers_right() -> None:
    assert table_lines("Queues", ("queue", "delay", "n"), ROWS) == [
        "Queues",
        "",
        " queue      delay    n",
        " ─────────────────────",
        " codel        1.5   20",
        " fq-codel   10.25    3",
        "",
    ]


def test_columns_that_do_not_fit_go_into_a_further_table_with_the_first_column() -> None:
    # 1 + 8 + 3 + 5 + 3 + 2 + 1 = 23 columns fit; at 22, the last column moves.
    assert len(table_lines("", ("queue", "delay", "n"), ROWS, width=23)) == 6
    lines = table_lines("", ("queue", "delay", "n"), ROWS, width=22)
    assert lines[:3] == ["", " queue      delay", " ────────────────"]
    assert lines[6:9] == ["", " queue       n", " ─────────────"]
    assert lines[9:] == [" codel      20", " fq-codel    3", ""]


def test_a_column_that_is_too_wide_is_folded_between_words() -> None:
    lines = table_lines("", ("a", "b"), [("x", "one two three")], left=2, width=14)
    assert [line.rstrip() for line in lines[3:-1]] == [" x   one two", "     three"]


def test_a_word_that_does_not_fit_is_cut_and_nothing_is_lost() -> None:
    text = "".join(table_lines("", ("a",), [("x" * 30,)], width=12))
    assert text.count("x") == 30


def test_wide_characters_take_two_columns() -> None:
    # UAX 11: the two ideographs are Wide, four columns of a terminal; the combining accent takes none.
    lines = table_lines("", ("name", "n"), [("漢字", "1"), ("abcd", "2"), ("e\u0301xyz", "3")])
    assert lines[3:6] == [" 漢字   1", " abcd   2", " e\u0301xyz   3"]


def test_headings_are_bold_on_a_terminal() -> None:
    lines = table_lines("T", ("a", "b"), [("x", "1")], bold=True)
    assert lines[0] == "\x1b[1mT\x1b[0m"
    assert lines[2] == " \x1b[1ma\x1b[0m   \x1b[1mb\x1b[0m"
