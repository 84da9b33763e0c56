"""What is there again after a checkpoint was read."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

RESTORED = Operation(
    "tdmpc2.restored_components",
    "An agent that has learned is saved to disk, and read by one that was made from another seed. "
    "For every component: whether the second then has that of the first",
    (Setting("seed", int, "of the first agent; the second has the next one"),),
    (
        Array("networks", "", "int64", "parameters of the model and of the policy"),
        Array("target_q", "", "int64", "moving averages of the Q networks"),
        Array("model_optimizer", "", "int64", "Adam's state for the model"),
        Array("policy_optimizer", "", "int64", "Adam's state for the policy"),
        Array("scale", "", "int64", "the running scale"),
        Array("rest", "", "int64", "the run: its replay, environments and random numbers"),
        Array("before", "", "int64", "how many of these it had before it read"),
    ),
)

OPERATIONS = (RESTORED,)
