"""Which rows an update is trained on, and where its latents go.

Axis names: K ticks, N environments, D batches, B sequences of a batch, T rows to train on.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

REPLAY = Operation(
    "dreamerv3.replay",
    "What a replay hands out. Tick k adds row k of every environment, environment 0 first. When "
    "`after[d]` rows of every environment have been added, batch d is drawn, and at once its "
    "latents are written back: those of the rows to train on, not that of the context. A "
    "sequence is T + 1 consecutive rows of one environment: one of context, then T to train on. "
    "Sequences may run from one episode into the next. New rows are trained on first: the runs "
    "of T + 1 rows that begin (with their context) at rows 1, 1 + (T + 1), 1 + 2 (T + 1), ... of "
    "each environment enter one queue of all environments as soon as they are complete, "
    "environment 0 first, and each is handed out once, oldest first (`online`). When the queue "
    "is empty, sequences are drawn uniformly, with replacement, from all that are whole. Only "
    "the last `capacity` rows of every environment can be drawn, which an implementation that "
    "counts sequences of all environments together has as N · (capacity − T) of them",
    (
        Setting("capacity", int, "rows of each environment that are kept; at least T + 1"),
        Setting("batch", int, "B", axis="B"),
        Setting("length", int, "T", axis="T"),
        Array("after", "D", "int64", "rows of each environment before the batch; ascending"),
        Array("mark", "K N", "float32", "the observation: another number for every row"),
        Array("action", "K N", "int32", "a discrete action"),
        Array("reward", "K N", "float32", "see `dreamerv3.rows`"),
        Array("is_first", "K N", "bool", "see `dreamerv3.rows`"),
        Array("is_last", "K N", "bool", "see `dreamerv3.rows`"),
        Array("is_terminal", "K N", "bool", "see `dreamerv3.rows`"),
        Array("deter", "K N", "float32", "recurrent state (of size 1) that acting inferred"),
        Array("stoch", "K N", "int32", "its class (of one variable with 32 classes)"),
        Array("new_deter", "D B T", "float32", "recurrent states that training inferred"),
        Array("new_stoch", "D B T", "int32", "their classes"),
    ),
    (
        Array("online", "D B", "bool", "whether the sequence came from the queue"),
        Array("mark", "D B T", "float32", "of the rows to train on"),
        Array("action", "D B T", "int32", "likewise"),
        Array("reward", "D B T", "float32", "likewise"),
        Array("is_first", "D B T", "bool", "likewise"),
        Array("is_last", "D B T", "bool", "likewise"),
        Array("is_terminal", "D B T", "bool", "likewise"),
        Array("context_deter", "D B", "float32", "stored recurrent state of the context row"),
        Array("context_stoch", "D B", "int32", "its stored class"),
        Array("context_action", "D B", "int32", "the action of the context row"),
    ),
)

REPLAY_SIZE = Operation(
    "dreamerv3.replay_size",
    "How much the replay of a run can hold before anything is dropped: rows, or sequences, "
    "whichever an implementation counts, of all environments together",
    (
        Setting("limit", int, "how much it is asked to hold; 0 leaves it at the default"),
        Setting("envs", int, "environments"),
        Setting("steps", int, "rows of the run, of all environments together"),
    ),
    (Array("held", "", "int64", "how much it holds"),),
)

RESUMED_REPLAY = Operation(
    "dreamerv3.resumed_replay",
    "A batch drawn at the end of a run of N environments that is made in one call or in several. "
    "The first call begins with an empty replay, each other one with that of the call before, and "
    "has a replay of the size that a run to its own end has. Row t of environment n sees (n, t), "
    "and its latents hold t. Sequences are those of `dreamerv3.replay`",
    (
        Array("ends", "K", "int64", "of each call: rows of every environment by then"),
        Setting("envs", int, "N"),
        Setting("limit", int, "how much the run is asked to hold of all environments together"),
        Setting("batch", int, "B", axis="B"),
        Setting("length", int, "T", axis="T"),
        Setting("seed", int, "of the draws"),
    ),
    (
        Array("held", "", "int64", "rows of each environment that the last call has room for"),
        Array("environment", "B", "int64", "whose sequence it is"),
        Array("step", "B T", "int64", "t of each of its rows to train on"),
        Array("context", "B", "int64", "what the latents of its context row hold"),
        Array("online", "B", "int64", "whether it comes from the queue"),
    ),
)

OPERATIONS = (REPLAY, REPLAY_SIZE, RESUMED_REPLAY)
