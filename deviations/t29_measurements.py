"""What row T29 measures: shares of slices, values of plans, a loss, and when a run learns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.agreements.tdmpc2.losses import model_losses
from parity.claims import Measurement
from parity.comparisons import EPSILON, Measure, questions, worst_of
from parity.implementations import Implementation
from parity.operations import Inputs

SLICES, CAPACITY, PLANNED, LOSS, RUN = (
    f"tdmpc2.{name}"
    for name in ("row_slices", "row_capacity", "planned_values", "episodic_loss", "episodic_run")
)
PARTS = "tdmpc2.episodic_parts"
NAMED = ("option", "head", "column")

H, TRAJECTORIES, CUT = 3, 8, 4
SEED_STEPS, TICKS, LENGTH = 24, 40, 3

Draw = Callable[[np.random.Generator], Inputs]


def _slices(rows: list[int], capacity: int, seed: int) -> Inputs:
    asked = {"rows": np.asarray(rows), "longest": max(rows), "capacity": capacity, "horizon": H}
    return {**asked, "batch": 256, "batches": 40, "seed": seed}


def whole(rng: np.random.Generator) -> Inputs:
    """Episodes of different lengths, all of which is held."""
    return _slices([3, 4, 5, 10, 50], 72, int(rng.integers(1000)))


def overwritten(rng: np.random.Generator) -> Inputs:
    """Of the first episode's ten rows, the last six are held."""
    return _slices([10, 6, 8, 7], 27, int(rng.integers(1000)))


def edges(rng: np.random.Generator) -> Inputs:
    """Of the first episode's ten rows H + 1 are held, and then H; and as many short ones as fit."""
    seed = int(rng.integers(1000))
    asked = (([10, 6, 8, 7], 25), ([10, 6, 8, 7], 24), ([H + 1] * 6, 16))
    return {"variants": [_slices(rows, capacity, seed) for rows, capacity in asked]}


def short(rng: np.random.Generator) -> Inputs:
    """No episode of H + 1 rows, and then one."""
    seed = int(rng.integers(1000))
    few = {"batch": 2, "batches": 1}
    return {"variants": [{**_slices(rows, 16, seed), **few} for rows in ([3, 2, 3], [3, 2, 4])]}


def _beginnings(inputs: Inputs) -> np.ndarray:
    """Whether a slice can begin at each row of each episode."""
    rows = inputs["rows"]
    index = np.cumsum(rows)[:, None] - rows[:, None] + np.arange(inputs["longest"])
    held = index >= rows.sum() - inputs["capacity"]
    return held & (np.arange(inputs["longest"]) < rows[:, None] - inputs["horizon"])


def nothing(rng: np.random.Generator) -> Inputs:
    """No question has to be drawn."""
    del rng
    return {}


def parts(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """How many parts of an episodic mode the reference has; NaN if its rows are not looked at."""
    del subject
    answer = reference(PARTS, **inputs)
    found = [name for name in NAMED if answer[name]]
    seen = answer["observation"] and not answer["nonsense"]
    count = float(len(found)) if seen else np.nan
    return Measurement(count, count, len(NAMED), note=", ".join(found))


def shares(side: str) -> Measure:
    """How far an episode's or a beginning's share is from what it should be, in σ of chance."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(SLICES, **inputs)
        found, valid = answer["starts"], _beginnings(inputs)
        drawn = inputs["batch"] * inputs["batches"]
        sound = answer["possible"] == 1 and not answer["torn"] and found.sum() == drawn
        if not sound or found[~valid].any():
            return Measurement(np.nan, np.nan, found.size, inputs)
        eligible = valid.any(axis=1)
        share = valid / np.maximum(valid.sum(axis=1, keepdims=True), 1) / eligible.sum()
        expected = np.concatenate([share[valid], share.sum(axis=1)[eligible]])
        counts = np.concatenate([found[valid], found.sum(axis=1)[eligible]])
        deviation = np.sqrt(drawn * expected * (1 - expected))
        worst = float((np.abs(counts - drawn * expected) / deviation).max())
        told = ", ".join(f"{n / drawn:.3f}" for n in found.sum(axis=1))
        return Measurement(worst, worst, len(counts), inputs, f"shares of the episodes: {told}")

    return measure


def shares_of_each(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """The worst of the core's over several replays."""
    one = shares("subject")
    return worst_of(one(subject, reference, question) for question in questions(SLICES, inputs))


def refused(side: str) -> Measure:
    """Of two replays the ones that are sampled or refused wrongly."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = reference if side == "reference" else subject
        answers = [asked(SLICES, **question)["possible"] for question in questions(SLICES, inputs)]
        wrong = float(sum(bool(a) != b for a, b in zip(answers, (False, True), strict=True)))
        return Measurement(wrong, wrong, len(answers), inputs)

    return measure


def capacities(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Capacities that differ between the two sides."""
    pairs = [
        (int(reference(CAPACITY, **question)["rows"]), int(subject(CAPACITY, **question)["rows"]))
        for question in questions(CAPACITY, inputs)
    ]
    wrong = float(sum(a != b for a, b in pairs))
    return Measurement(wrong, wrong, len(pairs), inputs)


def core_capacity(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """Rows of each environment."""
    del reference
    rows = float(subject(CAPACITY, **inputs)["rows"])
    return Measurement(rows, rows, 1, inputs)


def trajectories(*, episodic: bool) -> Draw:
    """Half of them with an end that is predicted, each at another step."""

    def draw(rng: np.random.Generator) -> Inputs:
        ends = np.full((H, TRAJECTORIES), 0.25)
        ends[[0, 1, 2, 1], np.arange(CUT)] = 0.75
        rewards = rng.integers(64, 256, (H, TRAJECTORIES)) / 64
        values = rng.integers(512, 1024, TRAJECTORIES) / 64
        arrays = {"rewards": rewards, "ends": ends, "values": values}
        given = {name: value.astype(np.float32) for name, value in arrays.items()}
        return {**given, "discount": 0.99, "episodic": episodic}

    return draw


def _planned(inputs: Inputs, *, cut: bool) -> np.ndarray:
    """The values in float64, with nothing after a predicted end, or with everything."""
    alive = np.ones(TRAJECTORIES)
    total = np.zeros(TRAJECTORIES)
    for t in range(H):
        total += inputs["discount"] ** t * alive * inputs["rewards"][t]
        alive = alive * (inputs["ends"][t] <= 0.5) if cut else alive
    return total + inputs["discount"] ** H * alive * inputs["values"]


def cut_off(side: str) -> Measure:
    """Trajectories of which nothing counts that follows a predicted end.

    Each must have the value that it has either so or with all that follows.
    """

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        found = (reference if side == "reference" else subject)(PLANNED, **inputs)["planned"]
        cut, uncut = _planned(inputs, cut=True), _planned(inputs, cut=False)
        # Twice as many roundings as terms, each of the largest sum.
        within = 2 * (H + 1) * EPSILON * uncut
        as_cut, as_uncut = (np.abs(found - x) <= within for x in (cut, uncut))
        known = (as_cut | as_uncut).all()
        count = float(np.sum(as_cut & ~as_uncut)) if known else np.nan
        return Measurement(count, count, TRAJECTORIES, inputs)

    return measure


def predictions(rng: np.random.Generator) -> Inputs:
    """Errors, logits and targets that differ in every step, network and sequence."""
    B, N = 5, 11

    def uniform(*shape: int, within: float = 2.0) -> np.ndarray:
        return (within * (2 * rng.random(shape) - 1)).astype(np.float32)

    return {
        "latents": uniform(H, B, 8),
        "next_latents": uniform(H, B, 8),
        "reward_logits": uniform(H, B, N),
        "reward": uniform(H, B, within=12.0),
        "q_logits": uniform(2, H, B, N),
        "returns": uniform(H, B, within=12.0),
        "end_logits": uniform(H, B),
        "terminated": (rng.random((H, B)) < 0.4).astype(np.float32),
        "limit": 3.0,
    }


def of_ends(side: str) -> Measure:
    """What a total has beyond three weighted losses, over the cross entropy of ends."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(LOSS, **inputs)
        weights = {"rho": 0.5, "consistency_coef": 20.0, "reward_coef": 0.1, "value_coef": 0.1}
        three = float(model_losses({**inputs, **weights})["total"])
        logits, ended = (inputs[n].astype(np.float64) for n in ("end_logits", "terminated"))
        entropy = float(np.mean(np.logaddexp(0, logits) - ended * logits))
        rest = (float(answer["total"]) - three) / entropy
        note = f"total {float(answer['total']):.4g}, of three losses {three:.4g}"
        return Measurement(rest, rest, 1, inputs, note)

    return measure


def run(envs: int = 1, length: int = LENGTH) -> Inputs:
    """The beginning of a run."""
    counts = {"ticks": TICKS, "seed_steps": SEED_STEPS, "length": length, "limit": 6}
    return {**counts, "envs": envs, "horizon": 2}


def random_steps(side: str) -> Measure:
    """Steps at random, if they are the run's first ones."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        answer = (reference if side == "reference" else subject)(RUN, **inputs)
        at_random, stepped = answer["random"], answer["stepped"]
        last = int(np.flatnonzero(at_random)[-1]) if at_random.any() else 0
        first = np.array_equal(at_random[: last + 1], stepped[: last + 1])
        steps = float(at_random.sum()) if first else np.nan
        return Measurement(steps, steps, int(stepped.sum()), inputs)

    return measure


def mistimed(side: str) -> Measure:
    """Ticks with other updates than S after the last random step, then one per step."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked, wrong, compared = reference if side == "reference" else subject, 0.0, 0
        for question in questions(RUN, inputs):
            answer = asked(RUN, **question)
            if not answer["random"].any() or not answer["stepped"].any():
                return Measurement(np.nan, np.nan, 0, inputs)
            last = int(np.flatnonzero(answer["random"])[-1])
            due = np.zeros(TICKS)
            due[last] = SEED_STEPS
            due[last + 1 :] = answer["stepped"][last + 1 :]
            wrong += np.count_nonzero(answer["updates"] != np.cumsum(due))
            compared += TICKS
        return Measurement(float(wrong), float(wrong), compared, inputs)

    return measure


def waiting(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Updates of a run whose episodes are too short to learn from, half of whose rows are steps."""
    del reference
    answer = subject(RUN, **inputs)
    played = answer["stepped"].sum() == TICKS / 2
    updates = float(answer["updates"][-1]) if played else np.nan
    return Measurement(updates, updates, TICKS, inputs)
