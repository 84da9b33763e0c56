"""Faults of predicted ends of episodes: the head, and what it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

KIND = "predicted ends"
MODEL = "core.tdmpc2.world_model:WorldModel"
LOSS = tuple(f"tdmpc2-termination-loss/{claim}" for claim in ("loss", "gradients"))


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _twice(sound, model, params, latent):
    """Logits that are twice as large."""
    return 2 * sound(model, params, latent)


def _of_rest(sound, model, params, latent):
    """The head asked of the states without their first number."""
    return sound(model, params, latent.at[..., 0].set(0))


def _learned(wrong: Callable[..., Any]) -> Callable[[], list[Change]]:
    """Another prediction of ends in the model's losses, or another loss of it.

    Args:
        wrong: From (model, params, latents, terminated, rho) to what `ends.assess` returns.
    """

    def losses(sound, model, params, batch, target, noise):
        found, c = sound(model, params, batch, target, noise), model.config
        if found.ends is None:
            return found
        ends = wrong(model, params, found.latents, batch.terminated, c.rho)
        total = found.total + c.termination_coef * (ends.loss - found.ends.loss)
        return found._replace(ends=ends, total=total)

    return within("core.tdmpc2.losses", "model_losses", losses)


def _assess(logits: Any, terminated: Any) -> Any:
    from core.tdmpc2 import ends

    return ends.assess(logits, terminated)


def _of_states_before(model, params, latents, terminated, rho):
    del rho
    return _assess(model.termination_logits(params, latents[:-1]), terminated)


def _of_fixed_states(model, params, latents, terminated, rho):
    import jax

    del rho
    fixed = jax.lax.stop_gradient(latents[1:])
    return _assess(model.termination_logits(params, fixed), terminated)


def _of_the_step_before(model, params, latents, terminated, rho):
    del rho
    earlier = _jnp().concatenate([0 * terminated[:1], terminated[:-1]])
    return _assess(model.termination_logits(params, latents[1:]), earlier)


def _weighted(model, params, latents, terminated, rho):
    logits = model.termination_logits(params, latents[1:])
    found = _assess(logits, terminated)
    steps = [
        rho**t * _assess(logits[t : t + 1], terminated[t : t + 1]).loss for t in range(len(logits))
    ]
    return found._replace(loss=sum(steps) / len(steps))


def _added_up(model, params, latents, terminated, rho):
    del rho
    found = _assess(model.termination_logits(params, latents[1:]), terminated)
    return found._replace(loss=len(terminated) * found.loss)


def _as_squares(model, params, latents, terminated, rho):
    import jax

    del rho
    logits = model.termination_logits(params, latents[1:])
    error = jax.nn.sigmoid(logits) - terminated
    return _assess(logits, terminated)._replace(loss=_jnp().mean(error * error))


def _scored_everywhere(model, params, latents, terminated, rho):
    del rho
    logits = model.termination_logits(params, latents[1:])
    over = _assess(logits.reshape(1, -1), terminated.reshape(1, -1))
    return _assess(logits, terminated)._replace(rate=over.rate, f1=over.f1)


def _without_coefficient(sound, model, params, batch, target, noise):
    found = sound(model, params, batch, target, noise)
    if found.ends is None:
        return found
    return found._replace(total=found.total + (1 - model.config.termination_coef) * found.ends.loss)


def _nothing_learned(sound, model, params, batch, target, noise):
    found = sound(model, params, batch, target, noise)
    if found.ends is None:
        return found
    return found._replace(total=found.total - model.config.termination_coef * found.ends.loss)


def _head(**options: Any) -> Callable[[], list[Change]]:
    """Another termination head."""

    def changes() -> list[Change]:
        from core.tdmpc2.layers import Perceptron
        from core.tdmpc2.world_model import WorldModel

        def head(model):
            return Perceptron((model.config.mlp_dim,) * 2, 1, **options)

        return [(WorldModel, "termination_head", property(head))]

    return changes


def _key_of_dynamics() -> list[Change]:
    """A head that is drawn with the dynamics' key."""
    import jax

    from core.tdmpc2.world_model import WorldModel

    def init(sound, model, key):
        found = sound(model, key)
        if found.model.termination is None:
            return found
        of_dynamics = jax.random.split(key, 5)[1]
        latent = _jnp().zeros((1, model.config.latent_dim))
        head = dict(model.termination_head.init(of_dynamics, latent)["params"])
        return found._replace(model=found.model._replace(termination=head))

    return around(WorldModel, "init", init)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X740",
        "logits of the termination head taken twice",
        KIND,
        "termination_logits",
        within(MODEL, "termination_logits", _twice),
        "tdmpc2-termination-head/equal",
    ),
    fault(
        "X741",
        "the termination head asked of a part of the state",
        KIND,
        "termination_logits termination_loss",
        within(MODEL, "termination_logits", _of_rest),
        "tdmpc2-termination-head/equal",
        *LOSS,
    ),
    fault(
        "X742",
        "the loss of ends taken in the states before the steps",
        KIND,
        "termination_loss",
        _learned(_of_states_before),
        *LOSS,
        "T29/loss",
    ),
    fault(
        "X743",
        "no gradient of the loss of ends in the states",
        KIND,
        "termination_loss",
        _learned(_of_fixed_states),
        LOSS[1],
    ),
    fault(
        "X744",
        "ends learned a step late",
        KIND,
        "termination_loss",
        _learned(_of_the_step_before),
        *LOSS,
        "T29/loss",
    ),
    fault(
        "X745",
        "the loss of ends weighted by ρ, as the others are",
        KIND,
        "termination_loss episodic_loss",
        _learned(_weighted),
        *LOSS,
        "T29/loss",
        "T29/core-loss",
    ),
    fault(
        "X746",
        "the loss of ends added up over steps",
        KIND,
        "termination_loss episodic_loss",
        _learned(_added_up),
        *LOSS,
        "T29/core-loss",
    ),
    fault(
        "X747",
        "the squared error of probabilities for the loss of ends",
        KIND,
        "termination_loss episodic_loss",
        _learned(_as_squares),
        *LOSS,
        "T29/core-loss",
    ),
    fault(
        "X748",
        "the loss of ends in the total without its coefficient",
        KIND,
        "termination_loss",
        within("core.tdmpc2.losses", "model_losses", _without_coefficient),
        LOSS[1],
    ),
    fault(
        "X749",
        "the loss of ends not in the total",
        KIND,
        "termination_loss episodic_loss",
        within("core.tdmpc2.losses", "model_losses", _nothing_learned),
        LOSS[1],
        "T29/core-loss",
    ),
    fault(
        "X750",
        "predictions of ends scored in all steps",
        KIND,
        "termination_loss",
        _learned(_scored_everywhere),
        "tdmpc2-termination-loss/scores",
    ),
    fault(
        "X761",
        "a termination head that starts by predicting 0",
        KIND,
        "fresh_termination",
        _head(zero=True),
        "tdmpc2-termination-init/kernels",
    ),
    fault(
        "X762",
        "a termination head that starts as torch has it by default",
        KIND,
        "fresh_termination",
        _head(torch_init=True),
        "tdmpc2-termination-init/kernels",
        "tdmpc2-termination-init/starts",
    ),
    fault(
        "X763",
        "a termination head drawn with the key of the dynamics",
        KIND,
        "fresh_termination",
        _key_of_dynamics,
        "tdmpc2-termination-init/starts",
    ),
)
