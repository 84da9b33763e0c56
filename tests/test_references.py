"""The references' side of a run: recorded, live, and gone stale."""

import numpy as np
import pytest
from small_registry import (
    OTHER_PIN,
    PIN,
    REGISTRY,
    SOUND,
    SYMLOG,
    Worker,
    claim,
    entry,
    symlog,
)
from test_runner import only

from parity.claims import Measurement
from parity.implementations import CannotMeasureError, InProcess, NotHereError
from parity.operations import Array
from parity.recorder import record
from parity.references import References, staleness
from parity.runner import run
from parity.workers import start_reference
from reference_harness.errors import HarnessError
from reference_harness.recordings import Recording


def test_claims_that_ask_the_same_ask_once(tmp_path):
    worker = Worker()

    def same(rng):
        return {"x": np.float32([1, 2]), "mode": "eager"}

    def spoils(subject, reference, inputs):
        reference(SYMLOG, **inputs)["y"] *= 0
        return Measurement(0, 0, 1)

    claims = [claim("a", spoils, cases=same), claim("b", cases=same)]
    with References("live", tmp_path, start=lambda pin: worker) as references:
        (found,) = run([entry(*claims)], SOUND, references, source="live")
    assert worker.asked == [SYMLOG]
    assert worker.closed
    assert [c.verdict for c in found.claims] == ["HOLDS", "HOLDS"]


def recorded(folder, entries=REGISTRY, **options):
    with References("live", None, start=lambda pin: Worker()) as references:
        return record(entries, SOUND, references, command="parity record", folder=folder, **options)


def test_what_was_recorded_answers_later(tmp_path):
    done = recorded(tmp_path)
    assert [(w.pin, w.answers, w.added) for w in done.written] == [(PIN, 2, 2), (OTHER_PIN, 1, 1)]
    assert done.left_out == ()
    (session,) = Recording(PIN, tmp_path).sessions
    assert session["commit"].startswith("29eb964")
    assert session["packages"] == {"jax": "0.4.26"}
    records = run(REGISTRY, SOUND, References("recorded", tmp_path))
    assert {(c.verdict, c.source) for r in records for c in r.claims if c.pin} == {
        ("HOLDS", "recorded")
    }


def test_what_was_not_recorded_is_not_measured(tmp_path):
    recorded(tmp_path, [REGISTRY["symlog"]])
    found = only(entry(claim()), references=References("recorded", tmp_path))
    assert found.verdict == "NOT MEASURED"
    assert "never recorded" in found.why
    assert "--live" in found.why


def test_a_claim_that_the_subject_cuts_short_is_not_recorded(tmp_path):
    with References("live", None, start=lambda pin: Worker()) as references:
        nobody = InProcess("nobody", {})
        done = record(REGISTRY, nobody, references, command="", folder=tmp_path)
    assert all(w.answers == 0 for w in done.written)
    assert f"D1/equal at {PIN}: nobody does not offer {SYMLOG}" in done.left_out


def test_a_reference_that_is_not_installed_is_not_measured(tmp_path):
    def absent(pin):
        raise CannotMeasureError(f"{pin} is not installed")

    references = References("live", tmp_path, start=absent)
    found = only(entry(claim()), references=references, source="live")
    assert (found.verdict, found.source) == ("NOT MEASURED", "live")
    assert found.why == f"{PIN} is not installed"


def test_a_worker_that_breaks_stops_the_run(tmp_path):
    def broken(pin):
        raise HarnessError("the environment is damaged")

    references = References("live", tmp_path, start=broken)
    with pytest.raises(HarnessError, match="damaged"):
        only(entry(claim()), references=references, source="live")


def test_a_live_answer_that_moved_is_stale_and_one_within_noise_is_not(tmp_path):
    recorded(tmp_path)

    def moved(by):
        return Worker({SYMLOG: lambda x, mode: {"y": symlog(x, mode)["y"] * np.float32(1 + by)}})

    stale = []
    for by in (1e-4, 2e-7):
        references = References("live", tmp_path, start=lambda pin, by=by: moved(by))
        run([REGISTRY["symlog"]], SOUND, references, source="live")
        stale.append(references.stale)
    ((found,), none) = stale
    assert none == []
    assert (found.pin, found.operation, found.output) == (PIN, SYMLOG, "y")
    assert found.distance > found.allowed > 0


FLOATS = Array("y", "B", "float32", "", noise=0.1, floor=0.5)


@pytest.mark.parametrize(
    ("live", "recorded_", "expected"),
    [
        ([10.0, 0.0], [10.5, 0.0], (0.5, 1.05)),
        ([0.1, 0.0], [0.0, 0.0], (np.float32(0.1), 0.5)),
        ([np.nan, 1.0], [np.nan, 1.0], (0.0, 0.5)),
        ([np.nan, 1.0], [1.0, 1.0], (np.inf, 0.5)),
        ([np.inf, 1.0], [np.inf, 1.0], (0.0, 0.5)),
        ([np.inf, 1.0], [-np.inf, 1.0], (np.inf, 0.5)),
        ([1.0], [1.0, 1.0], (np.inf, 0.5)),
    ],
)
def test_staleness(live, recorded_, expected):
    found = staleness(FLOATS, np.float32(live), np.float32(recorded_))
    assert found == pytest.approx(expected, rel=1e-6)


def test_staleness_of_integers_is_exact():
    counts = Array("n", "B", "int64", "")
    big = np.array([2**60, 5])
    assert staleness(counts, big, big) == (0.0, 0.0)
    far, allowed = staleness(counts, big + np.array([1, 0]), big)
    assert far >= 1 > allowed


def test_a_pin_that_is_not_installed_could_be_asked_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_MODEL_PARITY_HOME", str(tmp_path))
    with pytest.raises(NotHereError, match="parity reference install"):
        start_reference(PIN)
