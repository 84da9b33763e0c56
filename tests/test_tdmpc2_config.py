"""The configuration of TD-MPC2."""

import dataclasses

import pytest

from core.tdmpc2.config import CHOICES, ERAS, SIZES, Config, ConfigError


def test_the_default_is_size_5_of_the_paper():
    assert Config() == Config.of_size(5) == Config.of_size(5, **ERAS["5f6fade"])
    assert set(SIZES) == {1, 5, 19, 48, 317}


def test_sizes_1_and_317_also_set_the_number_of_q_networks():
    assert [Config.of_size(size).num_q for size in SIZES] == [2, 5, 5, 5, 8]


def test_the_coefficients_are_those_of_the_code_and_not_of_the_paper():
    """Fault F70."""
    c = Config()
    assert (c.consistency_coef, c.reward_coef, c.value_coef, c.rho) == (20, 0.1, 0.1, 0.5)


def test_discounts_follow_the_length_of_an_episode():
    """Fault F66."""
    discounts = [Config().discount(length) for length in (25, 200, 500, 1000, 10_000, 1)]
    assert discounts == pytest.approx([0.95, 0.975, 0.99, 0.995, 0.995, 0.95])


def test_twenty_action_dimensions_take_two_more_iterations():
    assert [Config().planner_iterations(n) for n in (1, 19, 20, 38)] == [6, 6, 8, 8]


@pytest.mark.parametrize("era", ERAS)
def test_eras_are_made_of_registered_choices(era):
    later = Config(**ERAS[era]).to_dict()
    differing = {key for key, value in Config().to_dict().items() if later[key] != value}
    assert differing <= {*CHOICES, "clip_with_policy", "policy_trains_tasks"}
    assert bool(differing) == (era in ("eece801", "e9f5932"))


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(ConfigError, match=r"'num_elite'.*'num_elites'"):
        Config.of_size(1, num_elite=3)


def test_an_unknown_size_lists_the_sizes():
    with pytest.raises(ConfigError, match=r"unknown size 2: .*1, 5, 19"):
        Config.of_size(2)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"horizon": 2.5}, "horizon must be of type int"),
        ({"mpc": 1}, "mpc must be of type bool"),
        ({"latent_dim": 12}, "multiple of simnorm_dim"),
        ({"bins": 100}, "bins must be an odd number"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"num_q": 1}, "num_q must be"),
        ({"num_elites": 513}, "num_elites must not be above num_samples"),
        ({"num_pi_trajs": 512}, "num_pi_trajs must leave"),
        ({"min_std": 3.0}, "min_std must not be above max_std"),
        ({"q_dropout": "never"}, "q_dropout must be one of 'always', 'training'"),
    ],
)
def test_values_that_make_no_agent_are_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        Config(**overrides)


def test_a_configuration_is_immutable_and_prints_every_key():
    config = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.rho = 0.1
    assert Config(**config.to_dict()) == config
    assert len(str(config).splitlines()) == len(config.to_dict())
