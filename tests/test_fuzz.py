"""The search for the worst input."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from small_registry import PIN, SOUND, SYMLOG, TABLE, claim, entry, measure_symlog, symlog

from parity import fuzz
from parity.claims import AtLeast, AtMost, BitIdentical, Equals, Measurement, Verdict, Within
from parity.implementations import CannotMeasureError, InProcess, Overridden
from parity.runner import Outcome, RunError

PLANTED = 7_777


def numbers():
    values = st.integers(-10_000, 10_000).map(np.float32)
    return st.fixed_dictionaries(
        {"x": values.map(lambda value: np.array([value])), "mode": st.just("eager")}
    )


def near_planted(x, mode):
    """Symlog with an error that grows towards the planted input."""
    return {"y": symlog(x, mode)["y"] + np.float32(100) / (1 + np.abs(x - np.float32(PLANTED)))}


def error(subject, reference, inputs):
    found = subject(SYMLOG, **inputs)["y"] - symlog(**inputs)["y"]
    figure = float(np.abs(found).max())
    return Measurement(figure, figure, found.size, inputs)


def search(measure=error, tolerance=None, subject=SOUND, examples=500, seed=0, **fields):
    tolerance = tolerance or AtMost(50.0)
    fields = {"about": "subject", "search": numbers, **fields}
    (found,) = fuzz.searches([entry(claim("far", measure, tolerance=tolerance, **fields))])
    references = lambda pin: InProcess(pin, TABLE)  # noqa: E731
    fuzz.fuzz(found, subject, references, examples=examples, seed=seed)
    return found


def test_finds_a_planted_worst_input_by_climbing():
    wrong = Overridden("wrong", SOUND, {SYMLOG: near_planted})
    found = search(subject=wrong, examples=2_000)
    assert found.verdict is Verdict.BROKEN
    assert found.worst.measurement.high > 50
    assert abs(found.worst.measurement.worst_input["x"][0] - PLANTED) <= 1
    assert found.score > 1


def test_a_sound_subject_holds_and_the_same_seed_finds_the_same():
    found = [search(measure_symlog, seed=seed) for seed in (3, 3, 4)]
    assert all(f.verdict is Verdict.HOLDS for f in found)
    worst = [f.worst.measurement.worst_input for f in found]
    assert worst[0] == worst[1]
    assert all(0 < f.examples <= 500 for f in found)


def test_a_subject_that_fails_on_one_input_is_broken_there():
    def fails(x, mode):
        if np.any(x > 9_000):
            raise ValueError("too large")
        return symlog(x, mode)

    found = search(subject=Overridden("fragile", SOUND, {SYMLOG: fails}))
    assert found.verdict is Verdict.BROKEN
    assert "too large" in found.worst.why
    assert found.worst.asked["x"][0] > 9_000


def test_what_can_not_be_asked_is_not_measured():
    def absent(pin):
        raise AssertionError("nobody may be asked")

    found = search(subject=InProcess("partial", {}))
    assert found.verdict is Verdict.NOT_MEASURED
    assert "does not offer" in found.worst.why

    class Missing(InProcess):
        def answer(self, operation, inputs):
            raise CannotMeasureError("not installed")

    both = claim("both", search=numbers)
    (running,) = fuzz.searches([entry(both)])
    assert running.pin == PIN
    fuzz.fuzz(running, SOUND, lambda pin: Missing(pin, {}), examples=10, seed=0)
    assert (running.verdict, running.worst.why) == (Verdict.NOT_MEASURED, "not installed")
    (nowhere,) = fuzz.searches([entry(both, pins=())])
    fuzz.fuzz(nowhere, SOUND, absent, examples=10, seed=0)
    assert nowhere.verdict is Verdict.NOT_MEASURED


def test_an_interrupted_search_keeps_the_worst_so_far():
    seen = []

    def interrupts(subject, reference, inputs):
        seen.append(float(abs(inputs["x"][0])))
        if len(seen) == 20:
            raise KeyboardInterrupt
        return Measurement(seen[-1], seen[-1], 1)

    (running,) = fuzz.searches(
        [entry(claim(measure=interrupts, tolerance=AtMost(1e9), search=numbers, about="subject"))]
    )
    with pytest.raises(KeyboardInterrupt):
        fuzz.fuzz(running, SOUND, lambda pin: SOUND, examples=100, seed=0)
    assert running.examples == 19
    assert running.worst.measurement.high == max(seen[:-1])


def test_a_claim_or_a_search_that_fails_itself_is_named():
    with pytest.raises(RunError, match="D1/far"):
        search(lambda *_: 1 / 0)
    with pytest.raises(RunError, match="D1/far draws no inputs"):
        search(search=lambda: st.nothing())


def test_nothing_is_left_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    search(measure_symlog, examples=20)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tolerance", "edge", "beyond"),
    [
        (AtMost(2.0), (2, 2), (2.1, 2.1)),
        (AtMost(0.0), (0, 0), (0.1, 0.1)),
        (AtLeast(2.0), (2, 5), (1.9, 5)),
        (Within(-1.0, 3.0), (-1, 3), (-1.1, 0)),
        (Equals(3), (3, 3), (3, 3.1)),
        (BitIdentical(), (0, 0), (1, 1)),
    ],
)
def test_the_score_passes_one_where_the_tolerance_breaks(tolerance, edge, beyond):
    def scored(figures):
        found = Measurement(*figures, compared=1)
        return fuzz.score(tolerance, Outcome(tolerance.judge(found), found))

    assert scored(edge) == pytest.approx(1)
    assert scored(beyond) > 1
    nan = scored((math.nan, math.nan))
    assert math.isfinite(nan)
    assert nan > scored(beyond)
