"""The agent's configuration: immutable, typed by its defaults, strict about its keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from core.config import ConfigError as ConfigError
from core.config import StrictConfig
from core.dreamerv3.ranges import RANGES
from core.ranges import check_all

# Width of the perceptrons; everything else follows. 1m is not a size of the reference: it
# is its rule (deter = 8 · width, classes = width / 16) carried down. tiny is for trying
# things out: it learns little, with as many classes as 1m.
SIZES: Mapping[str, int] = {
    "tiny": 8,
    "1m": 64,
    "12m": 256,
    "25m": 384,
    "50m": 512,
    "100m": 768,
    "200m": 1024,
    "400m": 1536,
}


@dataclasses.dataclass(frozen=True)
class Config(StrictConfig):
    """Every number of the algorithm; the defaults are those of 29eb964 at size 1m.

    `Config.of_size("12m", agc=0.2)` sets the widths of a size, and anything by name.

    Attributes:
        units: Width of the perceptrons (encoder, decoder, heads, actor, critic).
        hidden: Width of the hidden layers inside the recurrent model.
        deter: Length of the recurrent state.
        stoch: Number of categorical variables.
        classes: Classes of each.
        blocks: Blocks of the block-diagonal recurrence.
        prior_layers: Hidden layers between the recurrent state and the prior.
        posterior_layers: Likewise of the posterior.
        core_layers: Block-diagonal hidden layers of the recurrent cell.
        enc_layers: Hidden layers of the encoder.
        dec_layers: Likewise of the decoder.
        rew_layers: Likewise of the reward head.
        con_layers: Likewise of the continue head.
        actor_layers: Likewise of the actor.
        critic_layers: Likewise of the critic.
        dec_outscale: Scale of the decoder's initial output.
        actor_outscale: Scale of the actor's initial output.
        bins: Bins of the two-hot support of rewards and values.
        unimix: Share of the uniform distribution in prior and posterior.
        actor_unimix: Likewise in a discrete actor.
        minstd: Least standard deviation of a continuous actor.
        maxstd: Its largest.
        free_nats: KL of one row below which it has no gradient, in nats.
        rec_scale: Weight of the decoder's loss.
        rew_scale: Weight of the reward loss.
        con_scale: Weight of the continue loss.
        dyn_scale: Weight of the KL that trains the prior.
        rep_scale: Weight of the KL that trains the posterior.
        actor_scale: Weight of the actor's loss.
        critic_scale: Weight of the critic's loss on imagined states.
        repval_scale: Weight of the critic's loss on replayed states.
        return_horizon: Steps h of the discount γ = 1 − 1/h.
        imag_horizon: Steps of imagination.
        lam: λ of the returns of imagined trajectories.
        repval_lam: λ of the returns of replayed ones.
        actent: Weight of the policy's entropy.
        slowreg: Weight of the critic's regression to the slow critic.
        slow_rate: Share of the critic in each update of the slow critic.
        retnorm_rate: Weight of a new batch in the return normaliser.
        retnorm_limit: Least scale of the return normaliser.
        learning_rate: Step size after the warm-up.
        beta1: Decay of LaProp's momentum.
        beta2: Decay of LaProp's second moment.
        eps: LaProp's ε.
        agc: Largest norm of a gradient relative to its parameter.
        agc_pmin: Least norm that counts for a parameter.
        warmup: Updates until the full step size.
        train_ratio: Trained rows per environment row.
        batch_size: Sequences per update.
        batch_length: Trained rows per sequence.
        compute_dtype: "float32", or "bfloat16" for products and activations; parameters
            and losses are float32 either way (row D4).
    """

    units: int = 64
    hidden: int = 64
    deter: int = 512
    stoch: int = 32
    classes: int = 4
    blocks: int = 8
    prior_layers: int = 2
    posterior_layers: int = 1
    core_layers: int = 1
    enc_layers: int = 3
    dec_layers: int = 3
    rew_layers: int = 1
    con_layers: int = 1
    actor_layers: int = 3
    critic_layers: int = 3
    dec_outscale: float = 0.1
    actor_outscale: float = 0.01
    bins: int = 255
    unimix: float = 0.01
    actor_unimix: float = 0.01
    minstd: float = 0.1
    maxstd: float = 1.0
    free_nats: float = 1.0
    rec_scale: float = 1.0
    rew_scale: float = 1.0
    con_scale: float = 1.0
    dyn_scale: float = 1.0
    rep_scale: float = 0.1
    actor_scale: float = 1.0
    critic_scale: float = 1.0
    repval_scale: float = 0.3
    return_horizon: int = 333
    imag_horizon: int = 15
    lam: float = 0.95
    repval_lam: float = 0.95
    actent: float = 3e-4
    slowreg: float = 1.0
    slow_rate: float = 0.02
    retnorm_rate: float = 0.01
    retnorm_limit: float = 1.0
    learning_rate: float = 4e-5
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-20
    agc: float = 0.3
    agc_pmin: float = 1e-3
    warmup: int = 1000
    train_ratio: float = 512.0
    batch_size: int = 16
    batch_length: int = 64
    compute_dtype: str = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_all(RANGES, self)
        if self.minstd > self.maxstd:
            raise ConfigError(
                f"minstd must not be above maxstd: {self.minstd} is above {self.maxstd}"
            )
        if self.deter % self.blocks:
            raise ConfigError(
                f"deter must be a multiple of blocks: {self.deter} is not one of {self.blocks}"
            )
        self.require_one_of({"compute_dtype": ("float32", "bfloat16")})

    @classmethod
    def of_size(cls, size: str = "1m", **overrides: Any) -> Config:
        """The configuration of a model size, with anything overridden by name.

        Args:
            size: One of tiny, 1m, 12m, 25m, 50m, 100m, 200m, 400m.
            **overrides: Values of any key.

        Raises:
            ConfigError: The size or a key does not exist, or a value is none that its key takes.
        """
        if size not in SIZES:
            raise ConfigError(f"unknown size {size!r}: expected one of {', '.join(SIZES)}")
        width = SIZES[size]
        widths = {"units": width, "hidden": width, "deter": 8 * width}
        widths["classes"] = max(4, width // 16)
        return cls().replace(**{**widths, **overrides})

    @property
    def discount(self) -> float:
        """γ = 1 − 1 / return_horizon."""
        return 1 - 1 / self.return_horizon
