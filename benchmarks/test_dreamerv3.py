"""The core's update and its policy, compiled, as one call each."""

import pytest

from benchmarks.dreamerv3.ours import Ours
from benchmarks.dreamerv3.problems import CASES


@pytest.fixture(scope="module", params=CASES, ids=str)
def ours(request):
    return Ours(CASES[request.param])


def test_two_updates(benchmark, ours):
    benchmark.pedantic(ours.run_updates, args=(2,), rounds=7, warmup_rounds=1)


def test_act(benchmark, ours):
    benchmark.pedantic(ours.act_once, rounds=7, iterations=20, warmup_rounds=1)
