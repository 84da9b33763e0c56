"""Several tasks in one agent: how wide its networks are, and the vectors that tell them apart."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

MULTITASK_WIDTHS = Operation(
    "tdmpc2.multitask_widths",
    "The widths of an agent of several tasks, as its configuration sets them for a set of tasks "
    "and a model size. What an implementation does for a set of its own it does for mt80",
    (
        Setting("tasks", str, "the set of tasks", ("mt30", "mt80")),
        Setting("size", int, "of the model, in millions of parameters", (1, 5, 19, 48, 317)),
    ),
    (
        Array("task_dim", "", "int64", "length of the vectors that tell tasks apart"),
        Array("latent_dim", "", "int64", "length of a latent state"),
        Array("enc_dim", "", "int64", "width of the encoder's hidden layers"),
        Array("enc_layers", "", "int64", "layers of the encoder, the last one included"),
        Array("mlp_dim", "", "int64", "width of all other hidden layers"),
        Array("num_q", "", "int64", "Q networks"),
    ),
)

OPERATIONS = (MULTITASK_WIDTHS,)
