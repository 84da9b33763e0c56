"""E20: which state an episode starts from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deviations.e19 import BRAX, PINS, SUITE
from deviations.eras import ALL
from parity.claims import Equals, Measurement, Stated
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry
from reference_harness.suite.tasks import DM_CONTROL

STARTS = "environments.episode_starts"
SUITE_STARTS = "environments.suite_starts"
OPTIONS = "environments.reset_options"

EPISODES = 5


def _restarts(*, full: bool) -> Callable[[np.random.Generator], Inputs]:
    def draw(rng: np.random.Generator) -> Inputs:
        del rng
        return {"episodes": EPISODES, "length": 3, "full_reset": full}

    return draw


def _tasks(rng: np.random.Generator) -> Inputs:
    del rng
    asked = {"seed": 0, "episodes": EPISODES}
    return {"variants": [{"task": task, **asked} for task in DM_CONTROL]}


def _different(side: str) -> Measure:
    """How many different states the episodes start from."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(STARTS, **inputs)
        starts = float(len(np.unique(answer["start"])))
        return Measurement(starts, starts, len(answer["start"]), inputs)

    return measure


def _cached(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The same of the reference, whose episodes must start apart if it is told to reset fully."""
    control = _different("reference")(subject, reference, {**inputs, "full_reset": True})
    found = _different("reference")(subject, reference, inputs)
    return found if control.high > 1 else Measurement(np.nan, np.nan, 0, inputs)


def _truncations(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Episodes that were cut off and are not said to be; each must have a start of its own."""
    del subject
    answer = reference(STARTS, **inputs)
    told, apart = answer["truncated"], len(np.unique(answer["start"])) == len(answer["start"])
    lost = float(np.count_nonzero(~told)) if apart else np.nan
    return Measurement(lost, lost, len(told), inputs)


def _repeating(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Tasks of which two episodes start from the same positions."""
    del subject
    found = []
    for variant in inputs["variants"]:
        qpos = reference(SUITE_STARTS, **variant)["qpos"]
        if len(np.unique(qpos, axis=0)) < len(qpos) or not np.isfinite(qpos).all():
            found.append(variant["task"])
    note = ", ".join(found)
    return Measurement(float(len(found)), float(len(found)), len(inputs["variants"]), note=note)


def _fresh_reset(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Options called fresh_reset; full_reset, as a control, must be there."""
    del subject
    answer = reference(OPTIONS, **inputs)
    if not answer["full_reset"]:
        return Measurement(np.nan, np.nan, 2, note="there is no full_reset either")
    found = float(answer["fresh_reset"])
    return Measurement(found, found, 2, note="the option is called full_reset, of the wrapper")


_DRAWN = "Five numbers out of 2^24 are different, or one was kept."

CLAIMS = (
    Claim(
        "reference-suite",
        "Of 25 tasks of dm_control, none starts two of five episodes from the same positions.",
        Equals(0, "tasks that repeat a start"),
        "Positions are drawn from continuous distributions.",
        (SUITE_STARTS,),
        _tasks,
        _repeating,
        about="reference",
        pins=(SUITE,),
        stated=Stated("a fresh random initial state every episode", 0, 0),
    ),
    Claim(
        "reference-driver",
        "DreamerV3's driver resets the environment at every episode's end.",
        Equals(EPISODES, "different starts of 5 episodes"),
        "The environment numbers its resets.",
        (STARTS,),
        _restarts(full=False),
        _different("reference"),
        about="reference",
        pins=PINS,
        stated=Stated("every episode", EPISODES, EPISODES),
    ),
    Claim(
        "reference-trainer",
        "TD-MPC2's trainer does, too.",
        Equals(EPISODES, "different starts of 5 episodes"),
        "The environment numbers its resets.",
        (STARTS,),
        _restarts(full=False),
        _different("reference"),
        about="reference",
        pins=ALL,
        stated=Stated("every episode", EPISODES, EPISODES),
    ),
    Claim(
        "core",
        "The core's collector resets freshly at every episode's end.",
        Equals(EPISODES, "different starts of 5 episodes"),
        _DRAWN,
        (STARTS,),
        _restarts(full=False),
        _different("subject"),
        about="subject",
        stated=Stated("the same", EPISODES, EPISODES),
    ),
    Claim(
        "playground-cached",
        "mujoco_playground's training wrapper restarts every episode from one cached state, "
        "unless told otherwise.",
        Equals(1, "different starts of 5 episodes"),
        _DRAWN,
        (STARTS,),
        _restarts(full=False),
        _cached,
        about="reference",
        pins=(BRAX,),
        stated=Stated("the auto-reset is fresh on every backend", EPISODES, EPISODES),
    ),
    Claim(
        "playground-full",
        "Told to reset fully, it starts every episode from another state.",
        Equals(EPISODES, "different starts of 5 episodes"),
        _DRAWN,
        (STARTS,),
        _restarts(full=True),
        _different("reference"),
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "playground-full-truncation",
        "It then forgets that the time limit cut the episode off.",
        Equals(EPISODES, "truncations lost of 5"),
        "The flag is set or it is not.",
        (STARTS,),
        _restarts(full=True),
        _truncations,
        about="reference",
        pins=(BRAX,),
    ),
    Claim(
        "fresh-reset",
        "There is no option fresh_reset, in the wrapper or in the environments.",
        Equals(0, "options of this name"),
        "A name is there or it is not.",
        (OPTIONS,),
        lambda rng: {},
        _fresh_reset,
        about="reference",
        pins=(BRAX,),
        stated=Stated("playground environments default to fresh_reset=True", 1, 1),
    ),
)

ROW = Entry(
    id="E20",
    agent="both",
    kind="deviation",
    title="Initial state of an episode",
    reference="A fresh random initial state every episode.",
    subject=(
        "The same: the static reset mode resets freshly itself; the dynamic mode uses the "
        "auto-reset, fresh on every backend since playground environments default to "
        "fresh_reset=True. Only a playground environment built with fresh_reset=False restarts "
        "from a cached first state in dynamic mode (warned). Measured: the core has one collector, "
        "which resets freshly, and none of these modes; of playground 0.2.0 the statement is not "
        "true."
    ),
    consequence="None with the default environment stack.",
    pins=(*PINS, *ALL, BRAX, SUITE),
    claims=CLAIMS,
)
