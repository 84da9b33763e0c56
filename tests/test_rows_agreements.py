"""What the agreements of the data path see: each measurement can fail, and says by how much."""

import numpy as np
import numpy_port_data as port
import pytest

from parity.agreements.dreamerv3 import (
    replay as dreamerv3_replay,
)
from parity.agreements.dreamerv3 import (
    replay_measures as replay,
)
from parity.agreements.dreamerv3 import (
    rows,
    runs,
)
from parity.implementations import InProcess, Overridden
from parity.operations import catalogue

SOUND = InProcess("port", port.OPERATIONS)
RNG = np.random.default_rng(0)
OPERATION = "dreamerv3.replay"


def claim_of(module, name):
    entry, _, claim = name.partition("/")
    return next(e for e in module.AGREEMENTS if e.id == entry).claim(claim)


def changed(operation, change):
    """The sound port, one of whose answers is changed in place."""

    def answer(**inputs):
        given = {k: np.array(v) for k, v in port.OPERATIONS[operation](**inputs).items()}
        change(given, inputs)
        return given

    return Overridden("changed", SOUND, {operation: answer})


def measured(claim, subject, reference=SOUND):
    return claim.measure(subject, reference, claim.cases(RNG))


@pytest.fixture(scope="module")
def asked():
    """A question, its answer, and the same answer with one sequence moved."""
    question = replay.question(2, 9, 2, 5, list(range(5, 33)))
    return question, SOUND(OPERATION, **question)


def test_drawn_rows_are_found_by_their_marks(asked):
    question, answer = asked
    tick, env = replay.places(answer, question)
    np.testing.assert_array_equal(question["mark"][tick, env], answer["mark"])
    unknown = {**answer, "mark": answer["mark"] + 0.5}
    assert (replay.places(unknown, question)[0] == -1).all()


def test_a_sequence_is_whole_where_its_rows_follow_each_other_in_one_environment(asked):
    question, answer = asked
    assert replay.whole(answer, question).all()
    tick, env = replay.places(answer, question)
    mark = question["mark"]
    reversed_rows = {**answer, "mark": answer["mark"][..., ::-1]}
    other_env = {
        **answer,
        "mark": np.stack(
            [mark[tick[..., 0], env[..., 0]], mark[tick[..., 1], 1 - env[..., 1]]], -1
        ),
    }
    of_the_future = {**answer, "mark": np.broadcast_to(mark[-2:, 0], answer["mark"].shape)}
    assert not replay.whole(reversed_rows, question).any()
    assert not replay.whole(other_env, question).any()
    assert not replay.whole(of_the_future, question)[:-1].any()


@pytest.mark.parametrize(
    ("column", "claim"),
    [
        ("online", "replay-queue/order"),
        ("reward", "replay-queue/columns"),
        ("context_deter", "replay-context/latents"),
        ("context_stoch", "replay-context/latents"),
        ("context_action", "replay-context-action/action"),
    ],
)
def test_one_wrong_value_is_one_that_differs(column, claim):
    def change(answer, inputs):
        if inputs["capacity"] == 64:  # of the two questions
            value = answer[column][3:4]
            value.flat[0] = ~value.flat[0] if value.dtype == bool else value.flat[0] + 1

    claim = claim_of(dreamerv3_replay, claim)
    assert measured(claim, SOUND).high == 0
    assert measured(claim, changed(OPERATION, change)).high == 1


def test_starts_that_are_never_drawn_are_counted():
    def change(answer, inputs):
        tick, _ = replay.places(answer, inputs)
        oldest = tick[..., 0] == inputs["after"][-1] - inputs["capacity"] + 1
        oldest &= (inputs["after"] == inputs["after"][-1])[:, None]
        answer["mark"][oldest] = inputs["mark"][[20, 21], 0]

    claim = claim_of(dreamerv3_replay, "replay-uniform/support")
    assert measured(claim, changed(OPERATION, change)).high == 2  # of two environments


def test_uneven_draws_are_seen():
    def change(answer, inputs):
        answer["mark"][10:12] = inputs["mark"][[20, 21], 0]

    claim = claim_of(dreamerv3_replay, "replay-uniform/evenness")
    even, uneven = measured(claim, SOUND), measured(claim, changed(OPERATION, change))
    assert claim.tolerance.holds(even)
    assert not claim.tolerance.holds(uneven)


def test_minus_zero_is_zero_for_stored_actions():
    claim = claim_of(rows, "rows/stored-actions")

    def negate(answer, inputs):
        answer["action"] = np.where(answer["action"] == 0, np.float32(-0.0), answer["action"])

    def keep(answer, inputs):
        answer["action"] = inputs["actions"]

    assert measured(claim, changed("dreamerv3.rows", negate)).high == 0
    assert measured(claim, changed("dreamerv3.rows", keep)).high > 0


def test_starts_of_any_numbers_will_do_if_they_are_fresh():
    observed, fresh = (claim_of(rows, f"rows/{name}") for name in ("observations", "fresh-starts"))

    def shifted(answer, inputs):
        answer["start"] += 1000

    def repeated(answer, inputs):
        answer["start"] %= 2

    assert measured(observed, changed("dreamerv3.rows", shifted)).high == 0
    assert measured(fresh, changed("dreamerv3.rows", shifted)).high == 0
    assert measured(fresh, changed("dreamerv3.rows", repeated)).high > 1


def resuming(digest):
    """A subject whose digests are a function of the component, seed, ticks and interruption."""
    names = [field.name for field in catalogue()["dreamerv3.resumed_run"].outputs]

    def answer(seed, ticks, interrupted_at):
        return {
            name: np.full(32, digest(name, seed, ticks, interrupted_at), np.uint8) for name in names
        }

    return InProcess("resuming", {"dreamerv3.resumed_run": answer})


@pytest.mark.parametrize(
    ("digest", "wrong", "note"),
    [
        (lambda name, seed, ticks, at: seed + ticks * 3, 0, ""),
        (lambda name, seed, ticks, at: 7, 11, "the same in another run: carry, counters"),
        (
            lambda name, seed, ticks, at: seed + ticks * 3 + (at > 0) * (name == "latents"),
            1,
            "changed: latents",
        ),
    ],
)
def test_resumed_runs_differ_in_what_differs_and_digests_must_say_something(digest, wrong, note):
    found = runs.resumed(resuming(digest), SOUND, runs.interrupted(RNG))
    assert found.high == wrong
    assert note in found.note
