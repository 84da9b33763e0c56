"""Several tasks in one agent: how wide its networks are, and the vectors that tell them apart."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.tdmpc2.losses import ERA

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

SERVED_TASKS = Operation(
    "tdmpc2.served_tasks",
    "Whether a small agent with fresh parameters plans an action and makes an update, or an "
    "assertion of its own refuses",
    (Setting("tasks", int, "how many it has; 0 for one without vectors of tasks"),),
    (
        Array("planned", "", "int64", "whether it plans"),
        Array("updated", "", "int64", "whether it is updated"),
        Array("misasked", "", "int64", "whether values are given in a form that there is not"),
    ),
)

EVALUATED_TASK = Operation(
    "tdmpc2.evaluated_task",
    "One action of an evaluation in an agent of K tasks, whose table of vectors is given; all "
    "other parameters are fresh ones of small networks. A vector that is longer than 1 is "
    "shortened to that when it is read",
    (
        Array("table", "K D", "float32", "the vector of every task"),
        Setting("task", int, "index of the one that acts"),
    ),
    (
        Array("read", "D", "float32", "the vector that the encoder is given", noise=1e-6),
        Array("table", "K D", "float32", "the table after the action", noise=1e-6),
    ),
)

TASK_VECTORS = Operation(
    "tdmpc2.task_vectors",
    "K updates of an agent of T tasks with fresh optimisers. Every batch has one sequence of each "
    "task, and nothing but the vectors of the tasks has a gradient: by the model's loss, and by "
    "the policy's loss after that. In the era head the latter waits, and is added to the former in "
    "the next update; in the paper's era it is dropped. ‖g‖ is taken of what is added up, and the "
    "vectors move by Adam, as in `tdmpc2.optimizer`. They stay shorter than 1",
    (
        Array("table", "T D", "float32", "the vector of every task"),
        Array("model_gradients", "K T D", "float32", "of the model's loss, in each update"),
        Array("policy_gradients", "K T D", "float32", "of the policy's loss, in each update"),
        Setting("learning_rate", float, "lr; 3e-4 in training"),
        Setting("limit", float, "largest norm of the gradient; 20 in training"),
        ERA,
    ),
    (
        Array("table", "K T D", "float32", "the vectors after each update", noise=1e-6),
        Array("norm", "K", "float32", "‖g‖ of each update", noise=1e-6),
    ),
)

OPERATIONS = (MULTITASK_WIDTHS, SERVED_TASKS, EVALUATED_TASK, TASK_VECTORS)
