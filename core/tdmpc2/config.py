"""The agent's configuration: sizes, the paper's defaults, and where the reference's eras part."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from core.config import ConfigError as ConfigError
from core.config import StrictConfig
from core.ranges import check_all
from core.tdmpc2.ranges import RANGES

# Millions of parameters, as the reference counts them, and what each size sets.
SIZES: Mapping[int, Mapping[str, int]] = {
    1: {"enc_dim": 256, "mlp_dim": 384, "latent_dim": 128, "enc_layers": 2, "num_q": 2},
    5: {"enc_dim": 256, "mlp_dim": 512, "latent_dim": 512, "enc_layers": 2, "num_q": 5},
    19: {"enc_dim": 1024, "mlp_dim": 1024, "latent_dim": 768, "enc_layers": 3, "num_q": 5},
    48: {"enc_dim": 1792, "mlp_dim": 1792, "latent_dim": 768, "enc_layers": 4, "num_q": 5},
    317: {"enc_dim": 4096, "mlp_dim": 4096, "latent_dim": 1376, "enc_layers": 5, "num_q": 8},
}

# Keys that are a choice between named behaviours of the reference.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "q_dropout": ("always", "training"),
    "q_init": ("normal", "torch"),
    "policy_entropy": ("density", "scaled"),
}

_ORDERED = (
    ("log_std_min", "log_std_max"),
    ("min_std", "max_std"),
    ("discount_min", "discount_max"),
    ("num_elites", "num_samples"),
    ("num_pi_trajs", "num_samples"),
)

# Row T14: the vectors of tasks are 96 long by default, as the paper says; the reference's own
# checkpoints of mt30 are narrower at some sizes (`common/parser.py:41-56@5f6fade`).
MT30_WIDTHS: Mapping[int, Mapping[str, int]] = {
    5: {"task_dim": 64},
    19: {"task_dim": 64, "latent_dim": 512},
    48: {"task_dim": 64},
}

# What a commit of the reference sets differently from the defaults, which are those of
# 5f6fade, the paper's era. The first commit, b67b21c, has the same agent.
ERAS: Mapping[str, Mapping[str, Any]] = {
    "b67b21c": {},
    "5f6fade": {},
    "eece801": {
        "q_dropout": "training",
        "q_init": "torch",
        "policy_entropy": "scaled",
        "clip_with_policy": False,
    },
    "e9f5932": {
        "q_dropout": "training",
        "policy_entropy": "scaled",
        "clip_with_policy": False,
        "policy_trains_tasks": True,
    },
}


@dataclasses.dataclass(frozen=True)
class Config(StrictConfig):
    """Every number of the algorithm; the defaults are those of 5f6fade at size 5.

    `Config.of_size(1, horizon=5)` sets the widths of a size, and anything by name;
    `Config.of_size(1, **ERAS["e9f5932"])` is the agent of a later commit.

    Attributes:
        enc_dim: Width of the encoder's hidden layers.
        enc_layers: Layers of the encoder, the last one included.
        mlp_dim: Width of the hidden layers of every other network.
        latent_dim: Length of a latent state.
        simnorm_dim: Length of the simplices that a latent state consists of.
        num_q: Q networks in the ensemble; two of them are drawn for every estimate.
        dropout: Share of the units that dropout removes from a Q network's first layer.
        bins: Bins of the two-hot support of rewards and values, odd.
        vmax: The outermost bin, in symlog space.
        log_std_min: Least logarithm of the policy's standard deviation, before squashing.
        log_std_max: Its largest.
        horizon: Steps H of a training sequence and of a plan.
        batch_size: Sequences per update.
        rho: Weight of each step relative to the one before it.
        consistency_coef: Weight of the latent consistency loss.
        reward_coef: Weight of the reward loss.
        value_coef: Weight of the value loss.
        termination_coef: Weight of the loss of predicted ends of episodes.
        entropy_coef: Weight of the policy's entropy.
        learning_rate: Step size of both optimisers.
        enc_lr_scale: The encoder's share of it.
        beta1: Decay of Adam's first moment.
        beta2: Decay of its second moment.
        eps: Adam's ε for the model.
        policy_eps: Adam's ε for the policy.
        grad_clip_norm: Largest norm of either gradient.
        tau: Share of the new value in moving averages: target Q networks, running scale.
        discount_denom: Of the discount heuristic.
        discount_min: The least discount it gives.
        discount_max: The largest.
        mpc: Whether actions are planned; otherwise the policy prior acts.
        iterations: Iterations of the planner.
        many_actions: Action dimensions from which the planner iterates longer.
        extra_iterations: By how many iterations.
        num_samples: Trajectories per iteration, those of the policy included.
        num_elites: Trajectories that the next distribution is fitted to.
        num_pi_trajs: Trajectories that come from the policy prior.
        min_std: Least standard deviation of a planned action.
        max_std: Its largest, with which every plan starts.
        temperature: Weight of the value in an elite's weight.
        q_dropout: "always": the Q networks drop units in every estimate, those of targets and
            plans included, as in the paper's era; "training": only where a gradient is taken.
        q_init: "normal": hidden layers of the Q networks start like all others; "torch": like
            torch's default, as upstream from late 2024 to mid 2026.
        policy_entropy: What the policy's loss takes for its entropy. "density" scales the
            Gaussian log-density by the number of actions, and its constant is counted once;
            "scaled" leaves the squashing out. See `core.tdmpc2.policy`.
        clip_with_policy: Whether the norm that clips the model's gradient includes the clipped
            gradient of the previous policy update, as in the paper's era.
        task_dim: Length of the vectors that tell tasks apart, where there are several.
        policy_trains_tasks: Whether the gradient of the policy's loss by these vectors is added
            to that of the model's next update, as at e9f5932, where nothing clears it.
        episodic: Whether ends of episodes are predicted, and plans stop at them, as in the episodic
            mode from eece801 on (row T29). A run has this of its own mode: see `TrainConfig`.
    """

    enc_dim: int = 256
    enc_layers: int = 2
    mlp_dim: int = 512
    latent_dim: int = 512
    simnorm_dim: int = 8
    num_q: int = 5
    dropout: float = 0.01
    bins: int = 101
    vmax: float = 10.0
    log_std_min: float = -10.0
    log_std_max: float = 2.0
    horizon: int = 3
    batch_size: int = 256
    rho: float = 0.5
    consistency_coef: float = 20.0
    reward_coef: float = 0.1
    value_coef: float = 0.1
    termination_coef: float = 1.0
    entropy_coef: float = 1e-4
    learning_rate: float = 3e-4
    enc_lr_scale: float = 0.3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    policy_eps: float = 1e-5
    grad_clip_norm: float = 20.0
    tau: float = 0.01
    discount_denom: float = 5.0
    discount_min: float = 0.95
    discount_max: float = 0.995
    mpc: bool = True
    iterations: int = 6
    many_actions: int = 20
    extra_iterations: int = 2
    num_samples: int = 512
    num_elites: int = 64
    num_pi_trajs: int = 24
    min_std: float = 0.05
    max_std: float = 2.0
    temperature: float = 0.5
    q_dropout: str = "always"
    q_init: str = "normal"
    policy_entropy: str = "density"
    clip_with_policy: bool = True
    task_dim: int = 96
    policy_trains_tasks: bool = False
    episodic: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_all(RANGES, self)
        self.require_one_of(CHOICES)
        if self.latent_dim % self.simnorm_dim:
            raise ConfigError(
                f"latent_dim must be a multiple of simnorm_dim: {self.latent_dim} is not one "
                f"of {self.simnorm_dim}"
            )
        for lower, upper in _ORDERED:
            low, high = getattr(self, lower), getattr(self, upper)
            if low > high:
                raise ConfigError(f"{lower} must not be above {upper}: {low} is above {high}")
        if self.num_pi_trajs == self.num_samples:
            raise ConfigError(
                f"num_pi_trajs must leave something to sample: it is all of num_samples, "
                f"{self.num_samples}"
            )

    @classmethod
    def of_size(cls, size: int = 5, **overrides: Any) -> Config:
        """The configuration of a model size, with anything overridden by name.

        Args:
            size: One of 1, 5, 19, 48, 317: about the number of parameters in millions.
            **overrides: Values of any key.

        Raises:
            ConfigError: The size or a key does not exist, or a value is not one it takes.
        """
        if size not in SIZES:
            raise ConfigError(
                f"unknown size {size!r}: expected one of {', '.join(map(str, SIZES))}"
            )
        return cls().replace(**{**SIZES[size], **overrides})

    def planner_iterations(self, action_size: int) -> int:
        """Iterations of the planner for actions of a length."""
        return self.iterations + self.extra_iterations * (action_size >= self.many_actions)

    def discount(self, episode_length: int) -> float:
        """The discount of a task whose episodes have a length: the longer, the larger.

        With x = length / discount_denom, γ = (x − 1) / x, bounded.

        Source: `tdmpc2.py:37-49@5f6fade`.
        """
        ratio = episode_length / self.discount_denom
        return min(max((ratio - 1) / ratio, self.discount_min), self.discount_max)
