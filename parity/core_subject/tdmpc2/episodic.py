"""Episodes that may end by themselves, in the core: what is held, sampled, learned and planned."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from core.environments.rows import Observed
from core.tdmpc2 import losses, planner, rings
from core.tdmpc2.episodic import Episodic
from core.tdmpc2.losses import Batch, Targets
from core.tdmpc2.noise import PlanNoise, UpdateNoise
from core.tdmpc2.policy import PolicySample
from core.tdmpc2.train_config import TrainConfig
from core.tdmpc2.world_model import ModelParams, Params, WorldModel
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.losses import Prescribed
from parity.core_subject.tdmpc2.seeding import Unseeded
from parity.operations import Answer


def _slices(
    capacity: int, horizon: int, batch: int, batches: int, episode: Any, row: Any, last: Any, key
) -> tuple[Any, Batch]:
    """Whether anything can be drawn, and slices [batches, ...], of rows that are given."""

    def add(state: rings.Rings, given: Any) -> tuple[rings.Rings, None]:
        index, e, r, ends = given
        paid = jnp.where(r > 0, 64.0 * e + r, 0.0)
        seen = Observed(
            jnp.stack([e, r]).astype(float)[None],
            *(x[None] for x in (paid, r == 0, ends, ends & (e % 2 == 0))),
        )
        return rings.add(state, index, seen, 2.0 * (r + 1).reshape(1, 1), horizon), None

    total = len(episode)
    empty = rings.init(capacity, 1, 2, 1, horizon)
    state, _ = jax.lax.scan(add, empty, (jnp.arange(total), episode, row, last))

    def sample(key: Any) -> Batch:
        where = rings.draw(state, jnp.asarray(total), key, batch, horizon)
        return rings.batch(state, where, horizon)

    return rings.can_sample(state), jax.vmap(sample)(jax.random.split(key, batches))


def row_slices(rows, longest, capacity, horizon, batch, batches, seed) -> Answer:
    """See `tdmpc2.row_slices`."""
    episode = np.repeat(np.arange(len(rows)), rows)
    row = np.concatenate([np.arange(n) for n in rows])
    call = stage.compiled(_slices, capacity, horizon, batch, batches)
    possible, found = call(episode, row, row == rows[episode] - 1, jax.random.key(seed))
    starts, torn = np.zeros((len(rows), longest), np.int64), 0
    if possible:
        # [batches, time, slices, ...] to [time, slices, ...]
        columns = (found.observation, found.action[..., 0], found.reward, found.terminated)
        starts, torn = _counted(
            rows, longest, *(np.concatenate(np.asarray(x), axis=1) for x in columns)
        )
    found = {"possible": possible, "starts": starts, "torn": torn}
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


def _counted(rows, longest, observation, action, reward, terminated) -> tuple[np.ndarray, int]:
    """Where slices began, and what of them does not belong to the rows after that."""
    first = observation[0].astype(np.int64)
    starts = np.zeros((len(rows), longest), np.int64)
    np.add.at(
        starts, (np.clip(first[:, 0], 0, len(rows) - 1), np.clip(first[:, 1], 0, longest - 1)), 1
    )
    row = first[:, 1] + np.arange(len(observation))[:, None]
    episode = np.broadcast_to(first[:, 0], row.shape)
    ends = (row == rows[episode] - 1) & (episode % 2 == 0)
    torn = np.count_nonzero(observation != np.stack([episode, row], axis=-1))
    torn += np.count_nonzero(action != 2 * row[1:])
    torn += np.count_nonzero(reward != 64 * episode[1:] + row[1:])
    torn += np.count_nonzero(terminated != ends[1:])
    return starts, int(torn)


def row_capacity(buffer_size: int, steps: int, envs: int) -> Answer:
    """See `tdmpc2.row_capacity`."""
    config = TrainConfig(
        stage.config(horizon=1),
        steps=steps,
        n_envs=envs,
        replay_capacity=buffer_size,
        log_every=envs,
        episodic=True,
    )
    environment = cast(Any, Unseeded(1, 1))
    mode = Episodic(config, environment, config.schedule(environment))
    replay = jax.eval_shape(lambda: mode.replay(1))
    return {"rows": np.asarray(replay.reward.shape[1], np.int64)}


class _Decoded:
    """A support whose logits are the numbers themselves."""

    def decode(self, logits: Any) -> Any:
        """The number."""
        return logits


class _Trajectories:
    """Networks that predict given rewards, ends and values; the state is the number of steps."""

    task = None

    def __init__(self, config: Any, rewards: Any, ends: Any, values: Any):
        self.config, self._rewards, self._ends, self._values = config, rewards, ends, values
        self.support = _Decoded()

    def encode(self, params: Any, observation: Any) -> Any:
        """No step so far."""
        del params
        return jnp.zeros((len(observation), 1))

    def next(self, params: Any, latent: Any, action: Any) -> Any:
        """One more, in as many trajectories as there are actions."""
        del params
        return jnp.broadcast_to(latent + 1, (len(action), 1))

    def reward_logits(self, params: Any, latent: Any, action: Any) -> Any:
        """Of the step that comes next, in as many trajectories as there are actions."""
        del params
        # No trajectory is the policy's, which then has no state to read the step from.
        step = latent[0, 0].astype(int) if len(action) else 0
        return self._rewards[step][: len(action)]

    def termination_logits(self, params: Any, latent: Any) -> Any:
        """Of the step that led to these states."""
        del params
        step = latent[0, 0].astype(int) - 1 if len(latent) else 0
        probability = self._ends[step][: len(latent)]
        return jnp.log(probability / (1 - probability))

    def act(self, params: Any, latent: Any, noise: Any) -> PolicySample:
        """Zeros."""
        del params
        zeros = jnp.zeros_like(noise)
        return PolicySample(zeros, zeros, zeros, zeros[..., 0])

    def drawn_values(self, params: Any, members: Any, latent: Any, action: Any, keep: Any) -> Any:
        """The same of both networks."""
        return jnp.stack([self._values] * 2)


def _planned(discount: float, episodic: bool, rewards: Any, ends: Any, values: Any) -> Any:
    H, N = rewards.shape
    config = stage.config(
        **{"horizon": H, "num_samples": N, "num_pi_trajs": 0, "num_elites": 1, "iterations": 1},
        episodic=episodic,
    )
    nothing: Any = None
    noise = PlanNoise(
        jnp.zeros((H, 0, 1)),
        jnp.zeros((1, H, N, 1)),
        jnp.zeros((1, N, 1)),
        jnp.asarray([[0, 1]]),
        nothing,
        jnp.zeros(1),
        jnp.zeros(1),
    )
    model: Any = _Trajectories(config, rewards, ends, values)
    params: Any = Params(ModelParams({}, {}, {}, {}), {})
    plan = planner.plan(
        model, params, discount, jnp.zeros(1), jnp.zeros((H, 1)), jnp.asarray(True), noise
    )
    return plan.iterations.values[0]


def planned_values(rewards, ends, values, discount, episodic) -> Answer:
    """See `tdmpc2.planned_values`."""
    call = stage.compiled(_planned, discount, episodic)
    return stage.answers({"planned": call(rewards, ends, values)})


@dataclasses.dataclass(frozen=True)
class _Ending(Prescribed):
    """Networks that put out ends, too."""

    def termination_logits(self, params: ModelParams, latent: Any) -> Any:
        """The termination head's parameters."""
        assert params.termination is not None
        return jnp.asarray(params.termination["logits"])


def _loss(model: WorldModel, params: ModelParams, batch: Batch, target: Targets) -> dict[str, Any]:
    nothing: Any = None
    noise = UpdateNoise(nothing, nothing, None, None, nothing, nothing, None)
    found = losses.model_losses(model, params, batch, target, noise)
    return {
        "consistency": found.consistency_loss,
        "reward": found.reward_loss,
        "value": found.value_loss,
        "total": found.total,
    }


def episodic_loss(
    latents,
    next_latents,
    reward_logits,
    reward,
    q_logits,
    returns,
    end_logits,
    terminated,
    limit,
) -> Answer:
    """See `tdmpc2.episodic_loss`."""
    H, B, _ = latents.shape
    config = stage.config(
        horizon=H, num_q=len(q_logits), bins=q_logits.shape[-1], vmax=limit, rho=0.5, episodic=True
    )
    steps = np.broadcast_to(np.arange(H, dtype=np.float32)[:, None, None], (H, B, 1))
    params = ModelParams(
        {"latents": np.zeros_like(latents)},
        {"latents": latents},
        {"logits": reward_logits},
        {"logits": q_logits},
        termination={"logits": end_logits},
    )
    nothing: Any = None
    batch = Batch(np.zeros((H + 1, B), np.float32), steps, reward, terminated)  # type: ignore
    target = Targets(next_latents, nothing, nothing, returns)
    return stage.answers(stage.compiled(_loss, _Ending(config, 1, 1))(params, batch, target))


TABLE = {
    "tdmpc2.row_slices": row_slices,
    "tdmpc2.row_capacity": row_capacity,
    "tdmpc2.planned_values": planned_values,
    "tdmpc2.episodic_loss": episodic_loss,
}
