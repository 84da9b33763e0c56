"""Verdicts, and at whose door a failure is laid."""

import numpy as np
import pytest
from small_registry import (
    OTHER_PIN,
    PIN,
    REGISTRY,
    SMALL,
    SOUND,
    SYMLOG,
    TABLE,
    claim,
    entry,
    symlog,
)

from parity import worst_input
from parity.claims import AtMost, Measurement, Stated
from parity.implementations import AnswerError, InProcess, Overridden
from parity.runner import RunError, run


def reference(pin):
    return InProcess(pin, TABLE)


def only(entry_, subject=SOUND, references=reference, **options):
    """The record of the only claim of the entry."""
    (record_,) = run([entry_], subject, references, **options)
    (claim_,) = record_.claims
    return claim_


def test_every_claim_is_measured_at_every_pin_and_the_subject_s_own_once():
    (found,) = run([REGISTRY["D1"]], SOUND, reference)
    assert [(c.claim, c.pin, c.source, c.verdict) for c in found.claims] == [
        ("equal", PIN, "recorded", "HOLDS"),
        ("equal", OTHER_PIN, "recorded", "HOLDS"),
        ("small", None, "none", "HOLDS"),
    ]
    equal, _, small = found.claims
    assert (equal.measured, equal.compared, equal.bound) == ("0", 8, 0.0)
    assert small.unit == "nats"
    assert small.low == small.high > 0
    assert small.least.startswith("≤ ")
    assert float(small.worst_input["x"].removesuffix(" (float32)"))
    assert found.provenance.subject == "sound"
    assert {"numpy", "world-model-parity"} <= found.provenance.packages.keys()


def test_pins_can_be_chosen_and_entries_of_other_pins_are_left_out():
    found = run(REGISTRY, SOUND, reference, pins=[OTHER_PIN])
    assert [(r.entry, c.claim, c.pin) for r in found for c in r.claims] == [
        ("D1", "equal", OTHER_PIN),
        ("D1", "small", None),
    ]


def test_a_difference_is_broken_and_shows_the_input():
    wrong = Overridden("wrong", SOUND, {SYMLOG: lambda x, mode: {"y": np.asarray(x)}})
    found = only(entry(claim()), wrong)
    assert found.verdict == "BROKEN"
    assert found.why.startswith("y[B=")
    assert "] of dreamerv3.symlog: the subject answered " in found.why
    assert found.high > 0
    assert found.worst_input["mode"] == "'eager'"


def test_what_is_not_offered_is_not_measured():
    found = only(entry(claim()), InProcess("partial", {}))
    assert (found.verdict, found.why) == ("NOT MEASURED", f"partial does not offer {SYMLOG}")
    found = only(entry(claim(), pins=()))
    assert found.verdict == "NOT MEASURED"
    assert "names no pin" in found.why


def fails(x, mode):
    raise ZeroDivisionError("oops")


def writes(x, mode):
    x *= 2
    return symlog(x, mode)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (fails, "ZeroDivisionError: oops"),
        (lambda x, mode: {"y": np.zeros(3, np.float32)}, "B=8"),
        (lambda x, mode: {"y": np.zeros(8)}, "float64"),
        (lambda x, mode: {"z": np.zeros(8, np.float32)}, "expected the outputs y"),
        (writes, "changed its input 'x'"),
    ],
)
def test_a_subject_that_gives_no_proper_answer_is_broken(function, why):
    found = only(entry(claim()), Overridden("theirs", SOUND, {SYMLOG: function}))
    assert found.verdict == "BROKEN"
    assert why in found.why
    assert found.worst_input["x"].startswith("float32[8] ")
    assert found.measured == ""


def test_a_subject_that_raises_is_told_where():
    found = only(entry(claim()), InProcess("theirs", {SYMLOG: fails}))
    first, _, where, *_, last = found.why.splitlines()
    assert first == f"theirs failed on {SYMLOG}: ZeroDivisionError: oops"
    assert where.endswith(", in fails")
    assert last == "  | ZeroDivisionError: oops"
    found = only(entry(claim()), InProcess("theirs", {SYMLOG: lambda y: y}))
    assert "unexpected keyword argument 'x'" in found.why
    assert "\n" not in found.why  # the operation was not entered


@pytest.mark.parametrize("function", [fails, lambda x, mode: {"y": np.zeros(3, np.float32)}])
def test_a_reference_that_gives_no_proper_answer_stops_the_run(function):
    bad = InProcess(PIN, {SYMLOG: function})
    with pytest.raises(RunError, match=r"D1/equal .* not the subject"):
        only(entry(claim()), references=lambda pin: bad)


def asks_wrongly(subject, reference, inputs):
    return subject(SYMLOG, x=inputs["x"])


def asks_the_reference(subject, reference, inputs):
    return reference(SYMLOG, **inputs)


@pytest.mark.parametrize(
    "broken",
    [
        claim(measure=asks_wrongly),
        claim(measure=lambda subject, reference, inputs: 1 / 0),
        claim(measure=lambda subject, reference, inputs: None),
        claim(measure=asks_the_reference, about="subject"),
        claim(measure=asks_wrongly, about="reference"),
        claim(cases=lambda rng: rng.nonsense()),
    ],
)
def test_a_claim_that_fails_itself_stops_the_run_by_name(broken):
    with pytest.raises(RunError, match="D1/equal"):
        only(entry(broken))


def test_nothing_compared_is_broken():
    empty = claim(measure=lambda *_: Measurement(0, 0, 0))
    found = only(entry(empty))
    assert (found.verdict, found.why) == ("BROKEN", "nothing was compared")


@pytest.mark.parametrize(("figure", "agrees"), [(4.16e-5, True), (4.15e-5, False)])
def test_a_stated_figure_is_judged_and_does_not_move_the_verdict(figure, agrees):
    stated = claim(
        measure=lambda *_: Measurement(figure, figure, 1),
        tolerance=AtMost(1.0),
        stated=Stated("4.16e-5", 4.155e-5, 4.165e-5),
    )
    found = only(entry(stated))
    assert found.verdict == "HOLDS"
    assert found.stated.agrees is agrees


def test_an_interrupted_entry_hands_over_what_there_is():
    def interrupts(subject, reference, inputs):
        raise KeyboardInterrupt

    handed = []
    entries = [REGISTRY["symlog"], entry(SMALL, claim(measure=interrupts), id="D2")]
    with pytest.raises(KeyboardInterrupt):
        run(entries, SOUND, reference, finished=handed.append)
    assert [(r.entry, [c.claim for c in r.claims]) for r in handed] == [
        ("symlog", ["also"]),
        ("D2", ["small"]),
    ]


def test_progress_counts_every_measurement():
    told = []
    run(REGISTRY, SOUND, reference, progress=lambda *now: told.append(now))
    assert [(done, total) for done, total, _ in told] == [(i, 4) for i in range(5)]
    assert told[0][2] == f"D1/equal at {PIN}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1 (float32)"),
        (np.array(1 / 3), "0.3333333333333333 (float64)"),
        (7, "7"),
        (0.1, "0.1"),
        ("eager", "'eager'"),
        (np.float32([1, 2.5]), "float32[2] 1.0, 2.5"),
        (np.zeros((0, 3), np.float32), "float32[0, 3]"),
        (
            np.float32([[0, 1, 2, 3], [4, 9, -0.1, np.nan]]),
            "float32[2, 4] 0.0, 1.0, 2.0, 3.0, … least -0.1 at [1, 2], greatest 9.0 at [1, 1], "
            "1 NaN",
        ),
        (np.full(8, np.nan, np.float32), "float32[8] nan, nan, nan, nan, …, 8 NaN"),
    ],
)
def test_inputs_are_short_text_and_single_numbers_complete(value, text):
    assert worst_input.text(value) == text


def test_an_answer_error_keeps_its_kind_for_a_claim_that_expects_it():
    def expects(subject, reference, inputs):
        with pytest.raises(AnswerError):
            reference(SYMLOG, **inputs)
        return Measurement(0, 0, 1)

    bad = InProcess(PIN, {SYMLOG: fails})
    found = only(entry(claim(measure=expects)), references=lambda pin: bad)
    assert found.verdict == "HOLDS"
