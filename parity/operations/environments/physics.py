"""The control suite: options of the physics, initial states, trajectories, ends."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

TASK = Setting("task", str, "as mujoco_playground calls it (CartpoleSwingup), or domain/task")
SEED = Setting("seed", int, "of the environment")

PHYSICS_OPTIONS = Operation(
    "environments.physics_options",
    "What a task asks of its physics",
    (TASK,),
    (
        Array("timestep", "", "float64", "of the simulation, in s"),
        Array("control_timestep", "", "float64", "between two actions, in s"),
        Array("integrator", "", "int64", "mjtIntegrator: 0 Euler, 1 RK4, 2 implicit, 3 fast"),
        Array("iterations", "", "int64", "of the solver, at most"),
        Array("line_search", "", "int64", "iterations of its line search, at most"),
        Array("eulerdamp", "", "bool", "whether Euler integrates joint damping implicitly"),
    ),
)

SUITE_STARTS = Operation(
    "environments.suite_starts",
    "The positions in which one episode after another begins",
    (TASK, SEED, Setting("episodes", int, "E", axis="E")),
    (Array("qpos", "E Q", "float64", "generalised positions", noise=1e-12),),
)

SUITE_ENDS = Operation(
    "environments.suite_ends",
    "How an episode under uniform random actions ends; one without a time limit is not played",
    (TASK, SEED),
    (
        Array("can_terminate", "", "bool", "whether the task says when an episode terminates"),
        Array("length", "", "int64", "actions until the end; 0 if it was not played"),
        Array("discount", "", "float64", "at the end: 1 for a time limit, 0 for a termination"),
    ),
)

TRAJECTORY = Operation(
    "environments.trajectory",
    "Positions, velocities and observations under given actions, from a given state, or (where "
    "none is given) from the model's own pose at rest. Options of the physics that are not left at "
    "their neutral value replace the task's own",
    (
        TASK,
        Array(
            "qpos", "Q", "float64", "generalised positions at the start; none for those of the pose"
        ),
        Array("qvel", "V", "float64", "generalised velocities at the start; none at rest"),
        Array("actions", "K A", "float64", "in [−1, 1], one per actuator"),
        Setting("timestep", float, "of the simulation, in s; 0 for the task's"),
        Setting("integrator", int, "as in `environments.physics_options`; −1 for the task's"),
        Setting("iterations", int, "likewise; 0 for the task's"),
        Setting("line_search", int, "likewise; 0 for the task's"),
        Setting("eulerdamp", int, "1 on, 0 off, −1 for the task's"),
    ),
    (
        Array("qpos", "K P", "float64", "after every action; NaN once it has diverged", noise=1e-9),
        Array("qvel", "K W", "float64", "likewise", noise=1e-9),
        Array("observation", "K N", "float64", "likewise", noise=1e-9),
    ),
)

RESET_OBSERVATIONS = Operation(
    "environments.reset_observations",
    "The first observation of an episode, and what the same state looks like once everything that "
    "follows from it has been computed",
    (TASK, SEED),
    (
        Array("shown", "N", "float64", "the first observation", noise=1e-6),
        Array("computed", "N", "float64", "of the same state", noise=1e-6),
    ),
)

OBSERVATION = Operation(
    "environments.observation",
    "What a state at rest looks like",
    (TASK, Array("qpos", "Q", "float64", "generalised positions")),
    (Array("observation", "N", "float64", "of it", noise=1e-6),),
)

OFFERED = Operation(
    "environments.offered",
    "Whether there is a task",
    (TASK,),
    (Array("offered", "", "bool", "whether there is"),),
)

SUITE_ASKED = Operation(
    "environments.suite_asked",
    "Which task dm_control's suite is asked for when an agent's own program makes an environment. "
    "A stand-in for the suite notes it",
    (TASK,),
    (
        Array("asked", "", "int64", "how often it is asked for the task"),
        Array("others", "", "int64", "how often for another"),
    ),
)

OPERATIONS = (
    SUITE_ASKED,
    PHYSICS_OPTIONS,
    SUITE_STARTS,
    SUITE_ENDS,
    TRAJECTORY,
    RESET_OBSERVATIONS,
    OBSERVATION,
    OFFERED,
)
