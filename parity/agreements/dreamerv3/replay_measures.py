"""What is asked about the replay, and how the answers are measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.claims import Measurement, measure_bits
from parity.comparisons import Measure, worst_of
from parity.implementations import Implementation
from parity.operations import Answer, Inputs

Cases = Callable[[np.random.Generator], Inputs]
Judge = Callable[[Answer, Inputs], Measurement]

REPLAY = "dreamerv3.replay"
ROW_COLUMNS = ("action", "reward", "is_first", "is_last", "is_terminal")
SEED = 40  # every claim asks the same, so that one recording serves all


def question(
    envs: int, capacity: int, length: int, batch: int, after: list[int], ticks: int = 0
) -> Inputs:
    """Rows that are all different, in episodes of different lengths, and batches of them."""
    ticks = ticks or after[-1]
    rng = np.random.default_rng([SEED, envs, capacity, length, batch, len(after)])
    shape, drawn = (ticks, envs), (len(after), batch, length)
    place = np.arange(ticks)[:, None] % (5 + np.arange(envs))
    last = place == 4 + np.arange(envs)
    numbers = rng.permutation(ticks * envs + int(np.prod(drawn))).astype(np.float32) + 1
    old, new = numbers[: ticks * envs], numbers[ticks * envs :]
    return {
        "capacity": capacity,
        "batch": batch,
        "length": length,
        "after": np.asarray(after, np.int64),
        "mark": (rng.permutation(ticks * envs).reshape(shape) + 1).astype(np.float32),
        "action": rng.integers(1, 999, shape).astype(np.int32),
        "reward": (rng.integers(1, 99, shape) / 4).astype(np.float32),
        "is_first": place == 0,
        "is_last": last,
        "is_terminal": last & (rng.random(shape) < 0.5),
        "deter": (old / 8).reshape(shape),
        "stoch": rng.integers(0, 32, shape).astype(np.int32),
        "new_deter": (new / 8).reshape(drawn),
        "new_stoch": rng.integers(0, 32, drawn).astype(np.int32),
    }


def growing_queue(rng: np.random.Generator) -> Inputs:
    """A queue that is left to grow, is emptied, and runs beside uniform draws."""
    del rng
    return question(3, 64, 4, 2, [7, 7, 8, 13, 13, *[20] * 4, 26, 31, 31, *[41] * 4])


def full_rings(rng: np.random.Generator) -> Inputs:
    """Rings that are overwritten three times, with draws after every row."""
    del rng
    return question(2, 9, 2, 5, list(range(5, 33)))


def stock_sizes(rng: np.random.Generator) -> Inputs:
    """16 environments and batches of 16 × 64, where items become complete."""
    del rng
    return question(16, 400, 64, 16, [65, 66, 131, 196])


def many_draws(rng: np.random.Generator) -> Inputs:
    """2,000 draws from full rings, the queue having been emptied on the way."""
    del rng
    return question(2, 9, 2, 50, [*range(4, 23, 3), *[23] * 40])


def variants(*cases: Cases) -> Cases:
    """Several questions as one."""
    return lambda rng: {"variants": [case(rng) for case in cases]}


def places(answer: Answer, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """The tick and the environment of every drawn row; −1 where no row has its mark.

    Returns:
        Twice [D, B, T].
    """
    mark = inputs["mark"]
    order = np.argsort(mark, axis=None)
    known = mark.reshape(-1)[order]
    found = np.clip(np.searchsorted(known, answer["mark"]), 0, len(known) - 1)
    tick, env = np.unravel_index(order[found], mark.shape)
    lost = known[found] != answer["mark"]
    return np.where(lost, -1, tick), np.where(lost, -1, env)


def whole(answer: Answer, inputs: Inputs) -> np.ndarray:
    """[D, B] whether a sequence is T consecutive rows of one environment that exist by then."""
    tick, env = places(answer, inputs)
    one = (env == env[..., :1]).all(-1) & (tick >= 1).all(-1)
    after = inputs["after"][:, None]
    return one & (np.diff(tick, axis=-1) == 1).all(-1) & (tick[..., -1] < after)


def starts(answer: Answer, inputs: Inputs) -> np.ndarray:
    """[n, 2] tick and environment of the context of every uniform draw from the full rings."""
    tick, env = places(answer, inputs)
    last = inputs["after"] == inputs["after"][-1]
    uniform = ~answer["online"] & last[:, None]
    return np.stack([tick[..., 0] - 1, env[..., 0]], -1)[uniform]


def per_variant(measure: Measure) -> Measure:
    """The worst over all variants of the inputs."""

    def measured(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = inputs["variants"]
        return worst_of(measure(subject, reference, variant) for variant in asked)

    return measured


def online_values(
    subject: Implementation, reference: Implementation, inputs: Inputs
) -> Measurement:
    """How many flags differ, and values of the rows that the reference takes from its queue."""
    theirs, ours = reference(REPLAY, **inputs), subject(REPLAY, **inputs)
    queued = theirs["online"]
    columns = [(ours["online"], queued)]
    columns += [(ours[name][queued], theirs[name][queued]) for name in ("mark", *ROW_COLUMNS)]
    counted = [measure_bits(left, right, {}) for left, right in columns]
    wrong = sum(found.high for found in counted)
    return Measurement(wrong, wrong, sum(found.compared for found in counted), inputs)


def support(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Starts that one side alone draws, and sequences of the subject that are not whole."""
    theirs, ours = reference(REPLAY, **inputs), subject(REPLAY, **inputs)
    sets = [{tuple(one) for one in starts(side, inputs).tolist()} for side in (ours, theirs)]
    broken = int((~whole(ours, inputs)).sum())
    wrong = float(len(sets[0] ^ sets[1]) + broken)
    note = f"{len(sets[1])} starts are drawn by the reference, {len(sets[0])} by the subject"
    return Measurement(wrong, wrong, len(sets[0] | sets[1]), inputs, note)


def of_side(side: str, judge: Judge) -> Measure:
    """A measurement of one side's answer alone."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        asked = subject if side == "subject" else reference
        return judge(asked(REPLAY, **inputs), inputs)

    return per_variant(measure)


def evenness(answer: Answer, inputs: Inputs) -> Measurement:
    """χ² of the starts against a uniform distribution, over its degrees of freedom."""
    envs = inputs["mark"].shape[1]
    items = envs * (inputs["capacity"] - inputs["length"])
    drawn = starts(answer, inputs)
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    expected = len(drawn) / items
    missing = items - len(counts)
    squares = float(((counts - expected) ** 2).sum() + abs(missing) * expected**2)
    figure = squares / max(expected, 1e-9) / (items - 1)
    return Measurement(figure, figure, len(drawn), inputs)


def stored_columns(answer: Answer, inputs: Inputs) -> Measurement:
    """Values that are not those of the row whose mark they stand beside."""
    tick, env = places(answer, inputs)
    wrong = [answer[name] != inputs[name][tick, env] for name in ROW_COLUMNS]
    count = float(sum((column | (tick < 0)).sum() for column in wrong))
    return Measurement(count, count, len(wrong) * tick.size, inputs)


def contexts(names: tuple[str, ...]) -> Judge:
    """Contexts that are not what the row before the sequence holds by then."""

    def judge(answer: Answer, inputs: Inputs) -> Measurement:
        tick, env = places(answer, inputs)
        held = {name: inputs[name].copy() for name in ("deter", "stoch", "action")}
        wrong, rewritten = 0, 0
        touched = np.zeros(inputs["mark"].shape, bool)
        for d in range(len(tick)):
            known = whole(answer, inputs)[d]
            before = tick[d, :, 0] - 1, env[d, :, 0]
            for name in names:
                right = answer[f"context_{name}"][d] == held[name][before]
                wrong += int((~(right & known)).sum())
            rewritten += int(touched[before].sum())
            for b in range(tick.shape[1]):  # of two sequences that overlap, the later one counts
                for name in ("deter", "stoch"):
                    held[name][tick[d, b], env[d, b]] = inputs[f"new_{name}"][d, b]
                touched[tick[d, b], env[d, b]] = True
        note = f"{rewritten:,} contexts had been trained on before"
        compared = len(names) * tick.shape[0] * tick.shape[1]
        return Measurement(float(wrong), float(wrong), compared, inputs, note)

    return judge
