"""Records on a terminal: every word and figure, at any width."""

import re

import pytest
from report_samples import APRIL, claim, d22, entry, text_of
from rich.console import Console

from reports import terminal
from reports.markdown import deviations_document
from reports.records import EntryRecord


def printed(*entries: EntryRecord, width: int = 100, **options) -> str:
    console = Console(width=width, **options)
    with console.capture() as capture:
        terminal.print_summary(console, entries)
    return capture.get()


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_terminal_of_any_width_shows_every_word_and_figure(width):
    text = printed(d22(), width=width, no_color=True)
    assert "\x1b" not in text
    assert "…" not in text.replace("1.93, …", "")  # nothing was cut off
    assert max(map(len, text.splitlines())) <= width
    for word in ("HOLDS", "BROKEN", "NOT MEASURED", "1.245e-6", "≤ 1.3e-6 relative", "4% left"):
        assert word in text
    for word in ("2% over", "≤ 0.3061", "D22/mirror-noise", "29eb964, 2411f7d"):
        assert word in text
    assert "8 HOLDS, 1 BROKEN, 1 NOT MEASURED" in text
    summary = words(text.partition("8 HOLDS")[2])
    assert summary.endswith("D22/zero-head states −0.17 to +0.16, measured -0.1722 to 0.177")


def test_one_claim_at_two_pins_is_said_to_count_twice():
    assert "1 HOLDS\n" in printed(entry("D22", claim("a")))
    at_two = entry("D22", claim("a"), claim("a", pin=APRIL), claim("b", pin=None))
    assert "3 HOLDS; 2 claims, each counted at every pin and source" in printed(at_two)
    text = deviations_document([text_of("D22"), text_of("D26")], {"D22": at_two})
    assert "3 HOLDS, 1 NOT MEASURED. There are\n2 claims; each counts once for every pin" in text


@pytest.mark.parametrize("width", [76, 80, 100, 131, 132, 160, 170])
def test_no_id_is_broken_in_two(width):
    ids = ["imagination-losses/continuous-critic-gradient", "D1/a"]
    records = [entry(name, claim(one)) for name, _, one in (i.partition("/") for i in ids)]
    broken = [entry("replay-context-action", claim("reference-action", "BROKEN", why="a b " * 40))]
    text = printed(*records, *broken, width=width, no_color=True)
    for one in (*ids, "replay-context-action/reference-action"):
        assert re.search(rf"(^|\s){one}\s", text, re.M)
    assert max(map(len, text.splitlines())) <= width


def test_addresses_are_in_one_piece_and_of_the_pins_that_are_broken():
    record = entry("D22", claim("a", "BROKEN"), claim("a", pin=APRIL))
    address = "https://example.org/" + "x" * 200
    links = {"D22": [("29eb964", address), ("2411f7d", "https://example.org/other")]}
    console = Console(width=80)
    with console.capture() as capture:
        terminal.print_summary(console, [record, entry("D23", claim("b"))], links)
    assert f"  {address}\n" in capture.get()
    assert "other" not in capture.get()


def test_what_is_broken_or_not_measured_is_explained_on_the_terminal():
    text = words(printed(d22(), width=160))
    assert "worst input:" in text
    assert "logits = float32[255] -0.41, 1.93, …, greatest 1.93 at [253]" in text
    assert "why: dreamerv3-29eb964 is not installed" in text
    assert "BROKEN: D22/mirror-noise Contradicted" in text  # once, at the end
    assert "stated −0.17 to +0.16: contradicted" in text
    assert "NOT MEASURED, no claim is registered yet: D26" in words(printed(entry("D26")))
    assert printed() == "No claim was asked for.\n"


def test_colour_is_used_where_there_is_some():
    assert "\x1b[1;31mBROKEN" in printed(d22(), force_terminal=True, color_system="standard")


def test_a_terminal_obeys_nothing_that_a_record_says():
    hostile = claim("a", statement="Shapes [bold]B N[/bold] and \x1b]0;title\x07.")
    text = printed(entry("D22", hostile), force_terminal=True)
    assert "[bold]B N[/bold] and \\x1b]0;title\\x07." in text
