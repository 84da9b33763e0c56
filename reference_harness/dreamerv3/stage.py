"""The stock loss of danijar/dreamerv3, paper era, with everything that it reads prescribed.

Runs inside the side environment. Much of what the agent learns with stands in the middle of
one long method, `Agent.loss`. That method is run here as it is, on an agent of the reference's
own class whose world model is a list of states: state i is the i-th unit vector, the replayed
rows are states 0 to B·T − 1 in order, and a step of imagination leads from state i to i + B·T.
A head without hidden layers then reads row i of its kernel (times 1, plus zeros: exact), so a
kernel prescribes what the head puts out in every state, and the gradient of a kernel is the
gradient of these outputs. Where numbers are prescribed instead of outputs, a head is replaced
by one that answers with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import jaxutils
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, Spaces, build, precision, replaced
from reference_harness.dreamerv3.prescribed import Acting, Changed, Numbers

jax.config.update("jax_threefry_partitionable", True)

OBSERVATION, ACTION = "vector", "action"
Arrays = Mapping[str, Any]


class Stage:
    """One stock agent among prescribed states.

    Args:
        kind: discrete or continuous.
        actions: How many actions there are, or how long the action vector is.
        batch: B, the replayed sequences.
        length: T, the rows of each.
        horizon: H, the steps of imagination.
        bins: Of the two-hot heads.
        observation: Length of an observation.
        replayed: Whether the critic also learns from the replayed rows; it needs T ≥ 2.
    """

    def __init__(
        self,
        kind: str = "discrete",
        actions: int = 2,
        batch: int = 1,
        length: int = 1,
        horizon: int = 1,
        bins: int = 3,
        observation: int = 1,
        replayed: bool = False,
    ):
        self.batch, self.length, self.rows = batch, length, batch * length
        self.states = self.rows * (horizon + 1)
        layers = {f"{head}.layers": 0 for head in ("rewhead", "conhead", "actor", "critic")}
        overrides = {
            "jax.platform": "cpu",
            "dyn.rssm.deter": self.states,
            "dyn.rssm.stoch": 1,
            "dyn.rssm.classes": 1,
            "dec.simple.layers": 0,
            **layers,
            r"(rewhead|critic)\.bins": bins,
            "imag_length": horizon,
            "replay_critic_loss": replayed,
            # What is read of a loss is then the loss itself.
            **{f"loss_scales.{key}": 1.0 for key in ("rep", "replay_critic")},
        }
        with precision("float32"):
            self.agent = build(overrides, Spaces(observation, kind, actions))

    def parameters(self, **outputs: Any) -> dict[str, Any]:
        """The state of an agent whose layers put out `outputs`, each [first states, width].

        A layer's name is its path, with two underscores for a slash. The layers of two-hot heads
        have one column more than an odd number of bins, and drop it.
        """
        state = {}
        for place, values in outputs.items():
            network = place.split("__")[0]
            given, width = values.shape
            padding = width % 2 if network in ("rew", "critic", "slowcritic") else 0
            kernel = jnp.zeros((self.states + 1, width + padding)).at[:given, :width].set(values)
            layer = f"agent/{place.replace('__', '/')}"
            state[f"{layer}/kernel"] = kernel
            state[f"{layer}/bias"] = jnp.zeros(width + padding)
        return state

    def features(self) -> dict[str, Any]:
        """The replayed states, [B, T, ...]."""
        deter = jnp.eye(self.rows, self.states).reshape(self.batch, self.length, self.states)
        return {"deter": deter, "stoch": jnp.zeros((self.batch, self.length, 1, 1))}

    def read(
        self,
        data: Arrays,
        *,
        state: Mapping[str, Any] | None = None,
        heads: Mapping[str, Callable] | None = None,
        posterior: Any = None,
        prior: Any = None,
        normaliser: Any = (0.0, 0.0),
        drawn: Any = None,
        actent: Any = None,
        free_nats: float | None = None,
    ) -> dict[str, Any]:
        """Runs the stock loss once, and returns what it computed.

        Args:
            data: Columns [B, T, ...] of replay; what is missing is 0.
            state: Parameters of the heads, from `parameters`.
            heads: Heads that are replaced, by name; others put out zeros.
            posterior: [B, T, stoch, classes] logits.
            prior: Likewise.
            normaliser: Low and high of the return normaliser before.
            drawn: [states, actions] what the policy draws in each state.
            actent: The entropy coefficient; None leaves the stock one.
            free_nats: Likewise.

        Returns:
            The losses per element as `loss/...`, the tensors of which it keeps statistics as
            `stats/...`, and the normaliser's `low` and `high` after it.
        """
        agent, rows = self.agent, (self.batch, self.length)
        columns = {
            OBSERVATION: jnp.zeros((*rows, *agent.obs_space[OBSERVATION].shape)),
            ACTION: jnp.zeros((*rows, *agent.act_space[ACTION].shape)),
            "reward": jnp.zeros(rows),
            **{flag: jnp.zeros(rows, bool) for flag in ("is_first", "is_last", "is_terminal")},
            **data,
        }
        if agent.act_space[ACTION].discrete:
            columns[ACTION] = columns[ACTION].astype(jnp.int32)
        if posterior is None:
            posterior = prior = jnp.zeros((*rows, 1, 1))
        read: dict[str, Any] = {}

        def observe(carry, action, embed, reset, bdims=2):
            del action, embed, reset, bdims
            return carry, {**self.features(), "logit": posterior}

        def imagine(carry, action, bdims=2):
            del action, bdims
            following = {**carry, "deter": jnp.roll(carry["deter"], self.rows, -1)}
            return following, {**following, "logit": jnp.zeros((self.rows, *posterior.shape[2:]))}

        def tensorstats(tensor, prefix=None):
            read[f"stats/{prefix}"] = tensor
            return {}

        def actor(stock):
            def call(inputs, *args, **kwargs):
                dists = stock(inputs, *args, **kwargs)
                if drawn is None:
                    return dists
                return {key: Acting(d, inputs["deter"] @ drawn) for key, d in dists.items()}

            return call

        changed = {} if actent is None else {"actent": actent}
        if free_nats is not None:
            changed["rssm_loss"] = {"free": free_nats}
        replacements = {**self._silent(), **(heads or {})}
        if state:
            kept = {name.split("/")[1] for name in state}
            replacements = {k: v for k, v in replacements.items() if k not in kept}
        changes = [(agent, name, head) for name, head in replacements.items()]
        changes.append((agent, "enc", lambda data: jnp.zeros((*rows, 1))))
        changes.append((agent, "actor", actor(replacements.get("actor", agent.actor))))
        changes += [(agent.dyn, "observe", observe), (agent.dyn, "imagine", imagine)]
        changes.append((agent.dyn, "_prior", lambda feat: prior))
        changes.append((agent, "config", Changed(agent.config, changed)))
        changes.append((jaxutils, "tensorstats", tensorstats))
        moments = ("agent/retnorm/low/value", "agent/retnorm/high/value")
        full = {**(state or {}), **dict(zip(moments, jnp.asarray(normaliser), strict=True))}

        def loss(columns, carry):
            return agent.loss(agent.preprocess(columns), carry)

        carry = {"deter": jnp.zeros((self.batch, self.states)), "stoch": jnp.zeros((1, 1, 1))}
        before = {ACTION: columns[ACTION][:, 0]}
        with precision("float32"), replaced(*changes):
            after, (_, (outs, _, _)) = nj.pure(loss)(
                full, columns, (carry, before), seed=SEED, create=False, modify=True
            )
        read.update({f"loss/{k[:-5]}": v for k, v in outs.items() if k.endswith("_loss")})
        return {**read, "low": after[moments[0]], "high": after[moments[1]]}

    def _silent(self) -> dict[str, Callable]:
        """Heads that say nothing."""

        def zeros(inputs):
            return jnp.zeros(inputs["deter"].shape[:-1])

        def scalar(inputs, *args, **kwargs):
            return Numbers(zeros(inputs))

        def policy(inputs, *args, **kwargs):
            blank = zeros(inputs)
            vector = jnp.zeros((*blank.shape, *self._action_shape()))
            return {ACTION: Numbers(vector, blank, blank)}

        names = ("rew", "con", "critic", "slowcritic")

        def decoder(inputs, *args, **kwargs):
            return {OBSERVATION: Numbers(zeros(inputs))}

        return {**dict.fromkeys(names, scalar), "dec": decoder, "actor": policy}

    def _action_shape(self) -> tuple[int, ...]:
        space = self.agent.act_space[ACTION]
        return (space.classes,) if space.discrete else space.shape


def per_state(array: Any) -> Any:
    """[states, ...] from one [N, H + 1, ...] array: state h·N + n is step h from row n."""
    return jnp.swapaxes(array, 0, 1).reshape(-1, *array.shape[2:])


@functools.cache
def compiled(function: Callable, *static: Any) -> Callable:
    """`function(*static, ...)` as one program."""
    return jax.jit(functools.partial(function, *static))


def as_numpy(answer: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in answer.items()}
