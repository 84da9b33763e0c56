"""What a line of the log says of the updates and the evaluations since the line before."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.training import windows
from core.training.program import evaluation_figures


def after(sums, losses):
    for loss in losses:
        sums = windows.add_update(sums, {"loss": jnp.float32(loss), "norm": jnp.float32(-loss)})
    return sums


@pytest.mark.parametrize("losses", [(3.0,), (1.0, 2.0, 6.0), tuple(range(7))], ids=len)
def test_a_line_has_the_mean_over_the_updates_of_its_window(losses):
    sums = after(windows.no_sums({"loss": None, "norm": None}), losses)
    found = windows.mean_metrics(sums)
    assert found.keys() == {"train/loss", "train/norm"}
    assert float(found["train/loss"]) == pytest.approx(np.mean(losses))
    assert float(found["train/norm"]) == pytest.approx(-np.mean(losses))


@settings(max_examples=25)
@given(
    value=st.floats(2**-10, 2**10, width=32), spread=st.floats(0.0, 1.0), seed=st.integers(0, 99)
)
def test_the_mean_of_a_long_window_is_as_exact_as_its_values(value, spread, seed):
    values = value * (1 + spread * np.random.default_rng(seed).uniform(-1, 1, 2_000))
    values = values.astype(np.float32)
    found = float(mean_of(values))
    wanted = values.astype(np.float64).mean()
    # Half a unit in the last place of the total, and of the division: no growth with its length.
    assert abs(found / wanted - 1) < 2 * np.finfo(np.float32).eps


@jax.jit
def mean_of(values):
    def add(sums, value):
        return windows.add_update(sums, {"loss": value}), None

    sums, _ = jax.lax.scan(add, windows.no_sums({"loss": None}), values)
    return windows.mean_metrics(sums)["train/loss"]


def test_a_new_window_forgets_the_updates_of_the_old_one():
    episodes = windows.no_episodes(1)
    old = after(windows.no_sums({"loss": None, "norm": None}), [5.0, 6.0])
    kept = windows.start_window(jnp.array(False), episodes, old)[1]
    assert float(windows.mean_metrics(after(kept, [10.0]))["train/loss"]) == 7.0
    cut = windows.start_window(jnp.array(True), episodes, old)[1]
    assert np.isnan(windows.mean_metrics(cut)["train/loss"])
    assert float(windows.mean_metrics(after(cut, [10.0]))["train/loss"]) == 10.0


def test_an_evaluation_has_the_means_of_every_seed_and_all_of_its_episodes():
    scores, lengths = np.array([[1.0, 2.0, 9.0], [4.0, 4.0, 7.0]]), np.array([[1, 2, 6], [5, 5, 8]])
    figures = evaluation_figures(scores, lengths)
    np.testing.assert_array_equal(figures["eval/return"], [4.0, 5.0])
    np.testing.assert_array_equal(figures["eval/length"], [3.0, 6.0])
    np.testing.assert_array_equal(figures["eval/returns"], scores)
    np.testing.assert_array_equal(figures["eval/lengths"], lengths)
