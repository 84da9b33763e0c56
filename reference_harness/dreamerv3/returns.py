"""Returns and the losses of actor and critic, answered by danijar/dreamerv3's paper era.

Runs inside the side environment. See `stage.py` for how the stock loss is asked.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from reference_harness.dreamerv3.prescribed import Numbers
from reference_harness.dreamerv3.stage import (
    ACTION,
    Stage,
    as_numpy,
    compiled,
    per_state,
)

_stage = functools.cache(Stage)


def _lookup(table, **parts):
    """A head that answers with the numbers of the state it is in."""
    columns = {name: per_state(array) for name, array in parts.items()}

    def call(inputs, *args, **kwargs):
        deter = inputs["deter"]
        return Numbers(deter @ table, **{name: deter @ x for name, x in columns.items()})

    return call


def _numbers(shape, rewards, continues, values, normaliser, log_probs, entropies, actent):
    """The stock loss on prescribed rewards, continues, values, log-probabilities, entropies."""
    rows, states = shape
    stage = _stage(length=rows, horizon=states - 1)
    critic = _lookup(per_state(values))
    no_action = jnp.zeros((stage.states, 2))
    actor = _lookup(no_action, log_prob=log_probs, entropy=entropies)
    read = stage.read(
        {"reward": rewards[None, :, 0], "is_terminal": continues[None, :, 0] == 0},
        heads={
            "rew": _lookup(per_state(rewards)),
            "con": _lookup(per_state(continues)),
            "critic": critic,
            "slowcritic": critic,
            "actor": lambda inputs, *args, **kwargs: {ACTION: actor(inputs)},
        },
        normaliser=normaliser,
        actent=actent,
    )
    return read


def _returns(shape, rewards, continues, values, normaliser):
    blank = jnp.zeros(shape)
    read = _numbers(shape, rewards, continues, values, normaliser, blank, blank, None)
    return {
        "weights": read["stats/weight"],
        "returns": read["stats/ret"],
        "advantages": read["stats/adv"],
        "normaliser": jnp.stack([read["low"], read["high"]]),
    }


def imagined_returns(rewards, continues, values, normaliser, horizon):
    del horizon
    return as_numpy(compiled(_returns, rewards.shape)(rewards, continues, values, normaliser))


def _actor(shape, rewards, continues, values, normaliser, log_probs, entropies, actent):
    def loss(log_probs, entropies):
        read = _numbers(shape, rewards, continues, values, normaliser, log_probs, entropies, actent)
        return read["loss/actor"]

    slopes = jax.grad(lambda *x: loss(*x).mean(), (0, 1))(log_probs, entropies)
    return {
        "loss": loss(log_probs, entropies),
        "to_log_probs": slopes[0],
        "to_entropies": slopes[1],
    }


def actor_loss(rewards, continues, values, normaliser, log_probs, entropies, actent, horizon):
    del horizon
    call = compiled(_actor, rewards.shape)
    return as_numpy(
        call(rewards, continues, values, normaliser, log_probs, entropies, jnp.float32(actent))
    )


def _imagination(
    shape,
    kind,
    start_reward,
    is_terminal,
    reward_logits,
    continue_logits,
    critic_logits,
    slow_logits,
    actor_outputs,
    actions,
    normaliser,
):
    rows, states, bins = shape
    size = actions.shape[-1]
    stage = _stage(kind, size, length=rows, horizon=states - 1, bins=bins)
    drawn = per_state(actions)

    def outputs(critic_logits, actor_outputs):
        layers = {
            "rew__dist__out": reward_logits,
            "con__dist__out": continue_logits[..., None],
            "critic__dist__out": critic_logits,
            "slowcritic__dist__out": slow_logits,
            f"actor__{ACTION}__out": actor_outputs[..., :size],
        }
        if kind == "continuous":
            layers[f"actor__{ACTION}__std"] = actor_outputs[..., size:]
        return stage.parameters(**{name: per_state(x) for name, x in layers.items()})

    def read(*learned):
        return stage.read(
            {"reward": start_reward[None], "is_terminal": is_terminal[None]},
            state=outputs(*learned),
            normaliser=normaliser,
            drawn=drawn,
        )

    def slopes(loss):
        return jax.grad(lambda *x: read(*x)[loss].mean(), (0, 1))(critic_logits, actor_outputs)

    found = read(critic_logits, actor_outputs)
    return {
        "rewards": found["stats/rew"],
        "values": found["stats/val"],
        "weights": found["stats/weight"],
        "returns": found["stats/ret"],
        "advantages": found["stats/adv"],
        "actor_loss": found["loss/actor"],
        "critic_loss": found["loss/critic"],
        "actor_gradient": slopes("loss/actor")[1],
        "actor_to_critic": slopes("loss/actor")[0],
        "critic_gradient": slopes("loss/critic")[0],
    }


def imagination_losses(kind, horizon, **arrays):
    del horizon
    names = (
        "start_reward",
        "is_terminal",
        "reward_logits",
        "continue_logits",
        "critic_logits",
        "slow_logits",
        "actor_outputs",
        "actions",
        "normaliser",
    )
    call = compiled(_imagination, arrays["critic_logits"].shape, kind)
    return as_numpy(call(*(arrays[name] for name in names)))


def _replayed(shape, critic_logits, slow_logits, reward, is_terminal, is_last, bootstrap):
    """The stock loss whose imagined returns are prescribed.

    One step of imagination gives a return of r + d · ((1 − λ) v + λ v), so a predicted reward
    is the return where the predicted continue is 0; the critic's own values have no part.
    """
    batch, length, bins = shape
    stage = _stage(batch=batch, length=length, bins=bins, replayed=True)
    returns = jnp.concatenate([jnp.zeros(batch * length), bootstrap.reshape(-1)])
    data = {"reward": reward, "is_terminal": is_terminal, "is_last": is_last}

    def read(critic_logits):
        flat = {
            "critic__dist__out": critic_logits.reshape(-1, bins),
            "slowcritic__dist__out": slow_logits.reshape(-1, bins),
        }
        return stage.read(
            data,
            state=stage.parameters(**flat),
            heads={"rew": lambda inputs, *args, **kwargs: Numbers(inputs["deter"] @ returns)},
        )

    found = read(critic_logits)
    gradient = jax.grad(lambda x: read(x)["loss/replay_critic"].mean())(critic_logits)
    return {
        "returns": found["stats/replay_ret"],
        "loss": found["loss/replay_critic"],
        "gradient": gradient,
    }


def replay_critic_loss(
    critic_logits, slow_logits, reward, is_terminal, is_last, bootstrap, followed
):
    del followed
    call = compiled(_replayed, critic_logits.shape)
    return as_numpy(call(critic_logits, slow_logits, reward, is_terminal, is_last, bootstrap))


OPERATIONS = {
    "dreamerv3.imagined_returns": imagined_returns,
    "dreamerv3.actor_loss": actor_loss,
    "dreamerv3.imagination_losses": imagination_losses,
    "dreamerv3.replay_critic_loss": replay_critic_loss,
}
