"""E19: what an action repeat does at the end of an episode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.d3 import HEAD
from deviations.eras import ALL, LATER
from deviations.eras import PAPER_ERA as TDMPC2_PAPER_ERA
from parity.agreements.dreamerv3.entries import PINS as PAPER_ERA
from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.registry import Claim, Entry, Source
from reference_harness.suite.tasks import DM_CONTROL

REPEAT = "environments.action_repeat"
ENDS = "environments.suite_ends"

OTHER = "lqr/lqr_2_1"  # of dm_control alone, and it can terminate

PINS = (*PAPER_ERA, HEAD)
SUITE, BRAX = "dm_control-1.0.31", "playground-0.2.0"


def _asked(
    repeat: int, ends: int, limit: int, actions: int = 2, first: int = 0
) -> Callable[[np.random.Generator], Inputs]:
    """Actions in an episode whose first steps have rewards of their own, from 2 ** first on."""

    def draw(rng: np.random.Generator) -> Inputs:
        del rng
        rewards = np.exp2(first + np.arange(actions * repeat) % 16).astype(np.float32)
        asked = {"actions": actions, "repeat": repeat, "ends": ends, "limit": limit}
        return {**asked, "rewards": rewards}

    return draw


terminating, cut_off = _asked(4, 2, 100), _asked(4, 0, 6)
# TD-MPC2 takes every action twice, and plays 500 of them, 1,000 steps.
# No step is paid 1, nor is any number of steps.
_terminating_at_once, _cut_off_before = _asked(2, 1, 100, first=4), _asked(2, 0, 999, 500)


def _both_ends(rng: np.random.Generator) -> Inputs:
    return {"variants": [terminating(rng), cut_off(rng)]}


def _tasks(rng: np.random.Generator) -> Inputs:
    del rng
    return {"variants": [{"task": task, "seed": 0} for task in (*DM_CONTROL, OTHER)]}


def _beyond(answer: Answer, inputs: Inputs) -> float:
    """Reward of the first action that the episode's two steps did not earn."""
    earned = float(inputs["rewards"][: inputs["ends"]].sum())
    return float(answer["reward"][0]) - earned


def _untold(answer: Answer, inputs: Inputs) -> float:
    """1 if the first action, which must be repeated, does not say that it ended the episode."""
    if answer["steps"][0] != inputs["repeat"]:
        return float("nan")
    return float(not (answer["ended"][0] and answer["terminated"][0]))


def _late(answer: Answer, inputs: Inputs) -> float:
    """Steps that the simulation has made beyond the limit when the episode is over."""
    over = int(np.argmax(answer["ended"]))
    if not answer["ended"][over]:
        return float("nan")
    return float(answer["steps"][over] - inputs["limit"])


def _misreported(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Ends of the core that were not told as what they are."""
    del reference
    wrong = 0.0
    for variant in inputs["variants"]:
        answer = subject(REPEAT, **variant)
        over = int(np.argmax(answer["ended"]))
        told = bool(answer["ended"][over]) and bool(answer["terminated"][over])
        wrong += not answer["ended"][over] or told != bool(variant["ends"])
    return Measurement(wrong, wrong, len(inputs["variants"]), inputs)


def _of(side: str, figure: Callable[[Answer, Inputs], float]) -> Measure:
    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(REPEAT, **inputs)
        found = figure(answer, inputs)
        return Measurement(found, found, len(answer["reward"]), inputs)

    return measure


def _terminating(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Tasks that can terminate, or whose episode ended otherwise than by its time limit."""
    del subject
    found, lengths = [], set()
    for variant in inputs["variants"]:
        answer = reference(ENDS, **variant)
        if answer["can_terminate"] or answer["discount"] != 1:
            found.append(variant["task"])
        else:
            lengths.add(int(answer["length"]))
    note = f"episodes of {', '.join(map(str, sorted(lengths)))} actions"
    note += f"; can terminate: {', '.join(found)}" if found else ""
    count = float(len(found) - 1) if OTHER in found else np.nan
    return Measurement(count, count, len(inputs["variants"]), note=note)


_ADDED = "Rewards are powers of two, so that their sum says which were added."
_COUNTED = "Steps are counted."

CLAIMS = (
    Claim(
        "reference-stops",
        "The reference's action repeat stops where the episode terminates: nothing is earned by "
        "the steps after it.",
        Equals(0, "reward of later steps"),
        _ADDED,
        (REPEAT,),
        terminating,
        _of("reference", _beyond),
        about="reference",
        pins=PINS,
        stated=Stated("stops at the episode's end", 0, 0),
    ),
    Claim(
        "reference-limit",
        "So it does where a time limit cuts the episode off in the middle of a repeat.",
        Equals(0, "steps beyond the limit"),
        _COUNTED,
        (REPEAT,),
        cut_off,
        _of("reference", _late),
        about="reference",
        pins=PINS,
        stated=Stated("stops at the episode's end", 0, 0),
    ),
    Claim(
        "tdmpc2-stops",
        "In the paper's era TD-MPC2's repeat of two stops as well.",
        Equals(0, "reward of later steps"),
        _ADDED,
        (REPEAT,),
        _terminating_at_once,
        _of("reference", _beyond),
        about="reference",
        pins=TDMPC2_PAPER_ERA,
        stated=Stated("stops at the episode's end", 0, 0),
    ),
    Claim(
        "tdmpc2-limit",
        "Also where the simulation is cut off after 999 steps.",
        Equals(0, "steps beyond the limit"),
        _COUNTED,
        (REPEAT,),
        _cut_off_before,
        _of("reference", _late),
        about="reference",
        pins=TDMPC2_PAPER_ERA,
        stated=Stated("stops at the episode's end", 0, 0),
    ),
    Claim(
        "tdmpc2-continues",
        "From eece801 on it does not: both steps are made and paid, though the episode terminated "
        "with the first.",
        Equals(32, "reward of later steps"),
        f"{_ADDED} (This simulation goes on; the suite's own would begin anew.)",
        (REPEAT,),
        _terminating_at_once,
        _of("reference", _beyond),
        about="reference",
        pins=LATER,
        otherwise=True,
    ),
    Claim(
        "tdmpc2-forgets",
        "Nor does it tell of the termination.",
        Equals(1, "terminations lost"),
        "The flag is set or it is not.",
        (REPEAT,),
        _terminating_at_once,
        _of("reference", _untold),
        about="reference",
        pins=LATER,
        otherwise=True,
    ),
    Claim(
        "tdmpc2-beyond",
        "An episode ends after 500 actions, whatever the simulation says: where that cuts it off "
        "after 999 steps, another one is made.",
        Equals(1, "steps beyond the limit"),
        _COUNTED,
        (REPEAT,),
        _cut_off_before,
        _of("reference", _late),
        about="reference",
        pins=LATER,
        otherwise=True,
    ),
    Claim(
        "brax-continues",
        "brax's wrapper adds the rewards of all four repeats, though the episode terminated with "
        "the second.",
        Equals(12, "reward of later steps"),
        _ADDED,
        (REPEAT,),
        terminating,
        _of("reference", _beyond),
        about="reference",
        pins=(BRAX,),
        stated=Stated("repeat continues after a termination", 1, 12),
    ),
    Claim(
        "brax-forgets",
        "It keeps the last repeat's flag alone: the termination is lost.",
        Equals(1, "terminations lost"),
        "The flag is set or it is not.",
        (REPEAT,),
        terminating,
        _of("reference", _untold),
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "brax-limit",
        "An episode of six steps at a repeat of four ends after eight.",
        Equals(2, "steps beyond the limit"),
        _COUNTED,
        (REPEAT,),
        cut_off,
        _of("reference", _late),
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "core-stops",
        "The core does not use brax's wrapper, and stops as the reference does.",
        Equals(0, "reward of later steps"),
        _ADDED,
        (REPEAT,),
        terminating,
        _of("subject", _beyond),
        about="subject",
        stated=Stated("repeat continues after a termination", 1, 12),
    ),
    Claim(
        "core-tells",
        "It says of the one that the episode terminated, and of one that its limit cut off that "
        "it did not.",
        Equals(0, "of 2 ends told wrongly"),
        "The flag is set or it is not.",
        (REPEAT,),
        _both_ends,
        _misreported,
        about="subject",
    ),
    Claim(
        "core-limit",
        "Its time limit counts the simulation's steps, and may fall within a repeat.",
        Equals(0, "steps beyond the limit"),
        _COUNTED,
        (REPEAT,),
        cut_off,
        _of("subject", _late),
        about="subject",
    ),
    Claim(
        "suite-never-terminates",
        "None of the 25 tasks that dm_control and mujoco_playground share terminates.",
        Equals(0, "tasks that terminate"),
        "A task that has no rule for it ends by its time limit alone; an episode of each is played "
        "to the end all the same. As a control, dm_control's lqr must be found to have a rule.",
        (ENDS,),
        _tasks,
        _terminating,
        about="reference",
        pins=(SUITE,),
        stated=Stated("DMC never terminates", 0, 0),
    ),
)

ROW = Entry(
    id="E19",
    agent="both",
    kind="deviation",
    title="Action repeat at the episode's end",
    reference=(
        "dm_control's action repeat stops at the episode's end. Measured: TD-MPC2's does not from "
        "eece801 on."
    ),
    subject=(
        "brax's EpisodeWrapper repeat continues after a termination. Measured: so it does, and "
        "the core does not use it: its own repeat stops as the reference's."
    ),
    consequence="None on DMC (never terminates).",
    sources=(
        Source("dreamerv3-29eb964", "embodied/core/wrappers.py", "45-55"),
        Source("dreamerv3-2411f7d", "embodied/core/wrappers.py", "45-55"),
        Source("dreamerv3-e3f0224", "embodied/core/wrappers.py", "63-73"),
        Source("tdmpc2-b67b21c", "tdmpc2/envs/dmcontrol.py", "37-47"),
        Source("tdmpc2-5f6fade", "tdmpc2/envs/dmcontrol.py", "36-46"),
        Source("tdmpc2-eece801", "tdmpc2/envs/dmcontrol.py", "54-60"),
        Source("tdmpc2-e9f5932", "tdmpc2/envs/dmcontrol.py", "54-60"),
    ),
    pins=(*PINS, *ALL, BRAX, SUITE),
    claims=CLAIMS,
)
