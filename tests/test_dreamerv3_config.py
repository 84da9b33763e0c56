"""The agent's configuration."""

import dataclasses

import pytest

from core.config import ConfigError
from core.dreamerv3.config import SIZES, Config
from core.dreamerv3.ranges import RANGES
from core.dreamerv3.train_config import TrainConfig
from core.training import ranges
from core.training.run_config import RunConfig


@pytest.mark.parametrize(
    ("size", "deter", "width", "classes"),
    [("tiny", 64, 8, 4), ("1m", 512, 64, 4), ("12m", 2048, 256, 16), ("200m", 8192, 1024, 64)],
)
def test_sizes_set_the_widths(size, deter, width, classes):
    config = Config.of_size(size)
    assert (config.deter, config.units, config.hidden) == (deter, width, width)
    assert config.classes == classes


def test_the_default_is_the_smallest_size_that_learns():
    assert Config() == Config.of_size("1m")
    assert set(SIZES) == {"tiny", "1m", "12m", "25m", "50m", "100m", "200m", "400m"}


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(ConfigError, match=r"'free_nat'.*'free_nats'"):
        Config.of_size("1m", free_nat=0.5)
    with pytest.raises(ConfigError, match=r"'zzz' in the configuration: it has units, hidden"):
        Config.of_size("1m", zzz=1)


def test_an_unknown_size_lists_the_sizes():
    with pytest.raises(ConfigError, match=r"'2m'.*tiny, 1m, 12m"):
        Config.of_size("2m")


@pytest.mark.parametrize("value", [1.5, "8", True, None])
def test_a_value_must_have_the_type_of_its_default(value):
    with pytest.raises(ConfigError, match="blocks must be of type int"):
        Config(blocks=value)


def test_an_integer_will_do_for_a_number():
    assert Config(agc=1).agc == 1.0
    assert type(Config(agc=1).agc) is float


def test_every_number_of_a_run_has_a_range_that_its_default_lies_in():
    keys = {
        field.name
        for config in (Config, TrainConfig, RunConfig)
        for field in dataclasses.fields(config)
    }
    no_number = {"compute_dtype", "agent", "train", "env", "seeds", "logdir", "tensorboard"}
    assert keys - no_number == {*RANGES, *ranges.RANGES}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"deter": 12}, "multiple of blocks"),
        ({"compute_dtype": "float16"}, "compute_dtype"),
        ({"minstd": 0.5, "maxstd": 0.25}, "minstd must not be above maxstd: 0.5 is above 0.25"),
        ({"imag_horizon": 0}, "imag_horizon must be a whole number from 1 to 10,000, not 0"),
        ({"enc_layers": -1}, "enc_layers must be a whole number from 0 to 100, not -1"),
        ({"units": 10**30}, "units must be a whole number from 1 to"),
        ({"bins": 8}, "bins must be an odd number from 3"),
        ({"bins": 1}, "bins must be an odd number from 3"),
        ({"batch_length": 1}, "batch_length must be a whole number from 2, not 1"),
        ({"warmup": -1}, "warmup must be a whole number from 0, not -1"),
        ({"unimix": 2}, "unimix must be a number from 0 to 1, not 2.0"),
        ({"beta1": 1.0}, "beta1 must be a number from 0 to below 1, not 1.0"),
        ({"beta2": 1 - 1e-12}, "beta2 must be a number from 0 to below 1"),  # 1 in float32
        ({"learning_rate": float("inf")}, "learning_rate must be a finite number from 0, not inf"),
        ({"learning_rate": 1e39}, "learning_rate must be a finite number"),  # inf in float32
        ({"learning_rate": 10**400}, "learning_rate must be a finite number"),
        ({"actent": float("nan")}, "actent must be a finite number from 0, not nan"),
        ({"eps": 1e-40}, "eps must be a finite number from 1.18e-38"),
        ({"train_ratio": 0}, "train_ratio must be a finite number from 1.18e-38, not 0.0"),
    ],
)
def test_values_that_make_no_agent_are_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        Config(**overrides)


def test_a_configuration_is_immutable_and_prints_every_key():
    config = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.agc = 0.1
    assert Config(**config.to_dict()) == config
    assert len(str(config).splitlines()) == len(config.to_dict())
