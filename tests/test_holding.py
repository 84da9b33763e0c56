"""At which pins a row holds, as far as records say."""

import pytest
from report_samples import APRIL, PAPER, claim, entry, text_of

from parity.registry import load_registry
from parity.results import entry_text
from reference_harness.pins import PINS
from reports.entries import Section
from reports.holding import AtPin, at_pin, in_short
from reports.lines import short_pin
from reports.markdown import deviations_document
from reports.records import StatedFigure

HEAD = "dreamerv3-e3f0224"
CONTRADICTED = StatedFigure("one batch", False)


def test_claims_that_hold_speak_for_the_row():
    assert at_pin(PAPER, entry("D1", claim("a"), claim("b"))) == AtPin("29eb964", "holds")


@pytest.mark.parametrize(
    ("second", "otherwise"), [(claim("b", stated=CONTRADICTED), ()), (claim("b"), ("b",))]
)
def test_a_contradicted_figure_and_another_behaviour_speak_against_it(second, otherwise):
    both = at_pin(PAPER, entry("D1", claim("a"), second), otherwise)
    assert both == AtPin("29eb964", "in part", ("b",))
    assert both.text == "in part (but for b)"
    alone = at_pin(PAPER, entry("D1", second), otherwise)
    assert alone.text == "does not hold (b)"


def test_a_broken_claim_is_what_a_reader_must_see():
    record = entry("D1", claim("a"), claim("b", "BROKEN"), claim("c"))
    assert at_pin(PAPER, record, ("c",)) == AtPin("29eb964", "BROKEN", ("b",))


def test_what_says_nothing_of_the_reference_there_says_nothing_of_the_row():
    record = entry(
        "D1", claim("a", pin=APRIL), claim("b", "NOT MEASURED"), claim("c", about="subject")
    )
    assert at_pin(PAPER, record) == AtPin("29eb964", "not measured")
    assert at_pin(PAPER, None) == AtPin("29eb964", "not measured")


def test_the_document_says_it_of_every_pin_of_the_agent():
    text = text_of(
        "D36", asked=(PAPER, APRIL, HEAD), otherwise=("later",), ours=True, claims=("a", "later")
    )
    record = entry("D36", claim("a", pin=APRIL), claim("later"))
    places = Section(text, record).holding
    assert in_short(places) == "2411f7d; not 29eb964; ? e3f0224"
    written = deviations_document([text], {"D36": record})
    assert (
        "**Holds at:** 29eb964 does not hold (later), 2411f7d holds, e3f0224 not measured."
    ) in written
    assert "| [D36](#d36) *ours* |" in written
    assert "| 2411f7d; not 29eb964; ? e3f0224 |" in written
    assert "DreamerV3 · ours: the table lacks it · reference bug" in written


def test_a_row_about_both_agents_speaks_of_every_pin_of_either():
    row = next(entry for entry in load_registry() if entry.id == "E19")
    places = {place.pin: place.outcome for place in Section(entry_text(row), None).holding}
    agents = {short_pin(pin.name) for pin in PINS if pin.commit}
    assert set(places) == agents | {"dm_control-1.0.31", "playground-0.2.0"}
    assert set(places.values()) == {"not measured"}
    alone = next(entry for entry in load_registry() if entry.id == "E21")
    assert Section(entry_text(alone), None).holding == ()


def test_an_agreement_holds_at_no_pin_but_is_compared():
    assert Section(text_of("symlog", "agreement"), entry("symlog", claim("a"))).holding == ()


def test_claims_that_say_where_the_reference_does_otherwise_are_about_it_alone():
    told = [c for e in load_registry() for c in e.claims if c.otherwise]
    assert told
    assert {c.about for c in told} == {"reference"}
    assert not [c.id for c in told if c.stated]
