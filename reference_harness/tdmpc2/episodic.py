"""Episodes that may end by themselves, answered by nicklashansen/tdmpc2.

Runs inside the side environment. There is an episodic mode from eece801 on; at the other pins
`episodic_parts` says that there is none, and plans are made without.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import tdmpc2 as stock
import torch
from common import buffer
from tensordict import TensorDict
from trainer import online_trainer

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL, Buffer
from reference_harness.tdmpc2.seeding import Still, wrapper
from reference_harness.tdmpc2.stock import Quiet
from reference_harness.tdmpc2.surroundings import Facade, array, given, replaced, tensor

_SMALL = {**SMALL, "latent_dim": 8, "simnorm_dim": 8}


def _settings(episodic=True, **settings):
    if episodic and not agent.EPISODIC:
        raise ValueError("the reference at this pin has no episodic mode")
    mode = {"episodic": episodic} if agent.EPISODIC else {}
    return agent.config(**{**_SMALL, **mode, **settings})


def episodic_parts():
    """Looks for them whatever the pin, in an agent that is asked to have the mode."""
    model = agent.build_model(agent.config(**_SMALL, episodic=True))
    trainer = online_trainer.OnlineTrainer(
        cfg=agent.config(**_SMALL),
        env=wrapper.TensorWrapper(Still(2)),
        agent=Counting(),
        buffer=Quiet(),
        logger=Quiet(),
    )
    row = set(trainer.to_td(torch.zeros(4)).keys())
    found = {
        "option": hasattr(agent.config(**_SMALL), "episodic"),
        "head": any("termination" in name for name, _ in model.named_modules()),
        "column": "terminated" in row,
        "observation": "obs" in row,
        "nonsense": "none of them" in row,
    }
    return {name: np.asarray(there, np.int64) for name, there in found.items()}


def _on_a_cpu():
    """Too little memory for a storage that is not in the memory of the CPU."""
    facade = Facade(
        torch,
        device=lambda *wanted: torch.device("cpu"),
        cuda=SimpleNamespace(mem_get_info=lambda: (0, 0)),
    )
    return replaced((buffer, "torch", facade))


def row_slices(rows, longest, capacity, horizon, batch, batches, seed):
    settings = _settings(
        horizon=horizon, batch_size=batch, buffer_size=capacity, steps=10 * capacity
    )
    torch.manual_seed(seed)
    np.random.seed(seed)
    starts, torn, possible = np.zeros((len(rows), longest), np.int64), 0, 1
    with _on_a_cpu():
        replay = buffer.Buffer(settings)
        for episode, count in enumerate(rows.tolist()):
            row = torch.arange(count)
            ends = (row == count - 1) & (episode % 2 == 0)
            columns = {
                "obs": torch.stack([torch.full_like(row, episode), row], dim=-1).float(),
                "action": 2.0 * row[:, None],
                "reward": 64.0 * episode + row,
                "terminated": ends.float(),
            }
            replay.add(TensorDict(columns, batch_size=(count,)))
        for _ in range(batches):
            try:
                columns = replay.sample()
            except RuntimeError:
                possible = 0
                break
            observation, action, reward, terminated = map(array, columns[:4])
            first = observation[0].astype(np.int64)
            np.add.at(starts, (first[:, 0], first[:, 1]), 1)
            row = first[:, 1] + np.arange(horizon + 1)[:, None]
            episode = np.broadcast_to(first[:, 0], row.shape)
            ends = (row == rows[episode] - 1) & (episode % 2 == 0)
            torn += np.count_nonzero(observation != np.stack([episode, row], axis=-1))
            torn += np.count_nonzero(action[..., 0] != 2 * row[1:])
            torn += np.count_nonzero(reward[..., 0] != 64 * episode[1:] + row[1:])
            torn += np.count_nonzero(terminated[..., 0] != ends[1:])
    found = {"possible": possible, "starts": starts, "torn": torn}
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


def row_capacity(buffer_size, steps, envs):
    if envs != 1:
        raise ValueError(f"the reference has one environment, not {envs}")
    with _on_a_cpu():
        capacity = buffer.Buffer(_settings(buffer_size=buffer_size, steps=steps)).capacity
    return {"rows": np.asarray(capacity, np.int64)}


@torch.no_grad()
def planned_values(rewards, ends, values, discount, episodic):
    H, N = rewards.shape
    built = agent.build(_settings(horizon=H, num_samples=N, episodic=episodic))
    built.discount = discount
    paid, over, model = iter(tensor(rewards)), iter(tensor(ends)), built.model
    model.reward = lambda z, action, task: next(paid)[:, None]
    model.next = lambda z, action, task: z
    model.termination = lambda z, task: next(over)[:, None]
    acts = torch.zeros(N, 2)
    model.pi = lambda z, task: (acts, {}) if agent.EPISODIC else (None, acts, None, None)
    model.Q = lambda z, action, task, return_type: tensor(values)[:, None]
    # What the heads put out are the numbers themselves.
    decoded = Facade(stock.math, two_hot_inv=lambda x, cfg: x)
    with given(None, (stock, "math", decoded)):
        planned = built._estimate_value(torch.zeros(N, 8), torch.zeros(H, N, 2), None)
    return {"planned": array(planned)[:, 0]}


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
):
    (H, B, L), (M, *_, N) = latents.shape, q_logits.shape
    built = agent.build(
        _settings(
            **{"num_q": M, "num_bins": N, "vmax": limit, "latent_dim": L, "simnorm_dim": L},
            **{"horizon": H, "batch_size": B, "rho": 0.5},
        )
    )
    leaves = [tensor(x).requires_grad_(True) for x in (latents, reward_logits, q_logits)]
    steps, encoded, model = iter(leaves[0]), tensor(next_latents), built.model
    model.encode = lambda obs, task: encoded if obs.dim() == 3 else torch.zeros(B, L)
    model.next = lambda z, action, task: next(steps)
    model.reward = lambda z, action, task: leaves[1]
    model.Q = lambda z, action, task, return_type: leaves[2]
    model.termination = lambda z, task, unnormalized: tensor(end_logits)[..., None]
    built._td_target = lambda *arguments: tensor(returns)[..., None]
    built.update_pi = lambda zs, task: {}
    zeros = np.zeros((H + 1, B, 4), np.float32)
    with given():
        info = built.update(Buffer(zeros, zeros[1:, :, :2], reward, terminated))
    names = ("consistency", "reward", "value", "total")
    return {name: np.float32(float(info[f"{name}_loss"])) for name in names}


class Ending(Still):
    """An environment whose episodes end by themselves."""

    def __init__(self, length):
        super().__init__(1)
        self._length = length
        self._time = 0

    def reset(self):
        """Zeros."""
        self._time = 0
        return super().reset()

    def step(self, action):
        """Zeros, until it is over."""
        seen, reward, _, info = super().step(action)
        self._time += 1
        done = self._time >= self._length
        return seen, reward, done, {**info, "terminated": float(done)}


class Counting(Quiet):
    """An agent whose actions are twos, which no random one is, and that counts its updates."""

    model = SimpleNamespace(total_params=0)

    def __init__(self):
        self.updates = 0

    def act(self, obs, t0=False, eval_mode=False, task=None):
        """A two."""
        return torch.full((1,), 2.0)

    def update(self, replay):
        """Counts."""
        self.updates += 1
        return {}


def episodic_run(ticks, seed_steps, length, limit, envs, horizon):
    if envs != 1:
        raise ValueError(f"the reference has one environment, not {envs}")
    below, counting, before = Ending(length), Counting(), []
    settings = _settings(
        **{"action_size": 1, "steps": ticks - 1, "seed_steps": seed_steps, "horizon": horizon},
        **{"episode_length": limit, "eval_episodes": 0, "save_video": False},
    )
    step = below.step

    def noted(action):
        before.append(counting.updates)
        return step(action)

    below.step = noted
    trainer = online_trainer.OnlineTrainer(
        cfg=settings,
        env=wrapper.TensorWrapper(below),
        agent=counting,
        buffer=Quiet(),
        logger=Quiet(),
    )
    trainer.eval = dict
    trainer.train()
    random = np.abs(np.concatenate(below.taken)) <= 1
    return {
        "stepped": np.ones(ticks, np.int64),
        "random": random.astype(np.int64),
        "updates": np.asarray([*before[1:], counting.updates], np.int64),
    }


OPERATIONS = {
    "tdmpc2.episodic_parts": episodic_parts,
    "tdmpc2.row_slices": row_slices,
    "tdmpc2.row_capacity": row_capacity,
    "tdmpc2.planned_values": planned_values,
    "tdmpc2.episodic_loss": episodic_loss,
    "tdmpc2.episodic_run": episodic_run,
}
