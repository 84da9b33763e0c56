"""E18: what is asked of the two control suites, and how their answers are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parity.claims import Measurement, figure, measure_range
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from reference_harness.suite.tasks import DM_CONTROL

OPTIONS = "environments.physics_options"
TRAJECTORY = "environments.trajectory"
RESET = "environments.reset_observations"
OBSERVATION = "environments.observation"
OFFERED = "environments.offered"
ASKED = "environments.suite_asked"

# DreamerV3 has no name for the domain that is left out: its own have one word, but for one.
NAMED = tuple(task for task in DM_CONTROL.values() if not task.startswith("point_mass"))

Cases = Callable[[np.random.Generator], Inputs]

# Options of `environments.trajectory` that leave the task's own.
_OWN: dict[str, Any] = {
    "timestep": 0.0,
    "integrator": -1,
    "iterations": 0,
    "line_search": 0,
    "eulerdamp": -1,
}

# What mujoco_playground sets otherwise than dm_control, in all tasks of a domain; the claim
# `options` looks whether it does.
PLAYGROUND: dict[str, dict[str, Any]] = {
    "acrobot": {"integrator": 0, "iterations": 2, "line_search": 4, "eulerdamp": 0},
    "ball_in_cup": {"iterations": 1, "line_search": 4, "eulerdamp": 0},
    "cartpole": {"integrator": 0, "iterations": 1, "line_search": 4, "eulerdamp": 0},
    "cheetah": {"iterations": 4, "line_search": 8, "eulerdamp": 0},
    "finger": {
        **{"timestep": 0.005, "integrator": 3, "iterations": 2},
        **{"line_search": 8, "eulerdamp": 0},
    },
    "fish": {"timestep": 0.002, "iterations": 2, "line_search": 6, "eulerdamp": 0},
    "hopper": {"iterations": 4, "line_search": 10, "eulerdamp": 0},
    "humanoid": {"iterations": 4, "line_search": 8, "eulerdamp": 0},
    "pendulum": {"timestep": 0.01, "iterations": 4, "line_search": 8, "eulerdamp": 0},
    "point_mass": {"iterations": 1, "line_search": 4, "eulerdamp": 0},
    "reacher": {"timestep": 0.005, "iterations": 1, "line_search": 6, "eulerdamp": 0},
    "swimmer": {"timestep": 0.003, "iterations": 4, "line_search": 8, "eulerdamp": 0},
    "walker": {"iterations": 2, "line_search": 5, "eulerdamp": 0},
}

# The options that make the difference from the model's own pose.
_SOLVER = ("iterations", "line_search", "eulerdamp")
MAKE_THE_DIFFERENCE: dict[str, tuple[str, ...]] = {
    "acrobot": ("integrator", "eulerdamp"),
    "ball_in_cup": _SOLVER,
    "cartpole": ("integrator",),
    "cheetah": ("eulerdamp",),
    "finger": ("timestep",),
    "fish": ("timestep", "eulerdamp"),
    "hopper": ("eulerdamp",),
    "humanoid": ("eulerdamp",),
    "pendulum": ("timestep", "eulerdamp"),
    "point_mass": ("eulerdamp",),
    "reacher": ("timestep", "eulerdamp"),
    "swimmer": ("timestep",),
    "walker": _SOLVER,
}

_STARTS = {
    "CartpoleSwingup": ([0.125, 3.0], 1),
    "ReacherEasy": ([0.5, 1.0], 2),
    "WalkerWalk": ([0.0] * 9, 6),
}
_ACTUATORS = dict(zip(PLAYGROUND, (1, 2, 1, 6, 2, 5, 4, 21, 1, 2, 2, 5, 6), strict=True))
_ACTIONS = 100
_SHOWN = (1, 10, 100)  # after how many actions distances are told
_ONE = f"apart after {' / '.join(map(str, _SHOWN))} actions with one option changed"

# mujoco_playground's way of writing what TD-MPC2 and DreamerV3 also train on.
_MISSING = (
    *("QuadrupedWalk", "QuadrupedRun", "QuadrupedFetch", "QuadrupedEscape"),
    *("DogStand", "DogWalk", "DogTrot", "DogRun"),
    *("WalkerWalkBackwards", "WalkerRunBackwards", "CheetahRunBackwards", "CheetahRunFront"),
    *("CheetahRunBack", "CheetahJump", "HopperHopBackwards", "ReacherThreeEasy"),
    *("ReacherThreeHard", "CupSpin", "PendulumSpin"),
)
_THERE = "CartpoleBalance"


def named_tasks(rng: np.random.Generator) -> Inputs:
    """Every task that both agents have a name for."""
    del rng
    return {"variants": [{"task": task} for task in NAMED]}


def from_the_suite(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """Tasks that an agent's program takes from dm_control, and nothing else with them."""
    del subject
    answers = [reference(ASKED, **question) for question in inputs["variants"]]
    taken = float(sum(bool(a["asked"] == 1 and a["others"] == 0) for a in answers))
    return Measurement(taken, taken, len(answers))


def _domain(task: str) -> str:
    return DM_CONTROL[task].split("/")[0]


def _options(task: str) -> dict[str, Any]:
    """What mujoco_playground sets otherwise in a task."""
    return PLAYGROUND[_domain(task)]


def every_task(rng: np.random.Generator) -> Inputs:
    """All tasks that the two share."""
    del rng
    return {"variants": [{"task": task} for task in DM_CONTROL]}


def reacher(rng: np.random.Generator) -> Inputs:
    """The row's example."""
    del rng
    return {"variants": [{"task": "ReacherEasy"}]}


def start(task: str) -> Cases:
    """A state at rest, and actions in 64ths."""

    def draw(rng: np.random.Generator) -> Inputs:
        del rng
        position, size = _STARTS[task]
        rng = np.random.default_rng(0)  # every claim asks the same
        qpos = np.asarray(position, np.float64)
        actions = rng.integers(-64, 65, (_ACTIONS, size)) / 64
        return {"task": task, "qpos": qpos, "qvel": np.zeros(len(qpos)), "actions": actions}

    return draw


def every_trajectory(rng: np.random.Generator) -> Inputs:
    """Ten actions from the pose of the model, in all tasks that the two share."""
    del rng
    none = np.zeros(0)
    asked = []
    for task in DM_CONTROL:
        draws = np.random.default_rng(0)
        actions = draws.integers(-64, 65, (10, _ACTUATORS[_domain(task)])) / 64
        asked.append({"task": task, "qpos": none, "qvel": none, "actions": actions})
    return {"variants": asked}


def without_contacts(rng: np.random.Generator) -> Inputs:
    """Cartpole and reacher."""
    return {"variants": [start(task)(rng) for task in ("CartpoleSwingup", "ReacherEasy")]}


def raised(rng: np.random.Generator) -> Inputs:
    """The walker's torso in two heights, a little tilted."""
    del rng
    low = np.zeros(9)
    low[2] = 0.3125
    high = low.copy()
    high[0] = 0.25
    return {"variants": [{"task": "WalkerWalk", "qpos": qpos} for qpos in (low, high)]}


def first_observation(rng: np.random.Generator) -> Inputs:
    del rng
    return {"task": "ReacherEasy", "seed": 0}


def missing_tasks(rng: np.random.Generator) -> Inputs:
    del rng
    return {"variants": [{"task": task} for task in (*_MISSING, _THERE)]}


def option(side: str, name: str) -> Measure:
    """The range of one option over the tasks; the time steps of many must not all be one."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        answers = [asked(OPTIONS, **variant) for variant in inputs["variants"]]
        steps = [float(answer["control_timestep"]) for answer in answers]
        if len(answers) > 2 and len(np.unique(steps)) < 2:
            return Measurement(np.nan, np.nan, 0, inputs)
        return measure_range([float(answer[name]) for answer in answers])

    return measure


def differing(name: str) -> Measure:
    """In how many tasks the two sides set an option differently."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        found = []
        for variant in inputs["variants"]:
            theirs, ours = (float(s(OPTIONS, **variant)[name]) for s in (reference, subject))
            if theirs != ours:
                found.append(f"{variant['task']} {figure(theirs)} → {figure(ours)}")
        count = float(len(found))
        return Measurement(count, count, len(inputs["variants"]), note="; ".join(found))

    return measure


def assumed(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    del subject
    wrong = compared = 0
    for variant in inputs["variants"]:
        answer = reference(OPTIONS, **variant)
        for name, value in _options(variant["task"]).items():
            wrong += float(answer[name]) != value
            compared += 1
    return Measurement(float(wrong), float(wrong), compared)


def _positions(side: Implementation, inputs: Inputs, *names: str) -> np.ndarray:
    """Where a trajectory leads with some of mujoco_playground's options."""
    chosen = {name: _options(inputs["task"])[name] for name in names}
    return side(TRAJECTORY, **inputs, **{**_OWN, **chosen})["qpos"]


def _told(apart: np.ndarray, after: Sequence[int] = _SHOWN) -> str:
    ends = [float(apart[k - 1].max()) for k in after]
    return " / ".join("diverges" if np.isnan(end) else figure(end) for end in ends)


def _alone(
    reference: Implementation, inputs: Inputs, own: np.ndarray, after: Sequence[int] = _SHOWN
) -> str:
    """How far each option leads by itself."""
    return ", ".join(
        f"{name} {_told(np.abs(_positions(reference, inputs, name) - own), after)}"
        for name in _options(inputs["task"])
    )


def unexplained(*names: str) -> Measure:
    """What is left of the difference once these options are the same, as a share of it."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        own = _positions(reference, inputs)
        whole = _positions(reference, inputs, *_options(inputs["task"]))
        some = _positions(reference, inputs, *names)
        difference = np.abs(whole - own)
        share = float(np.abs(whole - some).max() / difference.max())
        note = f"{_told(difference)} with all; {_ONE}: {_alone(reference, inputs, own)}"
        return Measurement(share, share, own.size, note=note)

    return measure


def attributed(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The largest share of a difference that a domain's options leave unexplained in a task."""
    del subject
    shares, notes = [], []
    for variant in inputs["variants"]:
        task, last = variant["task"], (len(variant["actions"]),)
        own, whole, some = (
            _positions(reference, variant, *names)
            for names in ((), _options(task), MAKE_THE_DIFFERENCE[_domain(task)])
        )
        apart = np.abs(whole - own)
        missed = float(np.abs(whole - some).max())
        shares.append(missed / float(apart.max()) if apart.any() else np.nan)
        alone = _alone(reference, variant, own, last)
        notes.append(f"{task} {_told(apart, last)} with all, {alone}")
    worst = float(np.max(shares))  # NaN, if one is
    return Measurement(worst, worst, len(shares), note="; ".join(notes))


def distances_at_the_end(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """How far each option leads by itself after all actions, and all of them together."""
    del subject
    own, names = _positions(reference, inputs), _options(inputs["task"])
    ends = [
        float(np.abs(_positions(reference, inputs, *some) - own)[-1].max())
        for some in (names, *((name,) for name in names))
    ]
    return measure_range(ends, note=f"{_ONE}: {_alone(reference, inputs, own)}")


def core_against(*, options: bool) -> Measure:
    """The core's own trajectory against dm_control's with its own options, or with the core's."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        worst, notes = [], []
        for variant in inputs["variants"]:
            chosen = _options(variant["task"]) if options else ()
            theirs, ours = _positions(reference, variant, *chosen), _positions(subject, variant)
            same = theirs.shape == ours.shape
            apart = np.abs(theirs - ours) if same else np.full(theirs.shape, np.nan)
            worst.append(float(apart.max()))
            notes.append(f"{variant['task']} {_told(apart)}")
        low, high = float(np.min(worst)), float(np.max(worst))  # NaN if one is
        return Measurement(low, high, len(worst), note="; ".join(notes))

    return measure


def rise(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """By how much the component that is called height grows when the walker is raised."""
    del subject
    shown = [reference(OBSERVATION, **v)["observation"][14] for v in inputs["variants"]]
    grown = abs(float(shown[1] - shown[0]))
    note = f"{figure(float(shown[0]))} and {figure(float(shown[1]))}"
    return Measurement(grown, grown, len(shown), note=note)


def upright(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How far that component is from how upright the torso is, however high it stands."""
    del subject
    apart = [
        abs(float(reference(OBSERVATION, **v)["observation"][14]) - float(np.cos(v["qpos"][2])))
        for v in inputs["variants"]
    ]
    worst = float(np.max(apart))
    return Measurement(worst, worst, len(apart), inputs)


def outdated(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Components of the first observation that are not those of its state, four of which differ."""
    del subject
    answer = reference(RESET, **inputs)
    wrong = float(np.count_nonzero(~(np.abs(answer["shown"] - answer["computed"]) <= 1e-5)))
    if len(np.unique(answer["computed"])) < 4:  # angles and distances; it begins at rest
        wrong = np.nan
    return Measurement(wrong, wrong, len(answer["shown"]))


def cosine(*, lag: int) -> Measure:
    """What is shown as a cosine against that of the angle so many actions before."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        answer = reference(TRAJECTORY, **inputs, **_OWN)
        # An action is one step of the simulation here.
        angles = np.concatenate([inputs["qpos"][None], answer["qpos"]])[:, 1]
        shown = answer["observation"][:, 1]
        worst, other = (
            float(np.abs(shown - np.cos(angles[1 - back : len(angles) - back])).max())
            for back in (lag, 1 - lag)
        )
        note = f"from that of the angle {'now' if lag else 'before'}: {figure(other)}"
        return Measurement(worst, worst, len(shown), note=note)

    return measure


def offered(side: str) -> Measure:
    """How many of the missing tasks are there after all."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        found = [v["task"] for v in inputs["variants"] if asked(OFFERED, **v)["offered"]]
        count = float(len(found) - 1) if _THERE in found else np.nan
        return Measurement(count, count, len(inputs["variants"]), note=f"there: {', '.join(found)}")

    return measure
