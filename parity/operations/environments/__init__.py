"""The operations of environments: episodes, and the physics of the control suite.

Axis names: K actions, E episodes, S steps of a simulation, Q positions, V velocities, A
actuators, N components of an observation. Tasks are called as mujoco_playground calls them.
"""

from __future__ import annotations

from parity.operations.environments import episodes, physics

OPERATIONS = (*episodes.OPERATIONS, *physics.OPERATIONS)
