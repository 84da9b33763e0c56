import html
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_samples import APRIL, PAPER, claim, d22, entry, provenance, text_of
from rich.console import Console

from reports import escaping, junit, lines, terminal
from reports.figures import margins_figure
from reports.markdown import deviations_document
from reports.records import EntryRecord

# Lines.


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


# The terminal.


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


# JUnit.


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


# Markdown.

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def rendered_cells(markdown: str) -> list[str]:
    cells = re.findall(r"<td>(.*?)</td>", MARKDOWN.render(markdown), re.S)
    return [re.sub(r"<[^>]*>", "", cell) for cell in cells]


PROSE = (
    "E_p|b| is a*b*c, ~0.3 and ~0.4",
    "<script> & &amp; __init__ \\| [a](b)",
    "`p|q` and `x_y` in\nlines",
    "costs $1 or $2",
)


@pytest.mark.parametrize("text", PROSE)
def test_prose_comes_out_as_it_went_in(text):
    table = escaping.table([["a", "b"], [escaping.cell(text), "end"]])
    wanted = text.replace("\n", " ").replace("`", "")
    assert [html.unescape(cell) for cell in rendered_cells(table)] == [wanted, "end"]
    paragraph = MARKDOWN.render(f"**A:** {escaping.prose(text)}")
    plain = html.unescape(re.sub(r"</?(?:p|strong|code)>", "", paragraph))
    assert plain == f"A: {wanted}\n"


@given(st.text(st.sampled_from("\\\\|`*_~<[]()&; ab\n")))
def test_no_text_breaks_out_of_its_cell(text):
    assert len(rendered_cells(escaping.table([["a", "b"], [escaping.cell(text), "end"]]))) == 2


def test_rows_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="2 cells"):
        escaping.table([["a", "b"], ["c"]])


def document() -> str:
    texts = [
        text_of("D22"),
        text_of("agreement-1", "agreement", title="Returns"),
        text_of("D23", claims=("kernel", "bias")),
        text_of("D26"),
        text_of("T15", claims=()),
    ]
    kept = claim("kernel", provenance=provenance(created="2026-01-01", platform="Darwin"))
    measured = [entry("agreement-1", claim("returns")), d22(), entry("D23", kept), entry("D0")]
    return deviations_document(texts, {record.entry: record for record in measured})


def section(text: str, entry_id: str) -> str:
    start = text.index(f'### <a id="{entry_id.casefold()}">')
    end = re.compile(r"^##", re.M).search(text, start + 3)
    return text[start : end.start() if end else None]


def test_every_table_of_the_document_is_well_formed():
    widths: list[set[int]] = []
    for block in re.findall(r"(?:^\|.*\n)+", document(), re.M):
        widths.append({len(re.split(r"(?<!\\)\|", line)) for line in block.splitlines()})
    assert len(widths) == 2 + 3  # two overviews, three entries with claims
    assert all(len(width) == 1 for width in widths)
    assert MARKDOWN.render(document()).count("<table>") == len(widths)


def test_the_document_says_that_it_is_generated_and_links_every_entry():
    text = document()
    assert "Generated by `parity report`" in text[:200]
    assert "Do not edit this file" in text[:200]
    for entry_id in ("D22", "agreement-1", "D23", "D26", "T15"):
        assert f"[{entry_id}](#{entry_id.casefold()})" in text
        assert f'<a id="{entry_id.casefold()}"></a>{entry_id}' in text
    overview = "| Two-hot | **1 BROKEN**, 8 HOLDS, 1 NOT MEASURED | reference bug |"
    assert overview.replace("Two-hot", "The title of D22") in text
    assert "| The title of D23 | 1 HOLDS, 1 NOT MEASURED |" in text
    assert "**1 BROKEN**, 10 HOLDS, 4 NOT MEASURED." in text
    # Agreements have a section of their own after the deviations.
    assert text.index('id="t15"') < text.index("## Agreements") < text.index('id="agreement-1"')


def test_a_section_shows_stated_beside_measured_and_says_what_is_contradicted():
    text = section(document(), "D22")
    row = next(line for line in text.splitlines() if "**zero-head**" in line)
    assert "**-0.1722 to 0.177**<br>stated −0.17 to +0.16: **contradicted**" in row
    assert "*The constant depends on the compiled program" in row
    assert "stated 1.3e-6 relative: agrees" in text
    assert "| **BROKEN**<br>2411f7d<br>recorded | **mirror-noise** | **0.3061**" in text
    assert "≤ 0.3<br>2% over<br>least ≤ 0.3061 |" in text
    assert "**BROKEN: mirror-noise at 2411f7d (recorded).**" in text
    assert "Worst input: logits = float32[255]" in text
    assert "- at 29eb964: `dreamerv3/nets.py:467-476, 758`\n" in text
    assert "- at 2411f7d: `dreamerv3/nets.py:462-471`\n" in text
    assert "- D22/zero-head states −0.17 to +0.16" in document()


def test_what_was_not_measured_is_never_left_out():
    text = document()
    assert "NOT MEASURED: not run yet." in section(text, "D26")
    assert "NOT MEASURED: no claim is registered yet." in section(text, "T15")
    # One claim of D23 has a record, the other is registered and has none.
    assert "| NOT MEASURED | **bias**<br>Not measured: not run yet | — |  |" in section(text, "D23")
    assert "Not measured: dreamerv3-29eb964 is not installed" in section(text, "D22")
    empty = deviations_document([text_of("D26")], {"D26": entry("D26")})
    assert "NOT MEASURED: no claim is registered yet." in empty


def test_the_provenance_stands_once_at_the_end_with_what_was_kept_from_earlier_runs():
    end = document().partition("## Where this was measured")[2]
    assert end.count("- **core**") == 2
    assert "Python 3.11.9, jax 0.10.2" in end
    assert "Darwin; for D23." in words(end)
    assert "AMD EPYC, 2 cores; for D22, agreement-1." in words(end)


def test_equal_records_give_equal_documents():
    texts = [text_of("D22"), text_of("D23")]
    measured = {"D22": d22(), "D23": entry("D23", claim("a"))}
    backwards = dict(reversed(measured.items()))
    assert deviations_document(texts, measured) == deviations_document(texts, backwards)


# The picture.


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
