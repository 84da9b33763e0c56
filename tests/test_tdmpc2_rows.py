"""What rows T13, T16, T17 and T29 see: each measurement can fail, and says by how much."""

import numpy as np
import pytest
from numpy_port_tdmpc2 import row_slices, whole_numbers

from deviations import ROWS
from parity.implementations import InProcess
from parity.registry import Claim

CLAIMS = {f"{row.id}/{claim.id}": (row, claim) for row in ROWS for claim in row.claims}


def asked(name, **answers):
    """The measurement of a claim whose subject and reference give these answers."""
    row, claim = CLAIMS[name]
    side = InProcess("given", {f"tdmpc2.{op}": answer for op, answer in answers.items()})
    return claim.measure(side, side, claim.cases(row.rng(claim)))


def holds(name, found):
    claim: Claim = CLAIMS[name][1]
    return claim.tolerance.judge(found) == "HOLDS"


@pytest.mark.parametrize("name", ["T29/core-shares", "T29/core-tail"])
def test_shares_of_slices_are_held_to_chance(name):
    assert holds(name, asked(name, row_slices=row_slices))
    biased = asked(name, row_slices=lambda **given: row_slices(**given, bias=0.2))
    assert 5 < biased.high < 100
    assert np.isnan(asked(name, row_slices=lambda **given: row_slices(**given, late=1)).high)


def test_a_replay_that_is_sampled_too_early_is_noticed():
    name = "T29/core-refuses"
    assert asked(name, row_slices=row_slices).high == 0

    def always(**given):
        return row_slices(**given) | whole_numbers(possible=1)

    assert asked(name, row_slices=always).high == 1


def planned(rewards, ends, values, discount, episodic, cut=True, factor=1.0):
    del episodic
    alive, total = np.ones_like(values), np.zeros_like(values)
    for t, paid in enumerate(rewards):
        total = total + np.float32(discount) ** t * alive * paid
        alive = alive * (ends[t] <= 0.5) if cut else alive
    total = total + np.float32(discount) ** len(rewards) * alive * values
    return {"planned": (factor * total).astype(np.float32)}


def test_plans_count_what_follows_an_end_or_do_not():
    name = "T29/core-plan"
    assert asked(name, planned_values=planned).high == 4
    assert asked(name, planned_values=lambda **given: planned(**given, cut=False)).high == 0
    wrong = asked(name, planned_values=lambda **given: planned(**given, factor=1.01))
    assert np.isnan(wrong.high)


def beginning(updates_per_step=1, burst=24):
    def answer(ticks, seed_steps, length, limit, envs, horizon):
        del limit, horizon
        tick = np.arange(ticks)
        stepped = np.where(tick % (length + 1) == length, 0, envs)
        last = max(seed_steps // envs, 6)
        due = np.where(tick > last, stepped * updates_per_step, 0)
        due[last] = burst
        at_random = np.where(tick <= last, stepped, 0)
        return whole_numbers(stepped=stepped, random=at_random, updates=np.cumsum(due))

    return answer


def test_updates_that_come_late_or_twice_are_counted():
    name = "T29/core-updates"
    assert asked(name, episodic_run=beginning()).high == 0
    assert asked(name, episodic_run=beginning(burst=23)).high == 16 + 28
    assert asked(name, episodic_run=beginning(updates_per_step=2)).high == 15 + 27
    assert asked("T29/core-seed", episodic_run=beginning()).high == 19
    assert asked("T29/core-waits", episodic_run=beginning()).high > 0


def test_an_evaluation_is_held_to_its_schedule_and_its_protocol():
    def evaluated(*after):
        def answer(updates, every):
            del every
            return whole_numbers(evaluated=np.isin(np.arange(updates) + 1, after))

        return answer

    name = "T16/core-schedule"
    assert asked(name, offline_evaluations=evaluated(3, 6, 7)).high == 0
    assert asked(name, offline_evaluations=evaluated(1, 4, 7)).high == 4
    right = {"episodes": 10, "actions": 80, "explored": 0, "misplaced": 0, "strayed": 0}
    name = "T16/core-actions"
    for change, high in (({}, 0), ({"misplaced": 70}, 70), ({"episodes": 9, "actions": 72}, None)):
        answer = whole_numbers(**(right | change))
        found = asked(name, evaluation_actions=lambda given=answer, **inputs: given).high
        assert np.isnan(found) if high is None else found == high


def test_evaluations_with_the_same_starts_are_noticed():
    def starts(values):
        def answer(updates, tasks, episodes, seed):
            del seed
            of_each = [values[int(n)] for n in updates]
            every = np.arange(tasks * episodes).reshape(tasks, episodes)
            return {"starts": np.stack([every + x for x in of_each]).astype(np.float32)}

        return answer

    name = "T16/core-starts"
    assert asked(name, evaluation_starts=starts({3: 0, 6: 100})).high == 0
    assert asked(name, evaluation_starts=starts({3: 0, 6: 5})).high == 1


def test_factors_of_eleven_bits_are_noticed():
    def product(x, kernel, platform, bits=24):
        del platform
        factors = [np.round(f * 2.0**bits) / 2.0**bits for f in (x, kernel)]
        return {"y": (factors[0] @ factors[1]).astype(np.float32)}

    exact = asked("T13/core-cpu", layer_product=product)
    rounded = asked("T13/core-cpu", layer_product=lambda **given: product(**given, bits=11))
    assert holds("T13/core-cpu", exact)
    assert not holds("T13/core-gpu", exact)
    assert not holds("T13/core-cpu", rounded)
    assert holds("T13/core-gpu", rounded)
