"""Lines that renderings share, JUnit, and the picture of margins."""

from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import APRIL, PAPER, claim, d22, entry, provenance

from reports import junit, lines
from reports.figures import margins_figure


def test_equal_outcomes_share_a_line_and_different_ones_do_not():
    shown = [(line.claim.claim, line.claim.verdict, line.where) for line in lines.lines_of(d22())]
    assert shown == [
        ("bins", "HOLDS", "29eb964, 2411f7d recorded"),
        ("encode-bits", "HOLDS", "29eb964 recorded"),
        ("decode", "HOLDS", "29eb964 recorded, live"),
        ("uniform-is-zero", "HOLDS", ""),
        ("zero-head", "HOLDS", "29eb964 live"),
        ("mirror-noise", "HOLDS", "29eb964 recorded"),
        ("mirror-noise", "BROKEN", "2411f7d recorded"),
        ("value-noise", "NOT MEASURED", "29eb964"),
    ]


def test_a_line_is_shared_whenever_and_wherever_it_was_measured():
    kept = claim("a", pin=APRIL, seconds=9.0, provenance=provenance(created="2026-01-01"))
    assert len(lines.lines_of(entry("D22", claim("a"), kept))) == 1


def test_a_figure_has_its_unit_unless_the_tolerance_has_it():
    measured = {line.claim.claim: line.measured for line in lines.lines_of(d22())}
    assert measured["encode-bits"] == "0 values that differ"
    assert measured["bins"] == "1.245e-6"  # of "≤ 1.3e-6 relative"
    assert measured["value-noise"] == "—"


def test_a_source_does_not_spread_to_pins_that_it_did_not_answer_for():
    record = entry("D22", claim("a"), claim("a", pin=APRIL, source="live"))
    assert [line.where for line in lines.lines_of(record)] == ["29eb964 recorded", "2411f7d live"]


def test_broken_claims_share_a_line_only_with_the_same_worst_input():
    def outcomes(verdict: str) -> int:
        at = [claim("a", verdict, pin, worst_input={"x": pin}) for pin in (PAPER, APRIL)]
        return len(lines.lines_of(entry("D22", *at)))

    assert (outcomes("HOLDS"), outcomes("BROKEN")) == (1, 2)


def test_an_entry_without_claims_counts_as_not_measured():
    assert lines.tally([d22(), entry("D26")]) == {"HOLDS": 8, "BROKEN": 1, "NOT MEASURED": 2}


def test_junit_has_a_suite_per_entry_and_a_case_per_claim_and_pin():
    root = ET.fromstring(junit.document([d22(), entry("D26")]))
    suite = root.find("testsuite[@name='D22']")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("10", "1", "1")
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("11", "1", "2")
    names = [case.get("name") for case in suite]
    assert names[:2] == ["bins@29eb964", "bins@2411f7d"]
    assert "decode@29eb964 (live)" in names
    assert len(set(names)) == len(names)
    assert suite.find("testcase").get("time") == "0.210"
    failure = suite.find("testcase[@name='mirror-noise@2411f7d']/failure")
    assert failure.get("message") == "measured 0.3061, tolerance ≤ 0.3"
    for text in ("least tolerance that would pass: ≤ 0.3061", "worst input n = 8"):
        assert text in failure.text
    skipped = suite.find("testcase[@name='value-noise@29eb964']/skipped")
    assert "dreamerv3-29eb964 is not installed" in skipped.get("message")
    assert root.find("testsuite[@name='D26']/testcase/skipped") is not None
    contradicted = suite.find("testcase[@name='zero-head@29eb964']/system-out").text
    assert contradicted == "stated −0.17 to +0.16: contradicted, measured -0.1722 to 0.177"


@given(st.text())
def test_junit_is_well_formed_for_any_text(text):
    record = entry(
        "D" + text,
        claim("a" + text, "BROKEN", statement=text, why=text, worst_input={text: text}),
        claim("b", "NOT MEASURED", why=f"because {text}"),
    )
    root = ET.fromstring(junit.document([record]))
    assert root.find("testsuite").get("name") == lines.visible("D" + text).replace("\r", "\\x0d")


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_equal_records_give_equal_pictures(tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    extremes = entry(
        "T24",
        claim("exact", bound=0.0, high=0.0),
        claim("exploded$", "BROKEN", bound=1.0, high="inf"),
        claim("failed", "BROKEN", bound=1.0, why="the subject failed"),
    )
    assert [margins_figure([d22(), extremes], path) for path in paths] == [2, 2]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    moved = msgspec.structs.replace(d22(), claims=d22().claims[1:])
    margins_figure([moved, extremes], paths[1])
    assert paths[0].read_bytes() != paths[1].read_bytes()


@pytest.mark.parametrize(("figure", "place"), [("nan", "inf"), (-1.0, 0.0)])
def test_what_has_no_place_on_the_axis_stands_at_its_edge(tmp_path, figure, place):
    for name, high in (("a", figure), ("b", place)):
        record = entry("D22", claim("x", "BROKEN", bound=1.0, high=high))
        margins_figure([record], tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_of_nothing_and_of_an_unknown_kind_are_refused(tmp_path):
    with pytest.raises(ValueError, match="nothing to draw"):
        margins_figure([entry("D22", claim("a"))], tmp_path / "a.svg")
    with pytest.raises(ValueError, match=r"must end in \.svg or \.png"):
        margins_figure([d22()], tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []
