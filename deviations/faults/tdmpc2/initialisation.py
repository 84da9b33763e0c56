"""Faults of TD-MPC2's initial parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from deviations.faults.replacing import Change, around, replaced
from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

MODEL = "core.tdmpc2.world_model:WorldModel"
KIND = "parameters"


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _initialised(**wrong: Callable) -> Callable[[], list[Change]]:
    """Networks whose layers start with other initialisers."""

    def changes() -> list[Change]:
        from core.tdmpc2.layers import Perceptron

        def initialisers(sound, self, fan_in):
            kernel, bias = sound(self, fan_in)
            return wrong.get("kernel", kernel), wrong.get("bias", bias)

        return around(Perceptron, "_initialisers", initialisers)

    return changes


def _lecun(key, shape, dtype="float32"):
    import jax

    return jax.nn.initializers.lecun_normal()(key, shape, dtype)


def _truncated(key, shape, dtype="float32"):
    import jax

    return 0.02 * jax.random.truncated_normal(key, -2, 2, shape, dtype)


def _small_biases(key, shape, dtype="float32"):
    import jax

    return jax.random.uniform(key, shape, dtype, -0.01, 0.01)


def _random_value_heads() -> list[Change]:
    from core.tdmpc2.layers import Perceptron

    def initialise(sound, self, key, *inputs):
        network = self.clone(zero=False) if self.zero else self
        return sound(network, key, *inputs)

    return around(Perceptron, "init", initialise)


def _splitting(wrong: Callable[[int], bool]) -> Callable[..., Any]:
    """Networks drawn with a `split` that gives one key over and over where it is wrong."""

    def init(sound, self, key):
        import jax

        from core.tdmpc2 import world_model

        def split(key, num=2):
            return _jnp().stack([key] * num) if wrong(num) else jax.random.split(key, num)

        random = SimpleNamespace(**{**vars(jax.random), "split": split})
        changed = SimpleNamespace(**{**vars(jax), "random": random})
        with replaced((world_model, "jax", changed)):
            return sound(self, key)

    return init


NETWORKS = 5  # into which the agent splits its key


def _own_targets() -> list[Change]:
    from core.tdmpc2.agent import Agent

    def init(sound, self, key):
        import jax

        other = sound(self, jax.random.fold_in(key, 1))
        return sound(self, key)._replace(target_q=other.params.model.q)

    return around(Agent, "init", init)


_FRESH = "fresh_parameters"
_KERNELS, _TAILS, _STARTS, _DISTINCT = (
    f"tdmpc2-initialisation/{claim}" for claim in ("kernels", "tails", "starts", "distinct")
)
_TORCH = tuple(f"tdmpc2-initialisation-torch/{claim}" for claim in ("starts", "kernels"))

FAULTS: tuple[Fault, ...] = (
    fault(
        "X336",
        "kernels drawn with the variance of their inputs",
        KIND,
        _FRESH,
        _initialised(kernel=_lecun),
        _KERNELS,
        _TAILS,
        "T32/core",
    ),
    fault(
        "X337",
        "kernels truncated at two standard deviations",
        KIND,
        _FRESH,
        _initialised(kernel=_truncated),
        _KERNELS,
        _TAILS,
    ),
    fault(
        "X338",
        "biases that start at random",
        KIND,
        _FRESH,
        _initialised(bias=_small_biases),
        _STARTS,
        _TORCH[0],
        "T32/core-biases",
    ),
    fault(
        "X339",
        "Q networks initialised like all others where torch's default is asked for",
        KIND,
        _FRESH,
        {"q_init": "normal"},
        *_TORCH,
        "T32/core-torch",
    ),
    fault(
        "F10.tdmpc2",
        "output layers of reward head and Q networks not initialised with zeros",
        KIND,
        _FRESH,
        _random_value_heads,
        _STARTS,
        _TORCH[0],
    ),
    fault(
        "F68",
        "one key for several networks",
        KIND,
        _FRESH,
        within(
            "core.tdmpc2.world_model:WorldModel", "init", _splitting(lambda num: num == NETWORKS)
        ),
        _DISTINCT,
    ),
    fault(
        "F68.ensemble",
        "one key for all members of the ensemble",
        KIND,
        _FRESH,
        within(
            "core.tdmpc2.world_model:WorldModel", "init", _splitting(lambda num: num != NETWORKS)
        ),
        _DISTINCT,
    ),
    fault(
        "X340",
        "target networks drawn by themselves",
        KIND,
        _FRESH,
        _own_targets,
        _STARTS,
    ),
)
