"""Faults of the optimiser and of the slow critic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3.learning import Change, around, seeded
from parity.faults import Fault

KIND = "optimiser"
REPORTED = "reported in re-implementations"
CLIP = ("gradient_clipping", "optimizer")
LAPROP = ("laprop", "optimizer")
WARMUP = ("warmup_factor", "optimizer")
CHAIN = ("optimizer",)
SLOW = ("slow_critic",)


def _replacing(name: str, make: Callable[..., Any]) -> Callable[[], list[Change]]:
    """A transformation of the optimiser replaced by another one."""

    def changes() -> list[Change]:
        from core.dreamerv3 import optimizer

        return [(optimizer, name, make)]

    return changes


def _per_unit(clip: float, pmin: float):
    """Norms of a kernel's rows, one per output unit."""
    import optax

    return optax.adaptive_grad_clip(clip, pmin)


def _by_global_norm(clip: float, pmin: float):
    """One norm over all tensors."""
    import jax
    import jax.numpy as jnp
    import optax

    def update(updates, state, params=None):
        limit = clip * jnp.maximum(pmin, optax.tree.norm(params))
        factor = 1 / jnp.maximum(1.0, optax.tree.norm(updates) / limit)
        return jax.tree.map(lambda g: g * factor, updates), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


def _adam(beta1: float, beta2: float, eps: float):
    import optax

    return optax.scale_by_adam(beta1, beta2, eps)


def _laprop(*, corrected: tuple[bool, bool] = (True, True), inside: bool = False):
    """LaProp with something left out or put elsewhere."""

    def make(beta1: float, beta2: float, eps: float):
        import jax
        import jax.numpy as jnp
        import optax

        def init(params):
            zeros = jax.tree.map(jnp.zeros_like, params)
            return jnp.zeros((), jnp.int32), zeros, zeros

        def update(updates, state, params=None):
            count, second, momentum = state
            count = count + 1
            powers = (1 - beta1**count, 1 - beta2**count)
            first_power, second_power = (
                power if wanted else 1.0 for power, wanted in zip(powers, corrected, strict=True)
            )

            def unit(g, v):
                v = v / second_power
                return g / (jnp.sqrt(v + eps) if inside else jnp.sqrt(v) + eps)

            second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, updates)
            units = jax.tree.map(unit, updates, second)
            momentum = jax.tree.map(lambda m, u: beta1 * m + (1 - beta1) * u, momentum, units)
            return jax.tree.map(lambda m: m / first_power, momentum), (count, second, momentum)

        return optax.GradientTransformation(init, update)

    return make


def _factor(change: Callable[..., Any]) -> Callable[[], list[Change]]:
    def changes() -> list[Change]:
        from core.dreamerv3 import optimizer

        return around(optimizer, "warmup_factor", change)

    return changes


def _chain(make: Callable[..., Any]) -> Callable[[], list[Change]]:
    """Another optimiser made of the sound one's configuration."""

    def changes() -> list[Change]:
        from core.dreamerv3 import optimizer

        return around(optimizer, "make_optimizer", make)

    return changes


def _weight_decay(sound, config):
    import optax

    decay = optax.add_decayed_weights(-config.learning_rate * 0.01)
    return optax.chain(sound(config), decay)


def _clipped_last(sound, config):
    import optax

    from core.dreamerv3 import optimizer

    return optax.chain(
        optimizer.scale_by_laprop(config.beta1, config.beta2, config.eps),
        optimizer.clip_by_agc(config.agc, config.agc_pmin),
        optax.scale(-config.learning_rate),
        optax.scale_by_schedule(lambda count: optimizer.warmup_factor(count, config.warmup)),
    )


def _never_copied() -> list[Change]:
    from types import SimpleNamespace

    from core.dreamerv3.agent import Agent

    def wrong(sound, agent, state, critic):
        later = SimpleNamespace(slow_critic=state.slow_critic, updates=state.updates + 1)
        return sound(agent, later, critic)

    return around(Agent, "_slow_critic", wrong)


def _fault(
    name: str,
    title: str,
    operations: tuple[str, ...],
    changes: Callable[[], list[Change]],
    caught_by: tuple[str, ...],
    **settings: Any,
) -> Fault:
    source = REPORTED if name.startswith("F") else ""
    return Fault(
        name, title, KIND, seeded(name, operations, changes, **settings), caught_by, source
    )


FAULTS = (
    _fault(
        "F80.unit",
        "gradients clipped by the norm of each unit instead of the tensor's",
        CLIP,
        _replacing("clip_by_agc", _per_unit),
        ("gradient-clipping/values",),
    ),
    _fault(
        "F80.global",
        "gradients clipped by one norm over all tensors",
        CLIP,
        _replacing("clip_by_agc", _by_global_norm),
        ("gradient-clipping/values", "gradient-clipping/figures", "optimizer/parameters"),
    ),
    _fault(
        "F80.floor",
        "clipping without a floor for the parameter's norm",
        CLIP,
        list,
        ("gradient-clipping/values", "gradient-clipping/figures"),
        agc_pmin=0.0,
    ),
    _fault(
        "F81",
        "Adam: momentum of the gradients before they are normalised",
        LAPROP,
        _replacing("scale_by_laprop", _adam),
        ("laprop/updates", "laprop/by-formula", "optimizer/parameters"),
    ),
    _fault(
        "F81.first",
        "no bias correction of the momentum",
        LAPROP,
        _replacing("scale_by_laprop", _laprop(corrected=(False, True))),
        ("laprop/updates", "laprop/by-formula", "optimizer/parameters"),
    ),
    _fault(
        "F81.second",
        "no bias correction of the second moment",
        LAPROP,
        _replacing("scale_by_laprop", _laprop(corrected=(True, False))),
        ("laprop/updates", "laprop/by-formula", "optimizer/parameters"),
    ),
    _fault(
        "F81.eps",
        "ε left at a library's default of 1e-8",
        LAPROP,
        list,
        ("laprop/updates", "laprop/by-formula"),
        eps=1e-8,
    ),
    _fault(
        "F82.one",
        "warm-up starts with one step instead of none",
        WARMUP,
        _factor(lambda sound, count, warmup: sound(count + 1, warmup)),
        ("warm-up/factor", "warm-up/ramp", "optimizer/parameters"),
    ),
    _fault(
        "F82.early",
        "warm-up ends one update early",
        WARMUP,
        _factor(lambda sound, count, warmup: sound(count, warmup - 1)),
        ("warm-up/factor", "warm-up/ramp", "optimizer/parameters"),
    ),
    _fault(
        "X190",
        "ε under the root",
        LAPROP,
        _replacing("scale_by_laprop", _laprop(inside=True)),
        ("laprop/updates", "laprop/by-formula"),
    ),
    _fault(
        "X191",
        "weight decay of 0.01",
        CHAIN,
        _chain(_weight_decay),
        ("optimizer/parameters",),
    ),
    _fault(
        "X192",
        "updates clipped after their normalisation instead of gradients before it",
        CHAIN,
        _chain(_clipped_last),
        ("optimizer/parameters",),
    ),
    _fault(
        "X193",
        "slow critic at a rate of 0.98",
        SLOW,
        list,
        ("slow-critic/parameters",),
        slow_rate=0.98,
    ),
    _fault(
        "X194",
        "first update of the slow critic does not copy",
        SLOW,
        _never_copied,
        ("slow-critic/parameters",),
    ),
)
