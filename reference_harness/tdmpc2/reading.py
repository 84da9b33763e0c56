"""Sees what passes between the functions that an update or a plan of the reference calls.

Runs inside the side environment. Methods of the stock objects are wrapped while a call lasts;
they compute what they always compute, and what they return is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tdmpc2 as stock
import torch
from common import world_model

from reference_harness.tdmpc2 import agent as agents
from reference_harness.tdmpc2.policies import read
from reference_harness.tdmpc2.surroundings import Facade, array

Change = tuple[Any, str, Any]
_POLICY = ("mean", "log_std", "action", "entropy")


class _Reader:
    """Notes what functions return, call by call."""

    def __init__(self, agent: Any):
        self._agent = agent
        self._returned: dict[str, list[Any]] = {}

    def _noting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        kept = self._returned.setdefault(name, [])

        def wrapped(*arguments: Any, **options: Any) -> Any:
            value = function(*arguments, **options)
            kept.append(value)
            return value

        return wrapped

    def _policies(self, which: int) -> dict[str, np.ndarray]:
        sample = read(self._returned["pi"][which])
        return {name: array(value) for name, value in zip(_POLICY, sample, strict=True)}


class UpdateReader(_Reader):
    """What one update computes on its way."""

    def __init__(self, agent: Any):
        super().__init__(agent)
        self._gradients: dict[str, np.ndarray] = {}
        self._norms: list[float] = []
        self._scaled: list[torch.Tensor] = []
        self._losses: Mapping[str, Any] = {}

    def changes(self) -> list[Change]:
        """What to replace while the update runs."""
        agent, model = self._agent, self._agent.model
        functional = Facade(
            stock.F, mse_loss=self._noting("consistency", torch.nn.functional.mse_loss)
        )
        return [
            (model, "encode", self._noting("encode", model.encode)),
            (model, "next", self._noting("next", model.next)),
            (model, "reward", self._noting("reward", model.reward)),
            (model, "pi", self._noting("pi", model.pi)),
            (model, "Q", self._noting("q", model.Q)),
            (agent, "_td_target", self._noting("returns", agent._td_target)),
            (stock.math, "soft_ce", self._noting("cross_entropy", stock.math.soft_ce)),
            (
                world_model.math,
                "two_hot_inv",
                self._noting("decoded", world_model.math.two_hot_inv),
            ),
            (stock, "F", functional),
            (torch.nn.utils, "clip_grad_norm_", self._clipping(torch.nn.utils.clip_grad_norm_)),
            *self._of_ends(),
        ]

    def _of_ends(self) -> list[Change]:
        """The head that predicts ends; at eece801 there is one outside of the episodic mode too."""
        model = self._agent.model
        if not (agents.EPISODIC and self._agent.cfg.episodic):
            return []
        return [(model, "termination", self._noting("termination", model.termination))]

    def _clipping(self, clip: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(parameters: Any, limit: float) -> Any:
            clipped = list(parameters)
            for name, parameter in agents.named_parameters(self._agent.model).items():
                mine = any(parameter is other for other in clipped)
                # The model's call also meets what the policy's last update left behind.
                if (
                    mine
                    and parameter.grad is not None
                    and name.startswith("pi_") == bool(self._norms)
                ):
                    self._gradients[name] = agents.as_ours(name, parameter.grad)
            norm = clip(clipped, limit)
            self._norms.append(float(norm))
            return norm

        return wrapped

    def told(self, losses: Mapping[str, Any]) -> None:
        """Takes what the update itself reports."""
        self._losses = losses

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that was read, by the names of a trace."""
        agent, seen = self._agent, self._returned
        horizon = agent.cfg.horizon
        # encode: the next observations, then the first; the networks in between see no gradient.
        next_latents, first = seen["encode"]
        latents = torch.stack([first, *seen["next"]])
        decoded = [array(value)[..., 0] for value in seen["decoded"]]
        if not agents.EPISODIC:  # both networks' values one after the other
            decoded = [np.stack(decoded[:2]), np.stack(decoded[2:])]
        cross = np.asarray([float(value.mean()) for value in seen["cross_entropy"]])
        cross = cross.reshape(horizon, 1 + agent.cfg.num_q)
        target = self._policies(0)
        drawn = self._policies(1)
        found = {
            "next_latents": array(next_latents),
            "target_actions": target["action"],
            "target_values": decoded[0],
            "returns": array(seen["returns"][0])[..., 0],
            "latents": array(latents),
            "q_logits": array(seen["q"][1]),
            "reward_logits": array(seen["reward"][0]),
            "consistency": np.asarray([float(value) for value in seen["consistency"]]),
            "reward": cross[:, 0],
            "value": cross[:, 1:].T,
            "gradient_norm": np.asarray(self._norms[0]),
            "policy_mean": drawn["mean"],
            "policy_log_std": drawn["log_std"],
            "policy_actions": drawn["action"],
            "policy_entropy": drawn["entropy"],
            "policy_values": decoded[1].mean(0),
            "policy_gradient_norm": np.asarray(self._norms[1]),
        }
        for name, theirs in (
            ("consistency_loss", "consistency_loss"),
            ("reward_loss", "reward_loss"),
            ("value_loss", "value_loss"),
            ("total_loss", "total_loss"),
            ("policy_loss", "pi_loss"),
        ):
            found[name] = np.asarray(float(self._losses[theirs]))
        if "termination" in seen:
            found["termination_logits"] = array(seen["termination"][0])[..., 0]
            found["termination_loss"] = np.asarray(float(self._losses["termination_loss"]))
        gradients = {f"gradient/{name}": value for name, value in self._gradients.items()}
        return {name: np.asarray(value) for name, value in found.items()} | gradients


class PlanReader(_Reader):
    """What one plan computes on its way."""

    def __init__(self, agent: Any):
        super().__init__(agent)
        self._actions: list[np.ndarray] = []

    def changes(self) -> list[Change]:
        """What to replace while the plan runs."""
        agent = self._agent
        estimate = self._noting("values", agent._estimate_value)

        def wrapped(z: Any, actions: Any, task: Any) -> Any:
            self._actions.append(array(actions))
            return estimate(z, actions, task)

        return [
            (agent, "_estimate_value", wrapped),
            (agent.model, "encode", self._noting("encode", agent.model.encode)),
        ]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that was read, by the names of a trace."""
        values = np.stack([array(value)[:, 0] for value in self._returned["values"]])
        best = np.argsort(-np.nan_to_num(values), axis=1, kind="stable")
        return {
            "latent": array(self._returned["encode"][0])[0],
            "actions": np.stack(self._actions),
            "values": np.nan_to_num(values),
            "elites": np.sort(best[:, : self._agent.cfg.num_elites], axis=1),
        }
