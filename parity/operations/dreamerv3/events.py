"""What a training run does in which order: rows, batches, updates, what they write back.

Axis names: K ticks, U updates, B sequences of a batch, R reports.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

_SIZES = (
    Setting("envs", int, "environments, which add their rows in turn"),
    Setting("batch", int, "B, sequences per update", axis="B"),
    Setting("length", int, "rows of a sequence that are trained on; one of context comes on top"),
    Setting("train_ratio", float, "trained rows per environment row"),
    Setting("ticks", int, "K", axis="K"),
)

RUN_EVENTS = Operation(
    "dreamerv3.run_events",
    "The order of what a training run does, told by the run's own loop, driver, replay and "
    "prefetcher. In the place of the networks stands one parameter that counts updates: it says "
    "with which parameters an action was chosen, and which update a latent or a metric is of. "
    "Whatever runs beside the loop is given the time to go as far ahead as it can",
    (Setting("seed", int, "of the run"), *_SIZES),
    (
        Array("acted_with", "K", "int64", "updates that the parameters have seen which act at k"),
        Array("updates", "K", "int64", "updates that have run before the action of tick k"),
        Array("rows", "U", "int64", "rows of all environments that were added before update u"),
        Array("drawn_rows", "U", "int64", "likewise before its batch was drawn"),
        Array("drawn_after", "U", "int64", "updates that had run when its batch was drawn"),
        Array("environment", "U B", "int64", "environment of each of its sequences"),
        Array("start", "U B", "int64", "tick of the row of context"),
        Array("online", "U B", "bool", "whether the sequence came from the queue of new rows"),
        Array("written", "U", "int64", "whose latents are in the replay after u; −1: nobody's"),
        Array("measured", "U", "int64", "whose metrics are out after u; −1: nobody's"),
    ),
)

REPORT_STREAM = Operation(
    "dreamerv3.report_stream",
    "Which sequences of new rows are never trained on, because a report took them out of the "
    "queue. The clock that the run reads goes on by `seconds` with every tick; all else is as in "
    "`dreamerv3.run_events`, without a prefetcher",
    (*_SIZES, Setting("seconds", float, "per tick")),
    (
        Array("reported_at", "R", "float64", "seconds since the first tick at every report"),
        Array("taken", "R", "int64", "sequences that it took from the queue"),
        Array("trained", "", "int64", "sequences of the queue that were trained on"),
        Array("waiting", "", "int64", "sequences that wait in the queue at the end"),
    ),
)

REPORT_NORMALISER = Operation(
    "dreamerv3.report_normaliser",
    "The percentiles of the return normaliser before and after a report and after an update, of "
    "the whole agent at a tiny size, on one batch",
    (
        Setting("low", float, "the 5th percentile before"),
        Setting("high", float, "the 95th"),
    ),
    (
        Array("reported", "2", "float32", "low and high after a report"),
        Array("trained", "2", "float32", "low and high after an update", noise=1e-4),
    ),
)

OPERATIONS = (RUN_EVENTS, REPORT_STREAM, REPORT_NORMALISER)
