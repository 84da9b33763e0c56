"""How precisely the core multiplies matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.tdmpc2 import layers
from core.tdmpc2.train import make_train
from core.tdmpc2.train_config import TrainConfig
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.seeding import Unseeded
from parity.implementations import CannotMeasureError
from parity.operations import Answer

_SMALL = {
    **{"enc_dim": 4, "mlp_dim": 4, "latent_dim": 8, "num_q": 2, "bins": 5, "batch_size": 2},
    **{"num_samples": 4, "num_elites": 2, "num_pi_trajs": 1, "iterations": 1, "horizon": 1},
}
_LENGTH = 8


def _products(jaxpr: Any) -> Iterator[Any]:
    """The precision of every matrix product of a program and of the programs within it."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation.params["precision"]
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if _is_program(inner):
                yield from _products(getattr(inner, "jaxpr", inner))


def _is_program(value: Any) -> bool:
    return hasattr(getattr(value, "jaxpr", value), "eqns")


def product_precision() -> Answer:
    """See `tdmpc2.product_precision`."""
    config = TrainConfig(stage.config(**_SMALL), steps=16, log_every=16, seed_steps=_LENGTH)
    functions = make_train(config, Unseeded(_LENGTH, 1))
    state = jax.eval_shape(functions.init, jax.eval_shape(lambda: jax.random.split(_key(), 1)))
    program = jax.make_jaxpr(functions.chunk)(state, jnp.int32(1)).jaxpr
    asked = [of for of in map(_both, _products(program)) if of]
    highest = (jax.lax.Precision.HIGHEST,) * 2
    found = {
        "products": sum(1 for _ in _products(program)),
        "asked": len(asked),
        "full": asked.count(highest),
    }
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


def _key() -> Any:
    return jax.random.key(0)


def _both(precision: Any) -> tuple[Any, ...]:
    """The precision of both factors; empty where it is left to the library."""
    given = precision if isinstance(precision, tuple) else (precision, precision)
    return () if set(given) <= {None, jax.lax.Precision.DEFAULT} else given


def layer_product(x: np.ndarray, kernel: np.ndarray, platform: str) -> Answer:
    """See `tdmpc2.layer_product`."""
    try:
        (device, *_) = jax.devices(platform)
    except RuntimeError:
        raise CannotMeasureError(f"there is no {platform.upper()} here") from None
    with jax.default_device(device):
        # By its name in the module, which a fault replaces.
        multiply = stage.compiled(_multiply)
        return stage.answers({"y": multiply(*jax.device_put((x, kernel), device))})


def _multiply(x: Any, kernel: Any) -> Any:
    return layers.product(x, kernel)


TABLE = {
    "tdmpc2.product_precision": product_precision,
    "tdmpc2.layer_product": layer_product,
}
