"""Faults of TD-MPC2's targets, losses, optimisers and target networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from deviations.faults.replacing import Change, around, replaced
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

LOSSES, OPTIMISERS = "losses and targets", "optimiser"
ERAS = ("paper", "head")


def _both(entry: str, *claims: str) -> tuple[str, ...]:
    return tuple(f"tdmpc2-{entry}-{era}/{claim}" for era in ERAS for claim in claims)


TARGETS = _both("update", "targets")
TERMINATED = tuple(f"tdmpc2-td-targets-terminated/{claim}" for claim in ("equal", "figures"))
MODEL = tuple(f"tdmpc2-model-loss/{claim}" for claim in ("losses", "gradients", "formula"))
POLICY = tuple(f"tdmpc2-policy-loss/{claim}" for claim in ("loss", "gradients"))
OPTIMIZER = _both("optimizer", "equal", "formula")


def _in_losses(name: str, wrong: Callable) -> Callable[[], list[Change]]:
    """A function of the losses, replaced by one that is given the sound one first."""

    def changes() -> list[Change]:
        from core.tdmpc2 import losses

        return around(losses, name, wrong)

    return changes


def _in_agent(name: str, wrong: Callable) -> Callable[[], list[Change]]:
    """A function that the update calls."""

    def changes() -> list[Change]:
        from core.tdmpc2 import agent

        return around(agent, name, wrong)

    return changes


class _Around:
    """A model with some of its methods replaced."""

    def __init__(self, model: Any, **methods: Callable):
        self._model = model
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _last_termination(sound, model, params, target_q, discount, batch, noise):
    import jax.numpy as jnp

    last = jnp.broadcast_to(batch.terminated[-1:], batch.terminated.shape)
    return sound(model, params, target_q, discount, batch._replace(terminated=last), noise)


def _no_termination(sound, model, params, target_q, discount, batch, noise):
    never = 0 * batch.terminated
    return sound(model, params, target_q, discount, batch._replace(terminated=never), noise)


def _mean_of_two(sound, model, params, target_q, discount, batch, noise):
    found = sound(model, params, target_q, discount, batch, noise)
    value = found.values.mean(axis=0)
    returns = batch.reward + discount * (1 - batch.terminated) * value
    return found._replace(returns=returns)


def _rolled_out(sound, model, params, target_q, discount, batch, noise):
    """Values of the states that the model predicts, where those that were observed are meant."""
    import jax.numpy as jnp

    states = [model.encode(params.model, batch.observation[0])]
    for action in batch.action:
        states.append(model.next(params.model, states[-1], action))
    rolled = jnp.stack(states[1:])
    imagined = _Around(model, encode=lambda params, observation: rolled)
    found = sound(imagined, params, target_q, discount, batch, noise)
    observed = sound(model, params, target_q, discount, batch, noise)
    return found._replace(next_latents=observed.next_latents)


def _sum_over_steps(sound, rho, steps):
    return sound(rho, steps) * steps


def _sum_over_networks(sound, model, *arguments):
    config = model.config.replace(value_coef=model.config.value_coef * model.config.num_q)
    return sound(dataclasses.replace(model, config=config), *arguments)


def _scale_of_all_steps(sound, model, params, q, running_scale, latents, noise):
    import jax

    from core.tdmpc2 import losses

    seen: list[Any] = []
    sound_update = losses.scale.update

    def drawn_values(*arguments: Any) -> Any:
        seen.append(model.drawn_values(*arguments))
        return seen[-1]

    def update(scale, values, *, tau):
        every = jax.lax.stop_gradient(seen[0].mean(axis=0)).reshape(-1)
        return sound_update(scale, every, tau=tau)

    noted = _Around(model, drawn_values=drawn_values)
    with replaced((losses.scale, "update", update)):
        return sound(noted, params, q, running_scale, latents, noise)


def _unscaled(sound, model, params, q, running_scale, latents, noise):
    import jax.numpy as jnp

    found = sound(model, params, q, jnp.ones(()), latents, noise)
    return found


def _pessimistic(sound, model, params, q, running_scale, latents, noise):
    import jax.numpy as jnp

    def drawn_values(*arguments: Any) -> Any:
        values = model.drawn_values(*arguments)
        return jnp.broadcast_to(jnp.min(values, axis=0), values.shape)

    wrong = _Around(model, drawn_values=drawn_values)
    return sound(wrong, params, q, running_scale, latents, noise)


def _minimised(sound, model, params, q, running_scale, latents, noise):
    def act(*arguments: Any) -> Any:
        drawn = model.act(*arguments)
        return drawn._replace(entropy=-drawn.entropy)

    return sound(_Around(model, act=act), params, q, running_scale, latents, noise)


def _still_model(sound, params, steps):
    from core.tdmpc2.world_model import ModelParams

    return params if isinstance(params, ModelParams) else sound(params, steps)


def _by_tensor(sound, gradient, limit, other_norm=0.0):
    import jax

    found = sound(gradient, limit, other_norm)
    each = jax.tree.map(lambda g: sound({"g": g}, limit).gradient["g"], gradient)
    return found._replace(gradient=each)


def _opposite_share(sound, new, old, share):
    return sound(new, old, 1 - share)


FAULTS: tuple[Fault, ...] = (
    fault(
        "F60",
        "last step's termination applied to every target",
        LOSSES,
        "td_targets",
        _in_losses("targets", _last_termination),
        *TERMINATED,
    ),
    fault(
        "F60.ignored",
        "termination ignored in targets",
        LOSSES,
        "td_targets",
        _in_losses("targets", _no_termination),
        *TERMINATED,
    ),
    fault(
        "X350",
        "mean of the two target networks instead of the smaller",
        LOSSES,
        "td_targets",
        _in_losses("targets", _mean_of_two),
        "tdmpc2-td-targets/equal",
        TERMINATED[0],
    ),
    fault(
        "F61",
        "targets from the rolled-out latent instead of the encoded next observation",
        LOSSES,
        "update",
        _in_losses("targets", _rolled_out),
        *TARGETS,
    ),
    fault(
        "X351",
        "no dropout in the targets of the paper's era",
        LOSSES,
        "update",
        {"q_dropout": "training"},
        TARGETS[0],
    ),
    fault(
        "F70",
        "coefficients of TD-MPC: 2, 0.5, 0.1",
        LOSSES,
        "model_loss update",
        {"consistency_coef": 2.0, "reward_coef": 0.5},
        *MODEL,
        *_both("update", "gradient"),
    ),
    fault(
        "F70.rho",
        "steps that all weigh the same",
        LOSSES,
        "model_loss policy_loss update",
        {"rho": 1.0},
        *MODEL,
        *POLICY,
        *_both("update", "losses", "gradient", "policy"),
    ),
    fault(
        "F70.sum",
        "sum over steps instead of their mean",
        LOSSES,
        "model_loss policy_loss",
        _in_losses("step_weights", _sum_over_steps),
        *MODEL,
        *POLICY,
    ),
    fault(
        "X352",
        "sum over the Q networks instead of their mean",
        LOSSES,
        "model_loss",
        _in_losses("model_losses", _sum_over_networks),
        *MODEL,
    ),
    fault(
        "F65",
        "running scale updated from all latent steps instead of the first",
        LOSSES,
        "policy_loss",
        _in_losses("policy_loss", _scale_of_all_steps),
        "tdmpc2-policy-loss/scale",
    ),
    fault(
        "F65.reset",
        "running scale that starts at 1 in every update",
        LOSSES,
        "policy_loss",
        _in_losses("policy_loss", _unscaled),
        "tdmpc2-policy-loss/scale",
        *POLICY,
    ),
    fault(
        "X353",
        "the policy maximises the smaller of two values instead of their mean",
        LOSSES,
        "policy_loss update",
        _in_losses("policy_loss", _pessimistic),
        *_both("update", "policy"),
    ),
    fault(
        "X354",
        "entropy of the policy minimised",
        LOSSES,
        "policy_loss",
        _in_losses("policy_loss", _minimised),
        *POLICY,
    ),
    fault(
        "X355",
        "the model's step not taken before the policy's loss",
        OPTIMISERS,
        "update optimizer",
        _in_agent("add", _still_model),
        *_both("update", "policy"),
        *OPTIMIZER,
    ),
    fault(
        "X360",
        "the policy's last gradient not counted in the clipping of the paper's era",
        OPTIMISERS,
        "optimizer",
        {"clip_with_policy": False},
        *OPTIMIZER[:2],
        "T33/core",
    ),
    fault(
        "X361",
        "the policy's last gradient counted in the clipping of later commits",
        OPTIMISERS,
        "optimizer",
        {"clip_with_policy": True},
        *OPTIMIZER[2:],
        "T33/core-later",
    ),
    fault(
        "X362",
        "ε of the policy's optimiser left at the default",
        OPTIMISERS,
        "optimizer",
        {"policy_eps": 1e-8},
        *OPTIMIZER,
    ),
    fault(
        "X363",
        "the encoder learns as fast as the rest",
        OPTIMISERS,
        "optimizer",
        {"enc_lr_scale": 1.0},
        *OPTIMIZER,
    ),
    fault(
        "X364",
        "no clipping",
        OPTIMISERS,
        "optimizer",
        {"grad_clip_norm": 1e6},
        *OPTIMIZER,
    ),
    fault(
        "X365",
        "gradients clipped tensor by tensor",
        OPTIMISERS,
        "optimizer",
        _in_agent("clip", _by_tensor),
        *OPTIMIZER,
    ),
    fault(
        "X366",
        "second moment that forgets ten times as fast",
        OPTIMISERS,
        "optimizer",
        {"beta2": 0.99},
        *OPTIMIZER,
    ),
    fault(
        "X367",
        "target networks that keep τ of themselves instead of giving it up",
        OPTIMISERS,
        "optimizer",
        _in_agent("move_towards", _opposite_share),
        *OPTIMIZER,
    ),
)
