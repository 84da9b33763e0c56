"""Where the worst figure of a claim is, and which question it is of."""

import numpy as np
import pytest
from small_registry import REGISTRY, SOUND, SYMLOG, TABLE, claim, entry

from parity.claims import AtMost, Equals, Verdict, Within
from parity.comparisons import compare, gap, worst_of
from parity.exchanges import Exchange, describe, first_difference, questions
from parity.implementations import InProcess, Overridden
from parity.measurements import Element, Measurement, measure_bits, measure_errors, measure_range
from parity.outcome import drawn, outcome

F32 = np.float32


def asked(x, ours, theirs, mode="eager"):
    inputs = {"x": F32(x), "mode": mode}
    sides = (("subject", ours), ("reference", theirs))
    return [Exchange(side, SYMLOG, inputs, {"y": F32(value)}) for side, value in sides]


def test_an_element_is_named_by_its_output_and_axes_with_both_values():
    notes = asked([1, 2], [3, 4], [3, 5]) + asked([1, 2], [3, 4], [3, 5], "compiled")
    ours, theirs = (note.answer["y"] for note in notes[2:])
    said = describe(Element((1,), ours, theirs), notes)
    assert said == "y[B=1] of dreamerv3.symlog: the subject answered 4.0, the reference 5.0"
    said = describe(Element((0,), theirs, np.float64([2.5, 0])), notes)
    assert said == (
        "y[B=0] of dreamerv3.symlog: the reference answered 3.0 (float32), expected 2.5 (float64)"
    )
    (question,) = questions(notes, Element((1,), ours, theirs))
    assert question.inputs["mode"] == "compiled"
    assert set(question.answers) == {"subject", "reference"}


def test_an_array_that_the_claim_made_itself_has_an_index_alone():
    notes = asked([1, 2], [3, 4], [3, 5])
    computed = F32([[3.0, 4.0]])
    said = describe(Element((0, 1), computed, computed + 1), notes)
    assert said == "at [0, 1]: answered 4.0, expected 5.0"
    assert len(questions(notes, Element((0, 1), computed, computed))) == 1  # all that was asked


def test_measurements_keep_the_element_through_the_worst_of_several():
    ours, theirs = F32([[1, 2], [3, 9]]), F32([[1, 2], [3, 4]])
    found = measure_errors(gap(ours, theirs), {}, answers=(ours, theirs))
    least = measure_errors(np.ones(3), {}, answers=(np.ones(3), np.zeros(3)))
    worst = worst_of([least, found, measure_bits(ours, ours, {})])
    assert worst.element.place == (1, 1)
    assert worst.element.answered is ours
    assert measure_bits(ours, theirs, {}).element.place == (1, 1)
    assert measure_bits(ours, ours, {}).element is None
    # Errors of another shape than the answers have no element of them.
    assert measure_errors(np.ones(2), {}, answers=(ours, theirs)).element is None


@pytest.mark.parametrize("place", range(3))
def test_a_nan_among_several_measurements_is_never_lost(place):
    figures = [0.0, 1.0, 2.0]
    figures[place] = np.nan
    worst = worst_of(Measurement(x, x, 1) for x in figures)
    spread = measure_range(figures)
    assert AtMost(3.0).judge(worst) == Within(-3.0, 3.0).judge(spread) == "BROKEN"


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_the_question_on_which_a_claim_is_worst_is_kept_with_both_answers(mode):
    def wrong(x, mode):
        y = TABLE[SYMLOG](x, mode)["y"].copy()
        y[2] += 1 if mode == asked_in else F32(0.25)
        return {"y": y}

    asked_in = mode
    both = claim(
        measure=compare(SYMLOG, "y", lambda a, b, _: gap(a, b)),
        cases=lambda rng: {"x": rng.random(4, np.float32)},
        tolerance=Equals(0),
    )
    port = Overridden("port", SOUND, {SYMLOG: wrong})
    row = entry(both)
    found = outcome(row, both, port, InProcess("a pin", TABLE), drawn(row, both))
    assert found.verdict is Verdict.BROKEN
    assert found.why.startswith("y[B=2] of dreamerv3.symlog: the subject answered ")
    (question,) = found.questions
    assert question.inputs["mode"] == mode
    apart = question.answers["subject"]["y"] - question.answers["reference"]["y"]
    np.testing.assert_allclose(apart, [0, 0, 1, 0], atol=1e-6)


def test_where_no_element_is_worst_the_first_count_that_differs_is_named():
    inputs = {"numerator": 1, "denominator": 2, "steps": np.arange(3)}
    sides = {"subject": [1, 0, 1], "reference": [1, 1, 1]}
    notes = [
        Exchange(side, "dreamerv3.update_schedule", inputs, {"updates": np.int64(answer)})
        for side, answer in sides.items()
    ]
    said = "of dreamerv3.update_schedule: the subject answered 0, the reference 1"
    assert first_difference(notes) == f"updates[T=1] {said}"
    assert first_difference(notes[:1]) == ""
    assert first_difference(asked([1, 2], [3, 4], [3, 5])) == ""  # which may be rounding


def test_of_a_claim_that_holds_and_of_one_without_element_nothing_is_said():
    row = REGISTRY["symlog"]
    (only,) = row.claims
    found = outcome(row, only, SOUND, InProcess("a pin", TABLE), drawn(row, only))
    assert (found.verdict, found.why, found.element) == (Verdict.HOLDS, "", "")
    count = claim(measure=lambda *_: Measurement(3, 3, 4), tolerance=Equals(0))
    found = outcome(entry(count), count, SOUND, SOUND, {})
    assert (found.verdict, found.why) == (Verdict.BROKEN, "")
