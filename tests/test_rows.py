"""The rows of the deviation table: all there, complete, and with sources that exist."""

import ast
import importlib
import re
import subprocess
import sys

import pytest

from deviations import ROWS

TABLE = """
    D1 D2 D3 D4 D5 D6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16 T17 E18 E19 E20 E21
    D22 D23 T24 T25 T26 T28 T29 D26 D27
"""
IDS = TABLE.split()

# Those that the table lacks, numbered after its last.
OURS = ["T30", "T31", "T32", "T33", "T34", "T35", "D36", "T37"]

# Every figure that the table states in these rows; a reader must find them all.
FIGURES = {
    "D22": "-20 0 128 −0.17 +0.16 p.18 1.3e-6 3·ε 0.085 0.3 0.052 0.01 2000 4000 6000 0.51 0.46 "
    "52 58 ±4.85e8 1/255",
    "D23": "1.1368 1/fan_in −2 2 1/0.87962566 4.16e-5",
    "T24": "101 −1.5e-7 0 4.8e-7 1.1e-5 2e-6 8.6e-6 1 6·E_p|b| 4.8e-6 3·ε",
    "T25": "1e-6 30 1",
}

# Rows about environments, or about the core alone: no line of a reference does it.
WITHOUT_SOURCES = {"E20", "E21"}

AGENTS = {"D": {"DreamerV3"}, "T": {"TD-MPC2"}, "E": {"both"}}
ALL_PINS = sorted({source.pin for row in ROWS for source in row.sources})


def text_of(row):
    return f"{row.reference} {row.subject} {row.consequence}"


def bounds(lines):
    first, _, last = lines.partition("-")
    return int(first), int(last or first)


def test_the_rows_are_those_of_the_table_in_its_order():
    assert len(IDS) == 30
    assert [row.id for row in ROWS if not row.ours] == IDS


def test_rows_that_the_table_lacks_follow_it_and_are_numbered_after_it():
    assert [row.id for row in ROWS] == IDS + OURS
    numbers = [int(entry_id[1:]) for entry_id in IDS + OURS]
    assert numbers[len(IDS) :] == list(range(max(numbers[: len(IDS)]) + 1, max(numbers) + 1))


@pytest.mark.parametrize("row", [row for row in ROWS if row.ours], ids=lambda row: row.id)
def test_a_row_of_ours_says_what_both_sides_do_and_where_it_does_not_hold(row):
    about = {claim.about for claim in row.claims}
    assert {"reference", "subject"} <= about
    pins = {pin for claim in row.claims if claim.otherwise for pin in row.pins_of(claim)}
    assert pins
    assert pins < set(row.pins)
    # Nothing is stated that the claim does not measure.
    assert not any(claim.stated for claim in row.claims)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_is_complete(row):
    assert row.kind == "deviation"
    assert {row.agent} == AGENTS[row.id[0]]
    assert row.title
    assert not row.title.endswith(".")
    for text in (row.reference, row.subject, row.consequence):
        assert text.endswith((".", "?"))
        assert text == " ".join(text.split())
    assert "Ajax" not in f"{row.title} {text_of(row)}"
    assert bool(row.sources) == (row.id not in WITHOUT_SOURCES)
    assert len(set(row.sources)) == len(row.sources)
    assert (row.status == "paper versus code") <= (row.normative == "paper")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_has_a_module_of_its_own(row):
    module = importlib.import_module(f"deviations.{row.id.lower()}")
    assert module.ROW is row
    docstring = module.__doc__ or ""
    assert re.fullmatch(rf"{row.id}: .+\.", docstring)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_multi_task_rows_say_so(row):
    assert row.title.startswith("Multi-task: ") == (row.id in {"T14", "T15", "T16", "T17", "T35"})


@pytest.mark.parametrize("entry_id", FIGURES)
def test_every_figure_of_the_table_is_in_the_row(entry_id):
    (row,) = (row for row in ROWS if row.id == entry_id)
    text = text_of(row)
    missing = [
        figure
        for figure in FIGURES[entry_id].split()
        if not re.search(rf"(?<![\w.]){re.escape(figure)}(?!\d|\.\d|e-)", text)
    ]
    assert not missing


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_at_every_pin_of_its_agents_a_row_asks_the_reference(row):
    from parity.results import entry_text

    named = {*entry_text(row).asked, *row.pins, *(source.pin for source in row.sources)}
    asked = {pin for claim in row.claims if claim.about != "subject" for pin in row.pins_of(claim)}
    assert named <= asked


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_sources_and_pins_name_pins_that_exist(row):
    from reference_harness.pins import PINS, find_pin

    repository = {"DreamerV3": "dreamerv3-", "TD-MPC2": "tdmpc2-", "both": ""}[row.agent]
    names = {pin.name for pin in PINS}
    for source in row.sources:
        assert source.pin in names
        assert source.pin.startswith(repository)
        first, last = bounds(source.lines)
        assert 1 <= first <= last < first + 60
        assert source.lines == (str(first) if first == last else f"{first}-{last}")
        assert not source.file.startswith("/")
    assert set(row.pins) <= names
    # What is measured at a pin must be said to be so there.
    sourced = {source.pin for source in row.sources}
    assert {pin for pin in row.pins if find_pin(pin).commit} <= sourced or not row.sources


@pytest.mark.reference
@pytest.mark.parametrize("pin_name", ALL_PINS)
def test_sources_lie_in_the_checkout(pin_name):
    from reference_harness import checkout
    from reference_harness.pins import find_pin

    found = checkout.read(find_pin(pin_name))
    if found is None:
        pytest.skip(f"{pin_name} is not installed")
    for row in ROWS:
        for source in row.sources:
            if source.pin == pin_name:
                lines = (found.tree / source.file).read_text().splitlines()
                first, last = bounds(source.lines)
                assert last <= len(lines), f"{row.id}: {source}"
                assert lines[first - 1].strip(), f"{row.id}: {source} starts on an empty line"
                assert lines[last - 1].strip(), f"{row.id}: {source} ends on an empty line"


def test_listing_the_rows_loads_nothing_heavy():
    program = "import sys, deviations; print(sorted(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in ast.literal_eval(result.stdout)}
    assert "deviations" in loaded
    assert not loaded & {"jax", "jaxlib", "flax", "torch", "hypothesis", "scipy", "core"}
