"""Faults of TD-MPC2's networks, dropout, policy prior and initial parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from deviations.faults.replacing import Change, around, replaced
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

KIND = "networks"
ENSEMBLE = tuple(f"tdmpc2-q-ensemble/{claim}" for claim in ("equal", "min", "mean"))
USES_THEN, USES_NOW = "tdmpc2-q-dropout-paper/uses", "tdmpc2-q-dropout-head/uses"
ENTROPIES = tuple(
    f"tdmpc2-policy-{era}/{claim}" for era in ("paper", "head") for claim in ("entropy", "formula")
)


def _in(module: str, name: str, wrong: Callable) -> Callable[[], list[Change]]:
    def changes() -> list[Change]:
        import importlib

        return around(importlib.import_module(f"core.tdmpc2.{module}"), name, wrong)

    return changes


def _of_model(name: str, wrong: Callable) -> Callable[[], list[Change]]:
    def changes() -> list[Change]:
        from core.tdmpc2.world_model import WorldModel

        return around(WorldModel, name, wrong)

    return changes


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _symlog_observations(sound, self, params, observation):
    from core.numerics import symlog

    return sound(self, params, symlog(observation))


def _residual(sound, self, params, latent, action):
    return latent + sound(self, params, latent, action)


def _action_first(sound, self, params, latent, action):
    jnp = _jnp()
    both = jnp.concatenate([action, latent], axis=-1)
    return sound(self, params, both[..., : latent.shape[-1]], both[..., latent.shape[-1] :])


def _halved_actions(sound, self, params, latent, action, *keep):
    return sound(self, params, latent, action / 2, *keep)


def _first_two(sound, self, params, members, latent, action, keep):
    return sound(self, params, _jnp().arange(2), latent, action, keep)


def _one_network(sound, self, params, members, latent, action, keep):
    return sound(self, params, members.at[1].set(members[0]), latent, action, keep)


def _no_dropout(sound, x, keep, rate):
    return x


def _fixed_rate(sound, key, config, shape):
    return sound(key, config.replace(dropout=0.01), shape)


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
        "X320",
        "observations compressed by symlog, as DreamerV3 does",
        KIND,
        "encode",
        _of_model("encode", _symlog_observations),
        "tdmpc2-encoder/equal",
    ),
    fault(
        "X321",
        "dynamics that predict a change of the latent state",
        KIND,
        "next",
        _of_model("next", _residual),
        "tdmpc2-dynamics/equal",
    ),
    fault(
        "X322",
        "the action before the latent state",
        KIND,
        "reward_logits",
        _of_model("reward_logits", _action_first),
        "tdmpc2-reward-head/equal",
    ),
    fault(
        "X323",
        "actions halved on their way into the Q networks",
        KIND,
        "q_logits q_value",
        _of_model("q_logits", _halved_actions),
        *ENSEMBLE,
    ),
    fault(
        "X324",
        "always the first two Q networks",
        KIND,
        "q_value",
        _of_model("drawn_values", _first_two),
        *ENSEMBLE[1:],
    ),
    fault(
        "X325",
        "one Q network drawn twice",
        KIND,
        "q_value",
        _of_model("drawn_values", _one_network),
        *ENSEMBLE[1:],
    ),
    fault(
        "F62",
        "dropout without effect in the vectorised ensemble",
        KIND,
        "q_logits q_value dropout_in_use",
        _in("layers", "drop", _no_dropout),
        *ENSEMBLE,
        USES_THEN,
        USES_NOW,
    ),
    fault(
        "F62.rate",
        "a change of the dropout rate without effect in the vectorised ensemble",
        KIND,
        "dropout_in_use",
        _in("noise", "keep_mask", _fixed_rate),
        USES_THEN,
        USES_NOW,
    ),
    fault(
        "X326",
        "no dropout in targets and plans of the paper's era",
        KIND,
        "dropout_in_use",
        {"q_dropout": "training"},
        USES_THEN,
        "T30/core",
    ),
    fault(
        "X327",
        "dropout in targets and plans of later commits",
        KIND,
        "dropout_in_use",
        {"q_dropout": "always"},
        USES_NOW,
        "T30/core-later",
    ),
    fault(
        "X328",
        "a policy network of another activation",
        KIND,
        "policy_outputs",
        _in("layers", "mish", lambda sound, x: _jnp().tanh(x)),
        "tdmpc2-policy-network/equal",
    ),
    fault(
        "X329",
        "a hidden layer of the encoder too many",
        "parameters",
        "parameter_counts",
        {"enc_layers": 3},
        "tdmpc2-parameters/counts",
        "tdmpc2-parameters/total",
    ),
    fault(
        "X330",
        "deviations first, then means",
        "policies",
        "policy",
        _in("policy", "sample", _swapped_halves),
        *(
            f"tdmpc2-policy-{e}/{c}"
            for e in ("paper", "head")
            for c in ("mean", "log-std", "action")
        ),
    ),
    fault(
        "X331",
        "ln σ clipped to its bounds instead of squashed into them",
        "policies",
        "policy",
        _in("policy", "sample", _clipped_deviation),
        *(f"tdmpc2-policy-{era}/{c}" for era in ("paper", "head") for c in ("log-std", "action")),
    ),
    fault(
        "X332",
        "mean left unsquashed",
        "policies",
        "policy",
        _in("policy", "sample", _unsquashed),
        "tdmpc2-policy-paper/mean",
        "tdmpc2-policy-head/mean",
    ),
    fault(
        "X333",
        "entropy without the correction for squashing",
        "policies",
        "policy",
        _in("policy", "density_entropy", _no_correction),
        *ENTROPIES[:2],
        "T31/core-squashing",
    ),
    fault(
        "X334",
        "the entropy of the squashed Gaussian itself, not scaled by the number of actions",
        "policies",
        "policy",
        lambda: [
            *_in("policy", "density_entropy", _true_density)(),
            *_in("policy", "scaled_entropy", _true_density)(),
        ],
        *ENTROPIES,
        "T31/core-squashing-later",
        "T31/core-actions",
    ),
    fault(
        "X335",
        "the later commits' entropy in the paper's era",
        "policies",
        "policy",
        {"policy_entropy": "scaled"},
        *ENTROPIES[:2],
        "T31/core-squashing",
    ),
    fault(
        "F71.entropy",
        "actions that a task lacks counted in the entropy",
        "policies",
        "policy",
        lambda: [
            *_in("policy", "density_entropy", _all_counted)(),
            *_in("policy", "scaled_entropy", _all_counted)(),
        ],
        "tdmpc2-policy-paper/masked",
        "tdmpc2-policy-head/masked",
    ),
    fault(
        "F71.policy",
        "mask of a task's actions missing in the policy",
        "policies",
        "policy",
        _in("policy", "sample", _without_mask),
        "tdmpc2-policy-paper/masked",
        "tdmpc2-policy-head/masked",
    ),
    fault(
        "X336",
        "kernels drawn with the variance of their inputs",
        "parameters",
        _FRESH,
        _initialised(kernel=_lecun),
        _KERNELS,
        _TAILS,
        "T32/core",
    ),
    fault(
        "X337",
        "kernels truncated at two standard deviations",
        "parameters",
        _FRESH,
        _initialised(kernel=_truncated),
        _KERNELS,
        _TAILS,
    ),
    fault(
        "X338",
        "biases that start at random",
        "parameters",
        _FRESH,
        _initialised(bias=_small_biases),
        _STARTS,
        _TORCH[0],
        "T32/core-biases",
    ),
    fault(
        "X339",
        "Q networks initialised like all others where torch's default is asked for",
        "parameters",
        _FRESH,
        {"q_init": "normal"},
        *_TORCH,
        "T32/core-torch",
    ),
    fault(
        "F10.tdmpc2",
        "output layers of reward head and Q networks not initialised with zeros",
        "parameters",
        _FRESH,
        _random_value_heads,
        _STARTS,
        _TORCH[0],
    ),
    fault(
        "F68",
        "one key for several networks",
        "parameters",
        _FRESH,
        _of_model("init", _splitting(lambda num: num == NETWORKS)),
        _DISTINCT,
    ),
    fault(
        "F68.ensemble",
        "one key for all members of the ensemble",
        "parameters",
        _FRESH,
        _of_model("init", _splitting(lambda num: num != NETWORKS)),
        _DISTINCT,
    ),
    fault(
        "X340",
        "target networks drawn by themselves",
        "parameters",
        _FRESH,
        _own_targets,
        _STARTS,
    ),
)
