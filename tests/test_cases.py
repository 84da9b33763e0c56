"""Whatever a registered claim draws, or searches with, fits the operations that it asks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.implementations import CannotMeasureError, Implementation, InProcess
from parity.registry import load_registry
from parity.runner import outcome
from parity.sides import ReferenceAnswerError

CLAIMS = [(entry, claim) for entry in load_registry() for claim in entry.claims]
SEARCHED = [(entry, claim) for entry, claim in CLAIMS if claim.search]


def names(places):
    return [f"{entry.id}/{claim.id}" for entry, claim in places]


@pytest.mark.parametrize(("entry", "claim"), SEARCHED, ids=names(SEARCHED))
def test_every_search_draws_inputs_that_the_operation_takes(entry, claim):
    asked = []

    class Asked(Implementation):
        name, is_core = "asked", True

        def answer(self, operation, inputs):
            asked.append(operation)
            raise CannotMeasureError("it was asked")

    @settings(max_examples=3)
    @given(st.data())
    def draw(data):
        found = outcome(entry, claim, Asked(), Asked(), data.draw(claim.search()))
        assert found.why == "it was asked"

    draw()
    assert set(asked) <= set(claim.operations)


@pytest.mark.parametrize(("entry", "claim"), CLAIMS, ids=names(CLAIMS))
def test_every_claim_asks_the_same_in_every_run(entry, claim):
    first, again = (repr(claim.cases(entry.rng(claim))) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(("entry", "claim"), CLAIMS, ids=names(CLAIMS))
def test_a_claim_about_the_core_s_choice_is_not_asked_of_a_port(entry, claim):
    port = InProcess("port", {})
    try:
        found = outcome(entry, claim, port, port, claim.cases(entry.rng(claim)))
    except ReferenceAnswerError:
        return
    assert found.verdict == "NOT MEASURED"
    assert ("core's own choice" in found.why) == claim.core_only


def test_extreme_scalars_hold_both_zeros_and_subnormals():
    from parity.cases import EXTREME_SCALARS

    assert np.signbit(EXTREME_SCALARS[EXTREME_SCALARS == 0]).tolist() == [False, True]
    assert np.any((EXTREME_SCALARS != 0) & (np.abs(EXTREME_SCALARS) < np.finfo(np.float32).tiny))
