"""Faults of TD-MPC2's policy prior: its samples and its entropy."""

from __future__ import annotations

from typing import Any

from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

KIND = "policies"
ENTROPIES = tuple(
    f"tdmpc2-policy-{era}/{claim}" for era in ("paper", "head") for claim in ("entropy", "formula")
)


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _swapped_halves(sound, outputs, noise, config, mask=None):
    jnp = _jnp()
    mean, raw = jnp.split(outputs, 2, axis=-1)
    return sound(jnp.concatenate([raw, mean], axis=-1), noise, config, mask)


def _clipped_deviation(sound, outputs, noise, config, mask=None):
    jnp = _jnp()
    mean, raw = jnp.split(outputs, 2, axis=-1)
    low, high = config.log_std_min, config.log_std_max
    share = 2 * (jnp.clip(raw, low, high) - low) / (high - low) - 1
    bounded = jnp.arctanh(jnp.clip(share, -1 + 1e-6, 1 - 1e-6))
    return sound(jnp.concatenate([mean, bounded], axis=-1), noise, config, mask)


def _unsquashed(sound, outputs, noise, config, mask=None):
    mean, _ = _jnp().split(outputs, 2, axis=-1)
    return sound(outputs, noise, config, mask)._replace(mean=mean)


def _no_correction(sound, noise, log_std, squashing, count):
    return sound(noise, log_std, 0 * squashing, count)


def _true_density(sound, noise, log_std, squashing, count):
    """The entropy of the squashed Gaussian itself, without the number of actions."""
    jnp = _jnp()
    gaussian = jnp.sum(-0.5 * noise * noise - log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)
    return squashing - gaussian


def _all_counted(sound, noise, log_std, squashing, count):
    return sound(noise, log_std, squashing, noise.shape[-1])


def _without_mask(sound, outputs, noise, config, mask=None):
    return sound(outputs, noise, config)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X330",
        "deviations first, then means",
        KIND,
        "policy",
        within("core.tdmpc2.policy", "sample", _swapped_halves),
        *(
            f"tdmpc2-policy-{e}/{c}"
            for e in ("paper", "head")
            for c in ("mean", "log-std", "action")
        ),
    ),
    fault(
        "X331",
        "ln σ clipped to its bounds instead of squashed into them",
        KIND,
        "policy",
        within("core.tdmpc2.policy", "sample", _clipped_deviation),
        *(f"tdmpc2-policy-{era}/{c}" for era in ("paper", "head") for c in ("log-std", "action")),
    ),
    fault(
        "X332",
        "mean left unsquashed",
        KIND,
        "policy",
        within("core.tdmpc2.policy", "sample", _unsquashed),
        "tdmpc2-policy-paper/mean",
        "tdmpc2-policy-head/mean",
    ),
    fault(
        "X333",
        "entropy without the correction for squashing",
        KIND,
        "policy",
        within("core.tdmpc2.policy", "density_entropy", _no_correction),
        *ENTROPIES[:2],
        "T31/core-squashing",
    ),
    fault(
        "X334",
        "the entropy of the squashed Gaussian itself, not scaled by the number of actions",
        KIND,
        "policy",
        lambda: [
            *within("core.tdmpc2.policy", "density_entropy", _true_density)(),
            *within("core.tdmpc2.policy", "scaled_entropy", _true_density)(),
        ],
        *ENTROPIES,
        "T31/core-squashing-later",
        "T31/core-actions",
    ),
    fault(
        "X335",
        "the later commits' entropy in the paper's era",
        KIND,
        "policy",
        {"policy_entropy": "scaled"},
        *ENTROPIES[:2],
        "T31/core-squashing",
    ),
    fault(
        "F71.entropy",
        "actions that a task lacks counted in the entropy",
        KIND,
        "policy",
        lambda: [
            *within("core.tdmpc2.policy", "density_entropy", _all_counted)(),
            *within("core.tdmpc2.policy", "scaled_entropy", _all_counted)(),
        ],
        "tdmpc2-policy-paper/masked",
        "tdmpc2-policy-head/masked",
    ),
    fault(
        "F71.policy",
        "mask of a task's actions missing in the policy",
        KIND,
        "policy",
        within("core.tdmpc2.policy", "sample", _without_mask),
        "tdmpc2-policy-paper/masked",
        "tdmpc2-policy-head/masked",
    ),
)
