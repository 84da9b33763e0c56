"""What claims measure where a reference lacks a thing, and that they see one that has it."""

import numpy as np
import pytest

from deviations import e18_measurements as suites
from deviations import e19, eras, t29
from parity.implementations import InProcess
from parity.registry import load_registry

ROWS = load_registry()


def measured(entry_id, claim_id, answers):
    """What a claim measures of a reference with these operations."""
    entry = ROWS[entry_id]
    claim = entry.claim(claim_id)
    reference = InProcess("reference", answers)
    found = claim.measure(reference, reference, claim.cases(entry.rng(claim)))
    return found, claim.tolerance.judge(found).value


def serving(one, several, misasked=0):
    def served_tasks(tasks):
        went = np.asarray(several if tasks else one, np.int64)
        return {"planned": went, "updated": went, "misasked": np.asarray(misasked, np.int64)}

    return {eras.SERVED: served_tasks}


@pytest.mark.parametrize("row", ["T15", "T35"])
def test_an_agent_of_several_tasks_is_refused_only_if_one_of_a_single_task_is_served(row):
    assert measured(row, "reference-between", serving(1, 0))[1] == "HOLDS"
    assert measured(row, "reference-between", serving(1, 1))[1] == "BROKEN"
    assert measured(row, "reference-between", serving(0, 0))[1] == "BROKEN"
    assert measured(row, "reference-between", serving(1, 0, misasked=1))[1] == "BROKEN"


def having(**parts):
    names = ("option", "head", "column", "observation", "nonsense")
    answer = {name: np.asarray(parts.get(name, 0), np.int64) for name in names}
    return {t29.measured.PARTS: lambda: answer}


def test_a_reference_without_an_episodic_mode_is_told_from_one_whose_rows_are_empty():
    assert measured("T29", "reference-paper", having(observation=1))[1] == "HOLDS"
    assert measured("T29", "reference-paper", having())[1] == "BROKEN"
    found, verdict = measured("T29", "reference-paper", having(observation=1, head=1))
    assert (found.note, verdict) == ("head", "BROKEN")
    everything = having(option=1, head=1, column=1, observation=1)
    assert measured("T29", "reference-parts", everything)[1] == "HOLDS"
    too_much = having(option=1, head=1, column=1, observation=1, nonsense=1)
    assert measured("T29", "reference-parts", too_much)[1] == "BROKEN"


@pytest.mark.parametrize(("asked", "others", "verdict"), [(1, 0, "HOLDS"), (1, 1, "BROKEN")])
def test_a_task_that_is_not_the_suite_s_alone_is_not_counted(asked, others, verdict):
    def suite_asked(task):
        del task
        return {"asked": np.asarray(asked, np.int64), "others": np.asarray(others, np.int64)}

    found, came = measured("E18", "agents", {suites.ASKED: suite_asked})
    assert (found.high, came) == (len(suites.NAMED) * (others == 0), verdict)


def repeating(*, stops):
    """A repeat of two that stops at an end or does not, in episodes of 500 actions."""

    def action_repeat(actions, repeat, ends, limit, rewards):
        end, made, seen = min(ends or limit, limit), 0, []
        while len(seen) < actions:
            until = min(made + repeat, end) if stops else made + repeat
            paid, made = float(rewards[made:until].sum()), until
            over = made >= end if stops else len(seen) + 1 >= 500
            seen.append((paid, made, over, False))
            if over:
                seen += [seen[-1]] * (actions - len(seen))
        dtypes = {"reward": "float32", "steps": "int64", "ended": "bool", "terminated": "bool"}
        columns = zip(*seen, strict=True)
        return {
            name: np.asarray(column, dtype)
            for (name, dtype), column in zip(dtypes.items(), columns, strict=True)
        }

    return {e19.REPEAT: action_repeat}


@pytest.mark.parametrize("claim", ["tdmpc2-stops", "tdmpc2-limit"])
def test_a_repeat_that_stops_at_the_end_is_told_from_one_that_does_not(claim):
    assert measured("E19", claim, repeating(stops=True))[1] == "HOLDS"
    assert measured("E19", claim, repeating(stops=False))[1] == "BROKEN"


@pytest.mark.parametrize("claim", ["tdmpc2-continues", "tdmpc2-beyond"])
def test_a_repeat_that_goes_on_is_told_from_one_that_does_not(claim):
    assert measured("E19", claim, repeating(stops=False))[1] == "HOLDS"
    assert measured("E19", claim, repeating(stops=True))[1] == "BROKEN"
