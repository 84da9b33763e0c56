"""The agent's configuration."""

import dataclasses

import pytest

from core.dreamerv3.config import SIZES, Config, ConfigError


@pytest.mark.parametrize(
    ("size", "deter", "width", "classes"),
    [("1m", 512, 64, 4), ("12m", 2048, 256, 16), ("200m", 8192, 1024, 64)],
)
def test_sizes_set_the_widths(size, deter, width, classes):
    config = Config.of_size(size)
    assert (config.deter, config.units, config.hidden) == (deter, width, width)
    assert config.classes == classes


def test_the_default_is_the_smallest_size():
    assert Config() == Config.of_size("1m")
    assert set(SIZES) == {"1m", "12m", "25m", "50m", "100m", "200m", "400m"}


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(ConfigError, match=r"'free_nat'.*'free_nats'"):
        Config.of_size("1m", free_nat=0.5)


def test_an_unknown_size_lists_the_sizes():
    with pytest.raises(ConfigError, match=r"'2m'.*1m, 12m"):
        Config.of_size("2m")


@pytest.mark.parametrize("value", [1.5, "8", True, None])
def test_a_value_must_have_the_type_of_its_default(value):
    with pytest.raises(ConfigError, match="blocks must be of type int"):
        Config(blocks=value)


def test_an_integer_will_do_for_a_number():
    assert Config(agc=1).agc == 1.0
    assert type(Config(agc=1).agc) is float


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"deter": 12}, "multiple of blocks"),
        ({"compute_dtype": "float16"}, "compute_dtype"),
        ({"imag_horizon": 0}, "at least 1"),
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
