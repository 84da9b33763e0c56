"""Which values every key of the configuration takes."""

from __future__ import annotations

from collections.abc import Mapping

from core.ranges import ANY_COUNT, COUNT, DECAY, POSITIVE, SHARE, WEIGHT, WIDTH, Range

_STEPS = Range(1, 1000, whole=True)
_LOGARITHM = Range(-80, 80)  # of a float32 that is neither 0 nor infinite

RANGES: Mapping[str, Range] = {
    "enc_dim": WIDTH,
    "enc_layers": Range(2, 100, whole=True),
    "mlp_dim": WIDTH,
    "latent_dim": WIDTH,
    "simnorm_dim": WIDTH,
    # Two different networks are drawn for every estimate.
    "num_q": Range(2, 1000, whole=True),
    "task_dim": WIDTH,
    "dropout": DECAY,
    "bins": Range(3, 2**20 + 1, whole=True, odd=True),
    "vmax": Range(0.1, 80),
    "log_std_min": _LOGARITHM,
    "log_std_max": _LOGARITHM,
    "horizon": _STEPS,
    "batch_size": COUNT,
    "rho": SHARE,
    "consistency_coef": WEIGHT,
    "reward_coef": WEIGHT,
    "value_coef": WEIGHT,
    "termination_coef": WEIGHT,
    "entropy_coef": WEIGHT,
    "learning_rate": WEIGHT,
    "enc_lr_scale": WEIGHT,
    # The bias corrections of Adam take the logarithm of both.
    "beta1": Range(1e-6, 1, below=True),
    "beta2": Range(1e-6, 1, below=True),
    "eps": POSITIVE,
    "policy_eps": POSITIVE,
    "grad_clip_norm": WEIGHT,
    "tau": SHARE,
    "discount_denom": POSITIVE,
    "discount_min": SHARE,
    "discount_max": SHARE,
    "iterations": _STEPS,
    "many_actions": COUNT,
    "extra_iterations": Range(0, 1000, whole=True),
    "num_samples": COUNT,
    "num_elites": COUNT,
    "num_pi_trajs": ANY_COUNT,
    "min_std": POSITIVE,
    "max_std": POSITIVE,
    "temperature": WEIGHT,
}
