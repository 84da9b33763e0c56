"""T29: episodes that end early."""

from __future__ import annotations

import dataclasses

import numpy as np

from deviations import t29_measurements as measured
from deviations.eras import ALL, BETWEEN, FIRST, HEAD, LATER, PAPER
from deviations.t29_eras import WITH_THE_MODE, WITHOUT_THE_MODE
from deviations.t29_replay import REPLAY
from parity.agreements.tdmpc2 import AGREEMENTS
from parity.claims import Equals, Stated, Within
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

ROUNDED = 1e-4  # of the cross entropy of ends: see `_SUMMED`
STEPS = measured.SEED_STEPS + 1
HELD = 6  # of the first 25 rows: those with which episodes of 3 steps end


def _run(rng: np.random.Generator) -> Inputs:
    del rng
    return measured.run()


def _runs(rng: np.random.Generator) -> Inputs:
    del rng
    return {"variants": [measured.run(1), measured.run(2)]}


def _short_run(rng: np.random.Generator) -> Inputs:
    del rng
    return measured.run(length=1)


_COUNTED = "They are counted."
_DECIDED = "A value is that of all that follows or that of what comes before the end."
_SUMMED = (
    "The total is ten times the cross entropy and known to some ε; a loss that is there or is not "
    "differs by 1."
)
_AGREED = {f"{entry.id}/{claim.id}": claim for entry in AGREEMENTS for claim in entry.claims}
_TARGETS = _AGREED["tdmpc2-td-targets-terminated/equal"]
_LOSS = _AGREED["tdmpc2-termination-loss/loss"]
_PLAN = _AGREED["tdmpc2-plan-episodic/values"]

# What is asked of the reference's episodic mode, which is there from eece801 on.
_OF_THE_MODE = (
    *REPLAY,
    dataclasses.replace(
        _TARGETS,
        id="targets",
        statement="The targets are the same, where some steps terminate.",
        reason="See tdmpc2-td-targets/equal; a product with 0 or 1 is exact.",
        stated=Stated("The same targets", 0, 4),
    ),
    Claim(
        "reference-loss",
        "The reference has a head that predicts ends, whose cross entropy is part of its loss.",
        Within(1 - ROUNDED, 1 + ROUNDED, "of the cross entropy of ends"),
        _SUMMED,
        (measured.LOSS,),
        measured.predictions,
        measured.of_ends("reference"),
        about="reference",
    ),
    Claim(
        "core-loss",
        "So has the core.",
        Within(1 - ROUNDED, 1 + ROUNDED, "of the cross entropy of ends"),
        _SUMMED,
        (measured.LOSS,),
        measured.predictions,
        measured.of_ends("subject"),
        about="subject",
        stated=Stated("The same losses", 1 - ROUNDED, 1 + ROUNDED),
    ),
    dataclasses.replace(
        _LOSS,
        id="loss",
        statement="The loss of predicted ends is the same, from the same states and parameters.",
        stated=Stated("The same losses", 0, 16),
    ),
    Claim(
        "reference-plan",
        "In a plan of the reference nothing counts that follows an end which that head predicts.",
        Equals(measured.CUT, f"of {measured.TRAJECTORIES} trajectories"),
        _DECIDED,
        (measured.PLANNED,),
        measured.trajectories(episodic=True),
        measured.cut_off("reference"),
        about="reference",
    ),
    Claim(
        "core-plan",
        "Nor in a plan of the core.",
        Equals(measured.CUT, f"of {measured.TRAJECTORIES} trajectories"),
        _DECIDED,
        (measured.PLANNED,),
        measured.trajectories(episodic=True),
        measured.cut_off("subject"),
        about="subject",
        stated=Stated("The same planning", measured.CUT, measured.CUT),
    ),
    dataclasses.replace(
        _PLAN,
        id="plan",
        statement="Whole plans give the same values to all sequences in every iteration.",
        stated=Stated("The same planning", 0, 1),
    ),
    Claim(
        "core-off",
        "With its episodic mode off, the core counts them all.",
        Equals(0, f"of {measured.TRAJECTORIES} trajectories"),
        _DECIDED,
        (measured.PLANNED,),
        measured.trajectories(episodic=False),
        measured.cut_off("subject"),
        about="subject",
    ),
    Claim(
        "reference-off",
        "With its episodic mode off, e9f5932 counts them all.",
        Equals(0, f"of {measured.TRAJECTORIES} trajectories"),
        _DECIDED,
        (measured.PLANNED,),
        measured.trajectories(episodic=False),
        measured.cut_off("reference"),
        about="reference",
        pins=(HEAD,),
    ),
    Claim(
        "reference-off-between",
        "eece801 has the head all the same, and its plans stop where it says so.",
        Equals(measured.CUT, f"of {measured.TRAJECTORIES} trajectories"),
        _DECIDED,
        (measured.PLANNED,),
        measured.trajectories(episodic=False),
        measured.cut_off("reference"),
        about="reference",
        pins=(BETWEEN,),
        stated=Stated("eece801, as at e9f5932", 0, 0),
    ),
    Claim(
        "reference-seed",
        "The reference's first S + 1 steps are random, whatever episodes they end.",
        Equals(STEPS, "steps"),
        f"S is {measured.SEED_STEPS}; the comparison is that of row T8.",
        (measured.RUN,),
        _run,
        measured.random_steps("reference"),
        about="reference",
        stated=Stated("the seed phase is counted in environment steps", STEPS, STEPS),
    ),
    Claim(
        "core-seed",
        "The core's first S + 1 rows are; those that are an episode's last are no steps.",
        Equals(STEPS - HELD, "steps"),
        f"Of the first {STEPS} rows {HELD} are the last of an episode of 3 steps.",
        (measured.RUN,),
        _run,
        measured.random_steps("subject"),
        about="subject",
        core_only=True,
        stated=Stated("≈ S·k/(k+1) environment steps for k-step episodes", 17, 19),
    ),
    Claim(
        "reference-updates",
        "After the last of them the reference makes S updates, and then one per step.",
        Equals(0, f"of {measured.TICKS} ticks"),
        _COUNTED,
        (measured.RUN,),
        _run,
        measured.mistimed("reference"),
        about="reference",
        stated=Stated("one update per environment step", 0, 0),
    ),
    Claim(
        "core-updates",
        "So does the core, and for each of two environments that stepped.",
        Equals(0, f"of {2 * measured.TICKS} ticks"),
        _COUNTED,
        (measured.RUN,),
        _runs,
        measured.mistimed("subject"),
        about="subject",
        core_only=True,
        stated=Stated("one update per environment stepped in the tick", 0, 0),
    ),
    Claim(
        "core-waits",
        "Where no episode has H + 1 rows, it makes none.",
        Equals(0, "updates"),
        _COUNTED,
        (measured.RUN,),
        _short_run,
        measured.waiting,
        about="subject",
        core_only=True,
        stated=Stated("none until an episode of ≥ H+1 rows is stored", 0, 0),
    ),
)

CLAIMS = (
    WITH_THE_MODE,
    *(dataclasses.replace(claim, pins=claim.pins or LATER) for claim in _OF_THE_MODE),
    *WITHOUT_THE_MODE,
)

ROW = Entry(
    id="T29",
    agent="TD-MPC2",
    kind="deviation",
    title="Episodic mode",
    reference=(
        "The latest code's episodic mode (eece801, as at e9f5932): a single environment; finished "
        "episodes are added to a row storage of min(buffer_size, steps) rows; "
        "SliceSampler(strict_length=True): a uniform episode among those of ≥ H+1 rows, a uniform "
        "offset; the seed phase and one update per environment step are counted in environment "
        "steps; every other part of the agent is at its latest version."
    ),
    subject=(
        "Opt-in (episodic=True), grafted onto the paper-era agent (every other choice of it kept, "
        "e.g. Q dropout in the TD target). A dynamic-reset row collector: per-environment rings of "
        "ceil(min(buffer_size, total) / n_envs) rows written in lockstep (the running episode's "
        "rows included; total is the number of the run's rows when the current train() call ends, "
        "the reference's clamp to the run, so a resumed run moves the carried rows into its own "
        "rings); an overwritten episode keeps its stored tail, as in the reference. Seed phase of "
        "max(S div n, T) ticks (held rows included, ≈ S·k/(k+1) environment steps for k-step "
        "episodes), then one update per environment stepped in the tick (none until an episode of "
        "≥ H+1 rows is stored); n_timesteps counts rows."
    ),
    consequence=(
        "The same targets, losses, planning and sampling distribution; the seed phase is shorter "
        "by the episode ends it contains. Validated on a terminating chain whose values are known. "
        "Ends are predicted by a head of the latent state that a step leads to, and plans stop at "
        "them, on both sides."
    ),
    sources=(
        Source(FIRST, "tdmpc2/tdmpc2.py", "91-99"),
        Source(PAPER, "tdmpc2/tdmpc2.py", "95-103"),
        Source("tdmpc2-eece801", "tdmpc2/common/buffer.py", "16-24"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/buffer.py", "16-24"),
        Source("tdmpc2-eece801", "tdmpc2/common/buffer.py", "84-91"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/buffer.py", "84-91"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "106-123"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "106-123"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "126-136"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "257"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "293-302"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "126-136"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "257"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "282-304"),
    ),
    pins=ALL,
    claims=CLAIMS,
)
