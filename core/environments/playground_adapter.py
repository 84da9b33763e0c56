"""The DeepMind Control Suite of mujoco_playground: the bare environments, on MJX in JAX.

None of the wrappers that come with them are used: they restart every episode from one
cached state, or lose the truncation flag, or run past an episode's end (rows E19, E20).
"""

from __future__ import annotations

import importlib
from types import ModuleType

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from core.environments import states
from core.environments.environment import EnvironmentSetupError, State, Step
from core.spaces import ActionSpace, Continuous

# Written down, because asking the package takes seconds and needs it installed.
NAMES = (
    *("AcrobotSwingup", "AcrobotSwingupSparse", "BallInCup"),
    *("CartpoleBalance", "CartpoleBalanceSparse", "CartpoleSwingup", "CartpoleSwingupSparse"),
    *("CheetahRun", "FingerSpin", "FingerTurnEasy", "FingerTurnHard", "FishSwim"),
    *("HopperHop", "HopperStand", "HumanoidRun", "HumanoidStand", "HumanoidWalk"),
    *("PendulumSwingup", "PointMass", "ReacherEasy", "ReacherHard", "SwimmerSwimmer6"),
    *("WalkerRun", "WalkerStand", "WalkerWalk"),
)


def load_suite(name: str) -> ModuleType:
    """The package's control suite, imported when the first environment of it is made.

    Args:
        name: The environment that asks, for the message.

    Raises:
        EnvironmentSetupError: The package, or something it needs, is not installed.
    """
    try:
        return importlib.import_module("mujoco_playground").dm_control_suite
    except ImportError as error:
        raise EnvironmentSetupError(
            f"{name} needs mujoco_playground, and {error.name or 'it'} is not installed: "
            "pip install -e '.[playground]' in the clone"
        ) from error


class PlaygroundEnvironment:
    """One environment of the suite. It has no time limit of its own: see `episode_length`.

    `terminated` is what the environment calls done; in this suite that is a simulation
    that became not-a-number. The suite's actuators take [−1, 1].
    """

    def __init__(self, name: str):
        """Loads the model.

        Raises:
            EnvironmentSetupError: mujoco_playground is not installed.
        """
        suite = load_suite(name)
        # The default, warp, compiles GPU kernels for a minute, on a CPU too.
        self._environment = suite.load(name, config_overrides={"impl": "jax"})
        self.episode_length = int(suite.get_default_config(name).episode_length)
        self._observation_size = int(self._environment.observation_size)

    @property
    def observation_size(self) -> int:
        """Length of the flat observation."""
        return self._observation_size

    @property
    def action_space(self) -> ActionSpace:
        """One number in [−1, 1] per actuator."""
        return Continuous(int(self._environment.action_size))

    def reset(self, key: PRNGKeyArray) -> tuple[State, Float[Array, " observation_size"]]:
        """Draws the beginning of an episode."""
        state = states.fixed(self._environment.reset(key))
        return state, state.obs.astype(jnp.float32)

    def step(self, key: PRNGKeyArray, state: State, action: Array) -> Step:
        """Takes one action; the dynamics are not random."""
        del key
        # The environments write into the dictionaries of the state that they are given.
        copy = jax.tree.map(lambda leaf: leaf, state)
        after = states.like(self._environment.step(copy, jnp.clip(action, -1.0, 1.0)), state)
        return (
            after,
            after.obs.astype(jnp.float32),
            after.reward.astype(jnp.float32),
            after.done > 0.5,
            jnp.zeros((), bool),
        )
