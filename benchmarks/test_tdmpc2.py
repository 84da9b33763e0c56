"""The core's update and its plan, compiled, as one call each."""

import pytest

from benchmarks.tdmpc2.ours import Ours
from benchmarks.tdmpc2.problems import CASES


@pytest.fixture(scope="module", params=CASES, ids=str)
def ours(request):
    return Ours(CASES[request.param])


def test_two_updates(benchmark, ours):
    benchmark.pedantic(ours.run_updates, args=(2,), rounds=7, warmup_rounds=1)


def test_plan(benchmark, ours):
    benchmark.pedantic(ours.plan_once, rounds=7, iterations=2, warmup_rounds=1)
