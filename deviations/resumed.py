"""What rows D27, T26 and T29 ask about runs in several calls, and how they measure the answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.claims import Measurement
from parity.comparisons import Measure
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

ROWS, SLICES = "dreamerv3.resumed_replay", "tdmpc2.resumed_slices"

ENVS, DRAWN = 2, 512
# Calls that end within an episode of the next size, and at an end of one.
EPISODE, ENDS = 4, (9, 16, 23)
BITS = "The same draws from the same rows: whole numbers are compared."

Draw = Callable[[np.random.Generator], Inputs]


def sequences(ends: tuple[int, ...] = ENDS) -> Draw:
    """Of DreamerV3: a run that is not as long as the replay is asked to be."""

    def draw(rng: np.random.Generator) -> Inputs:
        asked = {"ends": np.asarray(ends), "envs": ENVS, "limit": 1000}
        return {**asked, "batch": DRAWN, "length": 3, "seed": int(rng.integers(1000))}

    return draw


def slices(*, episodic: bool, ends: tuple[int, ...] = ENDS, buffer_size: int = 1000) -> Draw:
    """Of TD-MPC2: a run that is not as long as the replay is asked to be, or is."""

    def draw(rng: np.random.Generator) -> Inputs:
        asked = {"ends": np.asarray(ends), "envs": ENVS, "length": EPISODE}
        drawn = {"rows": 3, "batch": DRAWN, "seed": int(rng.integers(1000))}
        return {**asked, **drawn, "buffer_size": buffer_size, "episodic": episodic}

    return draw


def _of_sequences(inputs: Inputs) -> set[int]:
    """The rows with which what is trained on can begin."""
    return set(range(1, int(inputs["ends"][-1]) - inputs["length"] + 1))


def _of_slices(inputs: Inputs) -> set[int]:
    """The steps, or rows, with which a slice can begin."""
    total, length, envs = int(inputs["ends"][-1]), inputs["length"], inputs["envs"]
    asked, complete = min(inputs["buffer_size"], total * envs), total // length
    if inputs["episodic"]:
        oldest, last = total - -(-asked // envs), length - inputs["rows"]
    else:
        held = -(-asked // (length * envs))
        oldest, last = (complete - held) * length, length - inputs["rows"] + 1
    return {
        e * length + t for e in range(complete) for t in range(last + 1) if e * length + t >= oldest
    }


_BEGINNINGS = {ROWS: _of_sequences, SLICES: _of_slices}


def _begun(answer: Answer) -> set[tuple[int, int]] | None:
    """The environments and first steps; none where any step does not follow the one before."""
    step = answer["step"]
    if not step.size or (np.diff(step, axis=1) != 1).any():
        return None
    return set(zip(answer["environment"].tolist(), step[:, 0].tolist(), strict=True))


def strayed(operation: str) -> Measure:
    """Beginnings that are drawn and should not be, or should be and are not."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del reference
        begun = _begun(subject(operation, **inputs))
        if begun is None:
            return Measurement(np.nan, np.nan, 0, inputs)
        possible = _BEGINNINGS[operation](inputs)
        wrong = len(begun ^ {(n, t) for n in range(inputs["envs"]) for t in possible})
        note = f"{len(possible)} beginnings in each of {inputs['envs']} environments"
        return Measurement(float(wrong), float(wrong), len(begun), inputs, note)

    return measure


def apart(operation: str) -> Measure:
    """Numbers that are not those of the run in one call, which must be a whole one."""
    in_one = strayed(operation)

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        once = {**inputs, "ends": inputs["ends"][-1:]}
        if in_one(subject, reference, once).high != 0:
            return Measurement(np.nan, np.nan, 0, inputs)
        whole, parts = (subject(operation, **asked) for asked in (once, inputs))
        wrong = float(sum(np.count_nonzero(whole[name] != parts[name]) for name in whole))
        compared = sum(array.size for array in whole.values())
        note = f"in {len(inputs['ends'])} calls"
        return Measurement(wrong, wrong, compared, inputs, note)

    return measure


def room(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Rows of each environment that the last call's rings have room for, which are in use."""
    found = strayed(ROWS)(subject, reference, inputs)
    held = float(subject(ROWS, **inputs)["held"]) if found.high == 0 else np.nan
    return Measurement(held, held, found.compared, inputs)
