"""E18: which physics simulates the control suite."""

from __future__ import annotations

from deviations import e18_measurements as on
from deviations.e19 import BRAX, PINS, SUITE
from deviations.eras import ALL
from parity.claims import AtLeast, AtMost, Equals, Stated, Within
from parity.registry import Claim, Entry, Source

AGENTS = (*PINS, *ALL)

_OPTION = "An option is what it is set to."
_BOTH = (
    "An option is what it is set to. Of the core it can be read only where mujoco_playground is "
    "installed."
)

CLAIMS = (
    Claim(
        "agents",
        f"The program of either agent takes all of {len(on.NAMED)} tasks from dm_control's suite.",
        Equals(len(on.NAMED), "tasks"),
        "Calls are counted, in the suite's place.",
        (on.ASKED,),
        on.named_tasks,
        on.from_the_suite,
        about="reference",
        pins=AGENTS,
        stated=Stated("dm_control", len(on.NAMED), len(on.NAMED)),
    ),
    Claim(
        "suite-iterations",
        "dm_control allows its solver at least 100 iterations in every one of 25 tasks.",
        AtLeast(100, "iterations"),
        _OPTION,
        (on.OPTIONS,),
        on.every_task,
        on.option("reference", "iterations"),
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "playground-iterations",
        "mujoco_playground allows it at most 4.",
        Within(1, 4, "iterations"),
        _OPTION,
        (on.OPTIONS,),
        on.every_task,
        on.option("reference", "iterations"),
        about="reference",
        pins=(BRAX,),
        stated=Stated("reduced solver iterations", 1, 99),
    ),
    Claim(
        "suite-timestep",
        "dm_control simulates the reacher in steps of 0.02 s.",
        Equals(0.02, "s"),
        _OPTION,
        (on.OPTIONS,),
        on.reacher,
        on.option("reference", "timestep"),
        about="reference",
        pins=(SUITE,),
        stated=Stated("0.02", 0.02, 0.02),
    ),
    Claim(
        "playground-timestep",
        "mujoco_playground does so in steps of 0.005 s.",
        Equals(0.005, "s"),
        _OPTION,
        (on.OPTIONS,),
        on.reacher,
        on.option("reference", "timestep"),
        about="reference",
        pins=(BRAX,),
        stated=Stated("0.005", 0.005, 0.005),
    ),
    Claim(
        "suite-eulerdamp",
        "dm_control integrates joint damping implicitly in all tasks.",
        Equals(1, "(yes, everywhere)"),
        _OPTION,
        (on.OPTIONS,),
        on.every_task,
        on.option("reference", "eulerdamp"),
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "playground-eulerdamp",
        "mujoco_playground does so in none. (The row does not say this.)",
        Equals(0, "(no, nowhere)"),
        _OPTION,
        (on.OPTIONS,),
        on.every_task,
        on.option("reference", "eulerdamp"),
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "timesteps",
        "Of 25 tasks, the core simulates 8 in other time steps than dm_control.",
        Equals(8, "tasks"),
        _BOTH,
        (on.OPTIONS,),
        on.every_task,
        on.differing("timestep"),
        pins=(SUITE,),
        core_only=True,
        stated=Stated("some sim_dt changes", 1, 24),
    ),
    Claim(
        "integrators",
        "In 9 it integrates otherwise: acrobot and cartpole by Euler's method in place of a "
        "Runge-Kutta one, finger by an implicit method. (The row does not say this.)",
        Equals(9, "tasks"),
        _BOTH,
        (on.OPTIONS,),
        on.every_task,
        on.differing("integrator"),
        pins=(SUITE,),
        core_only=True,
    ),
    Claim(
        "options",
        "The options with which dm_control is made to simulate as mujoco_playground, below, are "
        "mujoco_playground's.",
        Equals(0, "options that differ"),
        _OPTION,
        (on.OPTIONS,),
        on.every_task,
        on.assumed,
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "tasks",
        "In every one of the 25 tasks, a few of these options make the difference over ten "
        "actions: the time step, the integrator and the implicit damping, and the solver's "
        "iterations only where something touches or is tied (ball in cup, walker). Without the "
        "implicit damping alone, finger and fish diverge in dm_control's time steps.",
        AtMost(0.01, "of the difference unexplained"),
        "The same program with the same options comes to the same float64 numbers; options that "
        "do not count leave less than a hundredth.",
        (on.TRAJECTORY,),
        on.every_trajectory,
        on.attributed,
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "cartpole",
        "In cartpole the integrator alone makes the difference: dm_control with Euler's method "
        "goes where it goes with all of mujoco_playground's options.",
        AtMost(0.001, "of the difference unexplained"),
        "There are no contacts to solve. Damping is integrated implicitly by Euler's method alone, "
        "and the joints are hardly damped.",
        (on.TRAJECTORY,),
        on.start("CartpoleSwingup"),
        on.unexplained("integrator"),
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "reacher",
        "In the reacher it is the time step and the implicit damping together.",
        AtMost(1e-9, "of the difference unexplained"),
        "There are no contacts to solve, so that the solver's iterations change nothing.",
        (on.TRAJECTORY,),
        on.start("ReacherEasy"),
        on.unexplained("timestep", "eulerdamp"),
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "walker",
        "In the walker, whose feet touch the ground, every single option that differs leads "
        "somewhere else in 100 actions, and so do all of them.",
        AtLeast(0.1, "m or rad apart"),
        "Contacts make the dynamics chaotic: no option is to be blamed for a trajectory.",
        (on.TRAJECTORY,),
        on.start("WalkerWalk"),
        on.distances_at_the_end,
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "core-own",
        "From one state, under the same 100 actions, the core and dm_control part, by less than "
        "0.1 m or rad in a second or two.",
        Within(1e-4, 0.1, "m or rad apart"),
        "The differences of options, as measured by `cartpole` and `reacher`.",
        (on.TRAJECTORY,),
        on.without_contacts,
        on.core_against(options=False),
        pins=(SUITE,),
        core_only=True,
    ),
    Claim(
        "core-same-options",
        "They do not part where dm_control is given mujoco_playground's options: what is left is "
        "float32.",
        AtMost(2e-5, "m or rad apart"),
        "100 actions of 1 or 4 steps each, with rounding errors of 6e-8 of positions up to 3; the "
        "pendulums are not chaotic over a second.",
        (on.TRAJECTORY,),
        on.without_contacts,
        on.core_against(options=True),
        pins=(SUITE,),
        core_only=True,
    ),
    Claim(
        "suite-height",
        "The walker's observation has the height of its torso in dm_control: raised by 0.25 m, it "
        "shows 0.25 m more.",
        Within(0.2499, 0.2501, "m"),
        "A sum of two numbers.",
        (on.OBSERVATION,),
        on.raised,
        on.rise,
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "playground-height",
        "In mujoco_playground this component does not change: it is how upright the torso is. "
        "(The row does not say this.)",
        AtMost(1e-6, "from the cosine"),
        "The cosine of the torso's angle, in float32, at either height.",
        (on.OBSERVATION,),
        on.raised,
        on.upright,
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "suite-reset",
        "The reacher's first observation shows where the target is, in dm_control.",
        Equals(0, "components that are not up to date"),
        "The same computation on the same state.",
        (on.RESET,),
        on.first_observation,
        on.outdated,
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "playground-reset",
        "In mujoco_playground it shows where the target was before it was moved. (The row does not "
        "say this.)",
        Equals(2, "components that are not up to date"),
        "The target is moved after the state was computed; its distance has two components.",
        (on.RESET,),
        on.first_observation,
        on.outdated,
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "suite-derived",
        "What the cartpole shows of its angle is the cosine of the angle, in dm_control.",
        AtMost(1e-12, "of the cosine"),
        "float64.",
        (on.TRAJECTORY,),
        on.start("CartpoleSwingup"),
        on.cosine(lag=0),
        about="reference",
        pins=(SUITE,),
    ),
    Claim(
        "playground-derived",
        "In mujoco_playground it is that of the angle one step of the simulation before, as is all "
        "that is derived from positions. (The row does not say this.)",
        AtMost(1e-6, "of the cosine"),
        "float32. The cosines of successive angles differ by 1e-4 and more: see the note.",
        (on.TRAJECTORY,),
        on.start("CartpoleSwingup"),
        on.cosine(lag=1),
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "unavailable",
        "mujoco_playground has neither quadruped nor dog, nor any of TD-MPC2's 11 own tasks.",
        Equals(0, "of 19 tasks"),
        "A task is there or it is not; cartpole, asked as a control, is.",
        (on.OFFERED,),
        on.missing_tasks,
        on.offered("reference"),
        about="reference",
        pins=(BRAX,),
        stated=Stated("unavailable", 0, 0),
    ),
    Claim(
        "core-unavailable",
        "So the core has not.",
        Equals(0, "of 19 tasks"),
        "A task is there or it is not; cartpole, asked as a control, is.",
        (on.OFFERED,),
        on.missing_tasks,
        on.offered("subject"),
        about="subject",
        core_only=True,
        stated=Stated("unavailable", 0, 0),
    ),
)

ROW = Entry(
    id="E18",
    agent="both",
    kind="deviation",
    title="Control suite: MuJoCo C against MJX",
    reference="dm_control (MuJoCo C).",
    subject=(
        "mujoco_playground's MJX ports: reduced solver iterations, some sim_dt changes (e.g. "
        "reacher 0.005 vs 0.02), impl='jax' on CPU. QuadrupedRun / DogRun and the 11 custom "
        "TD-MPC2 tasks are unavailable. Measured beside that: other integrators, no implicit "
        "damping, and three observations that are not dm_control's."
    ),
    consequence="Environment, not algorithm.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/envs/dmc.py", "36-37"),
        Source("dreamerv3-2411f7d", "embodied/envs/dmc.py", "36-37"),
        Source("dreamerv3-e3f0224", "embodied/envs/dmc.py", "40"),
        Source("tdmpc2-b67b21c", "tdmpc2/envs/dmcontrol.py", "191-194"),
        Source("tdmpc2-5f6fade", "tdmpc2/envs/dmcontrol.py", "191-194"),
        Source("tdmpc2-eece801", "tdmpc2/envs/dmcontrol.py", "102-105"),
        Source("tdmpc2-e9f5932", "tdmpc2/envs/dmcontrol.py", "102-105"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/__init__.py", "33-36"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/__init__.py", "33-36"),
        Source("tdmpc2-eece801", "tdmpc2/common/__init__.py", "33-36"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/__init__.py", "33-36"),
    ),
    pins=(SUITE, BRAX, *AGENTS),
    claims=CLAIMS,
)
