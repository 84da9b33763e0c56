"""What a training program is: exact ratios, and what 32 bits can not count is refused."""

from fractions import Fraction

import pytest

from core.config import ConfigError
from core.dreamerv3.config import Config
from core.dreamerv3.train_config import TrainConfig


def config(steps=20_000, **overrides):
    return TrainConfig(Config(**overrides), steps=steps)


@pytest.mark.parametrize(
    ("train_ratio", "exact"),
    [(33.3, Fraction(333, 10)), (0.1, Fraction(1, 10)), (512, Fraction(512))],
)
def test_a_decimal_ratio_is_what_was_typed(train_ratio, exact):
    counted = config(train_ratio=train_ratio)
    assert counted.updates_per_row == exact / 1024
    ticks = 1250
    due = 1 + (ticks * 16 - 1040) * exact // 1024
    assert int(counted.updates_after(ticks)) == due


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"train_ratio": 1 / 3}, "too large to count updates exactly"),
        ({"train_ratio": 1e12}, r"is 1.85e\+13 updates in 20,000 steps"),
        ({"train_ratio": 2e9, "steps": 2200}, r"2.28e\+09 updates"),
        ({"batch_length": 2**28}, "rows before the first update, must fit 32 bits"),
        ({"steps": 2**31 - 16}, r"fit 32 bits together, and 2,147,483,632 \+ 16 do not"),
    ],
)
def test_what_32_bits_do_not_count_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        config(**overrides)


def test_the_largest_schedules_do_not_overflow():
    largest = config(steps=2_112, train_ratio=2.0**31, batch_length=64, batch_size=64)
    assert largest.updates_per_row == 2**19
    assert int(largest.updates_after(largest.ticks)) == 1 + (2_112 - 64 * 17) * 2**19


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ConfigError, match="n_envs must be a whole number from 1, not 0"):
        TrainConfig(n_envs=0)
    with pytest.raises(ConfigError, match="steps must be a whole number from 1 to 2,147,483,647"):
        TrainConfig(steps=10**30)
    with pytest.raises(ConfigError, match="enc_layers must be 1 or more in training, not 0"):
        TrainConfig(Config(enc_layers=0))  # with which the networks alone can be made
    with pytest.raises(ConfigError, match="replay_capacity must be 1040 or more, batch_length"):
        TrainConfig(replay_capacity=1039)
    with pytest.raises(ConfigError, match="agent must be a Config"):
        TrainConfig(agent="1m")
