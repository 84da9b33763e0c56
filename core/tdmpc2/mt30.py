"""The tasks of the reference's set of 30 that mujoco_playground has (row T17)."""

from __future__ import annotations

from collections.abc import Mapping

# The 19 original tasks of the control suite by the reference's names, in its order, and their
# environments. The 11 that it adds are in no library (`common/__init__.py:27-37@5f6fade`).
MT30: Mapping[str, str] = {
    "walker-stand": "WalkerStand",
    "walker-walk": "WalkerWalk",
    "walker-run": "WalkerRun",
    "cheetah-run": "CheetahRun",
    "reacher-easy": "ReacherEasy",
    "reacher-hard": "ReacherHard",
    "acrobot-swingup": "AcrobotSwingup",
    "pendulum-swingup": "PendulumSwingup",
    "cartpole-balance": "CartpoleBalance",
    "cartpole-balance-sparse": "CartpoleBalanceSparse",
    "cartpole-swingup": "CartpoleSwingup",
    "cartpole-swingup-sparse": "CartpoleSwingupSparse",
    "cup-catch": "BallInCup",
    "finger-spin": "FingerSpin",
    "finger-turn-easy": "FingerTurnEasy",
    "finger-turn-hard": "FingerTurnHard",
    "fish-swim": "FishSwim",
    "hopper-stand": "HopperStand",
    "hopper-hop": "HopperHop",
}
