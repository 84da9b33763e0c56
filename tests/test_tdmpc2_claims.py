"""The formulas and inputs that the claims about TD-MPC2 are measured with, on known numbers."""

import numpy as np
import pytest

from parity.agreements.tdmpc2 import case_inputs, losses, optimizer, planner, policies
from parity.core_subject.tdmpc2 import replay, stage


def test_weights_of_two_elites_follow_the_temperature():
    inputs = planner._two_elites(np.random.default_rng(0))
    assert planner.fitted(inputs)["mean"].item() == pytest.approx(0.7311, abs=1e-4)
    assert planner.fitted({**inputs, "temperature": 1.0})["mean"].item() == pytest.approx(
        0.8808, abs=1e-4
    )
    # The least standard deviation holds where the elites agree.
    alike = {**inputs, "actions": np.full_like(inputs["actions"], 0.5)}
    assert planner.fitted(alike)["std"].item() == inputs["min_std"]


@pytest.fixture
def gradients():
    return optimizer.gradient_cases("all")(np.random.default_rng(0))


def test_adam_s_first_step_is_the_learning_rate(gradients):
    found = optimizer.trajectory(gradients)
    step = found["dynamics"][0] - gradients["dynamics"]
    expected = -gradients["learning_rate"] * np.sign(gradients["dynamics_gradients"][0])
    np.testing.assert_allclose(step, expected, rtol=1e-3)
    encoder = found["encoder"][0] - gradients["encoder"]
    assert np.abs(encoder).max() == pytest.approx(0.3 * gradients["learning_rate"], rel=1e-3)


def test_the_policy_s_last_gradient_counts_in_one_era_alone(gradients):
    counted, alone = (
        optimizer.trajectory({**gradients, "counted": which})["norm"] for which in ("all", "model")
    )
    assert counted[0] == alone[0]
    assert (counted[1:] > alone[1:]).all()
    # Some updates are clipped, and some are not: both branches are asked about.
    assert (alone > gradients["limit"]).any()
    assert (alone < gradients["limit"]).any()


def test_losses_of_right_predictions_are_small_and_steps_count_less_and_less():
    inputs = losses._model_cases(np.random.default_rng(0))
    right = {**inputs, "latents": inputs["next_latents"]}
    assert losses.model_losses(right)["consistency"] == 0
    wrong = [inputs["next_latents"].copy() for _ in range(2)]
    wrong[0][0] += 1
    wrong[1][1] += 1
    first, second = (losses.model_losses({**inputs, "latents": x})["consistency"] for x in wrong)
    assert first == pytest.approx(1 / 3, rel=1e-6)
    assert second == pytest.approx(1 / 6, rel=1e-6)


def test_entropy_of_a_policy_at_its_mean():
    # σ = 1 and no noise: ln √(2π) per action, once or scaled by their number.
    inputs = policies._unit_cases("density")(np.random.default_rng(0))
    constant = 0.5 * np.log(2 * np.pi)
    found = policies.entropy(inputs)[0]
    assert found == pytest.approx(3 * constant, abs=1e-5)
    found = policies.entropy({**inputs, "form": "scaled"})[0]
    assert found == pytest.approx(9 * constant, abs=1e-5)


def test_latent_states_are_points_of_simplices():
    states = case_inputs.simplices(np.random.default_rng(0), 7)
    groups = states.reshape(7, -1, case_inputs.V)
    np.testing.assert_array_equal(groups.sum(-1), 1)
    assert (states >= 0).all()
    assert len(np.unique(states, axis=0)) == 7


def test_numbers_of_other_rows_are_counted():
    row, episode = np.asarray([[2], [3], [4]]), np.ones((3, 1), int)
    observation = np.stack([episode, row], axis=-1)
    action, reward = 2 * row[1:], 16 * episode[1:] + row[1:]
    found = replay.count(3, 6, observation, action, reward)
    assert found["torn"] == 0
    assert np.argwhere(found["starts"]).tolist() == [[1, 2]]
    assert replay.count(3, 6, observation, action, reward + 16)["torn"] == 2
    assert replay.count(3, 6, observation[[0, 2, 2]], action, reward)["torn"] == 1


def test_a_faulty_core_has_its_own_settings_and_programs():
    asked = {"rho": 0.75}
    assert stage.config(**asked).rho == 0.75
    sound = stage.compiled(abs)
    with stage.variant(stage.Variant("faulty", (("rho", 1.0),))):
        assert stage.config(**asked).rho == 1.0
        assert stage.compiled(abs) is not sound
    assert stage.config(**asked).rho == 0.75
    assert stage.compiled(abs) is sound
