"""From an environment to the rows that the agent sees and the replay stores.

Axis names: K ticks, N environments, S steps, A numbers of an action.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

ROWS = Operation(
    "dreamerv3.rows",
    "The rows of N environments that are played side by side for K ticks. A tick shows every "
    "environment's current row to the policy, stores the row with the policy's action, and moves "
    "the environment on. An episode of L decisions has L + 1 rows: the first one is the reset "
    "(is_first, reward 0), and on the last one (is_last) the episode is held for one tick: the "
    "action that the policy chose there is ignored by the environment and stored as zeros, and "
    "the next row is a fresh reset. is_terminal says that the episode ended by itself, which an "
    "end by the time limit alone is not. The environment is scripted: environment n counts its "
    "steps s = 1, 2, ... within an episode, gives rewards[n, s − 1] for step s, and ends by "
    "itself on step lengths[n]. `limit` and `repeat` are the implementation's own wrappers around "
    "it: a time limit in steps, and around that an action repeat that sums the rewards and stops "
    "where an episode ends. All episodes are full ones: row 0 is a reset",
    (
        Array("lengths", "N", "int64", "step on which an episode ends by itself"),
        Array("rewards", "N S", "float32", "S is more than any episode needs"),
        Array("actions", "K N A", "float32", "what the policy chooses on row k"),
        Setting("limit", int, "steps after which an episode is cut off; 0 for no limit"),
        Setting("repeat", int, "steps per action, at least 1"),
    ),
    (
        Array(
            "start",
            "K N",
            "int64",
            "a number that the scripted environment draws at every reset, 0 to 2^24 − 1, and "
            "shows in every observation of the episode; no two episodes have the same",
        ),
        Array("step", "K N", "int64", "s, of the step that led to this row; 0 on a reset's"),
        Array("taken", "K N A", "float32", "action of that step; zeros on a reset's row"),
        Array("action", "K N A", "float32", "as it is stored with this row"),
        Array("reward", "K N", "float32", "on entering this row"),
        Array("is_first", "K N", "bool", "the row of a reset"),
        Array("is_last", "K N", "bool", "the last row of an episode, however it ended"),
        Array("is_terminal", "K N", "bool", "the episode ended by itself"),
    ),
)

CONTINUE_TARGET = Operation(
    "dreamerv3.continue_target",
    "What the continue head is trained towards in training rows with these flags: "
    "γ · (1 − is_terminal) with γ = 1 − 1/333, whatever is_first and is_last say",
    (
        Array("is_first", "B T", "bool", "B sequences of T rows; see `dreamerv3.rows`"),
        Array("is_last", "B T", "bool", "see `dreamerv3.rows`"),
        Array("is_terminal", "B T", "bool", "see `dreamerv3.rows`"),
    ),
    (Array("target", "B T", "float32", "a probability", noise=2e-7),),
)

ENVIRONMENT_ACTION = Operation(
    "dreamerv3.environment_action",
    "The action that an environment receives for one that the policy chose: clipped to [−1, 1], "
    "then stretched to [low, high], component by component. A component with a bound that is "
    "not finite is clipped and otherwise left as it is. The policy's action itself is not "
    "changed: it is stored as it was chosen",
    (
        Array("action", "B A", "float32", "what the policy chose; may leave [−1, 1]"),
        Array("low", "A", "float32", "the environment's own lower bounds"),
        Array("high", "A", "float32", "its upper bounds"),
    ),
    (Array("received", "B A", "float32", "in the environment's units", noise=3e-7),),
)

OPERATIONS = (ROWS, CONTINUE_TARGET, ENVIRONMENT_ACTION)
