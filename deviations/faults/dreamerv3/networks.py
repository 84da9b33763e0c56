"""Faults of layers, encoder and heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deviations.faults.dreamerv3.latent import REPORTED, only
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "networks"


def _layers(hidden: Callable[..., Any] | None, block: Callable[..., Any] | None) -> OperationTable:
    """Hidden layers computed by other functions, of (n, scale) to activations."""
    import jax.numpy as jnp

    from parity.core_subject.running import run

    def plain(x, kernel, bias, scale):
        return hidden(x @ kernel + bias, scale) if hidden else x

    def by_block(blocked, shared, kernel, bias, scale):
        parts = jnp.split(blocked, len(kernel), axis=-1)
        xs = [jnp.concatenate([part, shared], axis=-1) for part in parts]
        n = jnp.concatenate([x @ k for x, k in zip(xs, kernel, strict=True)], axis=-1) + bias
        return block(n, scale, len(kernel)) if block else n

    table: dict[str, Callable[..., Any]] = {}
    if hidden:
        table["dreamerv3.hidden_layer"] = lambda x, layer_kernel, layer_bias, layer_scale, mode: {
            "y": run(plain, mode, x, layer_kernel, layer_bias, layer_scale)
        }
    if block:
        table["dreamerv3.block_hidden_layer"] = lambda blocked, shared, kernel, bias, scale, mode: {
            "y": run(by_block, mode, blocked, shared, kernel, bias, scale)
        }
    return table


def _library_epsilon() -> OperationTable:
    import jax

    from core.numerics import rms_norm

    return _layers(lambda n, scale: jax.nn.silu(rms_norm(n, scale, epsilon=1e-6)), None)


def _layer_norm() -> OperationTable:
    import jax

    from core.numerics import rms_norm

    def layer(n, scale):
        return jax.nn.silu(rms_norm(n - n.mean(-1, keepdims=True), scale))

    return _layers(layer, None)


def _activation_first() -> OperationTable:
    import jax

    from core.numerics import rms_norm

    return _layers(lambda n, scale: rms_norm(jax.nn.silu(n), scale), None)


def _norm_per_block() -> OperationTable:
    import jax
    import jax.numpy as jnp

    from core.numerics import rms_norm

    def layer(n, scale, blocks):
        parts = zip(jnp.split(n, blocks, -1), jnp.split(scale, blocks), strict=True)
        return jax.nn.silu(jnp.concatenate([rms_norm(x, s) for x, s in parts], -1))

    return _layers(None, layer)


def _interleaved_blocks() -> OperationTable:
    import jax

    from core.numerics import rms_norm

    def layer(n, scale, blocks):
        turned = n.reshape(len(n), blocks, -1).swapaxes(1, 2).reshape(n.shape)
        return jax.nn.silu(rms_norm(turned, scale))

    return _layers(None, layer)


def _no_symlog() -> OperationTable:
    """The encoder reads observations as they are."""
    import flax.linen as nn

    from core.dreamerv3.networks import Encoder, hidden_layers

    class Faulty(Encoder):
        @nn.compact
        def __call__(self, observation):
            return hidden_layers(self.layers, self.units, (observation,))[0]

    return only(
        "encode", networks=lambda n: n._replace(enc=Faulty(n.enc.layers, n.enc.units, n.enc.dtype))
    )


def _stoch_first() -> OperationTable:
    """Heads read [stoch, deter]."""
    from parity.core_subject.dreamerv3 import networks

    sound = networks.TABLE

    def turned(parameters: dict[str, Any], network: str, deter: int) -> dict[str, Any]:
        name = f"{network}_hidden0_kernel"
        kernel = parameters[name]
        return {**parameters, name: np.concatenate([kernel[-deter:], kernel[:-deter]])}

    def head(operation: str):
        def call(network, deter, stoch, **parameters):
            parameters = turned(parameters, "head", deter.shape[-1])
            return sound[operation](network=network, deter=deter, stoch=stoch, **parameters)

        return call

    def continuous(deter, stoch, noise, **parameters):
        parameters = turned(parameters, "actor", deter.shape[-1])
        return sound["dreamerv3.continuous_actor"](
            deter=deter, stoch=stoch, noise=noise, **parameters
        )

    return {
        **{name: head(name) for name in ("dreamerv3.shallow_head", "dreamerv3.deep_head")},
        "dreamerv3.continuous_actor": continuous,
    }


def _policy(moments: Callable[[Any], Any]) -> Callable[[], OperationTable]:
    """A continuous policy with other moments, of the actor's output."""

    def overrides() -> OperationTable:
        import functools

        from core.dreamerv3.agent import Agent
        from core.dreamerv3.distributions import NormalPolicy
        from core.spaces import Continuous

        class FaultyPolicy(NormalPolicy):
            def moments(self, raw):
                return moments(raw)

        class FaultyAgent(Agent):
            @functools.cached_property
            def policy(self):
                assert isinstance(self.action_space, Continuous)
                return FaultyPolicy(self.action_space.size, self.config.minstd, self.config.maxstd)

        return only("continuous_actor", agent=FaultyAgent)

    return overrides


def _unshifted_moments(raw):
    import jax
    import jax.numpy as jnp

    mean, std = jnp.split(raw, 2, axis=-1)
    return jnp.tanh(mean), 0.9 * jax.nn.sigmoid(std) + 0.1


def _unsquashed_moments(raw):
    import jax
    import jax.numpy as jnp

    mean, std = jnp.split(raw, 2, axis=-1)
    return mean, 0.9 * jax.nn.sigmoid(std + 2.0) + 0.1


def _fault(
    id: str, title: str, overrides: Callable[[], OperationTable], *caught: str, source: str = ""
) -> Fault:
    return Fault(id, title, KIND, overrides, caught, source)


FAULTS = (
    _fault(
        "F27.layer-epsilon",
        "ε of every hidden layer left at a library's default",
        _library_epsilon,
        "hidden-layers/eager",
        "hidden-layers/compiled",
        source=REPORTED,
    ),
    _fault("X51", "layer norm in place of RMS norm", _layer_norm, "hidden-layers/eager"),
    _fault("X52", "SiLU before the norm", _activation_first, "hidden-layers/eager"),
    _fault(
        "X53",
        "a norm per block instead of one over all blocks",
        _norm_per_block,
        "block-layers/eager",
        "block-layers/compiled",
    ),
    _fault(
        "X54",
        "blocks interleaved instead of side by side",
        _interleaved_blocks,
        "block-layers/eager",
        "block-layers/compiled",
    ),
    _fault("X55", "no symlog in the encoder", _no_symlog, "encoder/embed"),
    _fault(
        "X56",
        "heads read [stoch, deter]",
        _stoch_first,
        *(f"heads/{head}" for head in ("reward", "continue", "decoder", "critic", "actor")),
        *(f"heads/normal-{output}" for output in ("mean", "deviation", "action")),
    ),
    _fault(
        "X57",
        "mean of the continuous policy not squashed",
        _policy(_unsquashed_moments),
        "heads/normal-mean",
        "heads/normal-action",
    ),
    _fault(
        "X58",
        "no + 2 in the deviation of the continuous policy",
        _policy(_unshifted_moments),
        "heads/normal-deviation",
        "heads/normal-action",
    ),
)
