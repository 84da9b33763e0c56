"""Episodes that may end by themselves: what is held, sampled, learned, planned, and when."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

EPISODIC_PARTS = Operation(
    "tdmpc2.episodic_parts",
    "What there is for episodes that may end by themselves, in a reference that has such a mode "
    "or not",
    (),
    (
        Array("option", "", "int64", "whether its configuration has the mode"),
        Array("head", "", "int64", "whether an agent that is asked for it has a head of ends"),
        Array("column", "", "int64", "whether the trainer's rows say which step terminated"),
        Array("observation", "", "int64", "whether they have what was observed; they must"),
        Array("nonsense", "", "int64", "whether they have a column of no meaning; they must not"),
    ),
)

ROW_SLICES = Operation(
    "tdmpc2.row_slices",
    "Slices of H steps, with the H + 1 rows around them, drawn from a replay of single rows that "
    "has been given E finished episodes one after the other, and holds the newest C rows. Row r of "
    "episode e has the observation (e, r); the action 2 r led to it, was paid 64 e + r, and ended "
    "the episode by itself if r is its last row and e is even. Any episode of which H + 1 rows "
    "are held is as likely as any other, and so is any beginning among these rows; no slice "
    "crosses an end",
    (
        Array("rows", "E", "int64", "of every episode"),
        Setting("longest", int, "R, the most rows of one", axis="R"),
        Setting("capacity", int, "C"),
        Setting("horizon", int, "H; 3 in training"),
        Setting("batch", int, "slices per batch"),
        Setting("batches", int, "how many batches are drawn"),
        Setting("seed", int, "of the draws"),
    ),
    (
        Array("possible", "", "int64", "whether anything can be drawn; nothing else counts if not"),
        Array("starts", "E R", "int64", "how many slices began at each row of each episode"),
        Array(
            "torn",
            "",
            "int64",
            "numbers of a slice that are not those of H + 1 rows of one episode in a row",
        ),
    ),
)

ROW_CAPACITY = Operation(
    "tdmpc2.row_capacity",
    "How many rows the replay of a run with episodes of any length holds for each of its "
    "environments",
    (
        Setting("buffer_size", int, "rows that it is asked to hold"),
        Setting("steps", int, "of the run, of all environments together"),
        Setting("envs", int, "the reference has one"),
    ),
    (Array("rows", "", "int64", "of each environment"),),
)

PLANNED_VALUES = Operation(
    "tdmpc2.planned_values",
    "The values that a plan gives to N trajectories of H steps: discounted rewards and the value "
    "of the last state, all of them predicted. Where there is a prediction that the episode ends, "
    "it is given, too",
    (
        Array("rewards", "H N", "float32", "predicted of each step"),
        Array("ends", "H N", "float32", "probability that the episode ends with it"),
        Array("values", "N", "float32", "predicted of the last state"),
        Setting("discount", float, "γ"),
        Setting("episodic", bool, "whether the agent is one of episodes that may end"),
    ),
    (Array("planned", "N", "float32", "values of the trajectories", noise=1e-6),),
)

EPISODIC_LOSS = Operation(
    "tdmpc2.episodic_loss",
    "The losses of the model, as in `tdmpc2.model_loss`, in an agent of episodes that may end, "
    "with coefficients 20, 0.1, 0.1 and ρ = 0.5. Where there is a prediction of ends, its logits "
    "are given, and its coefficient is 1",
    (
        Array("latents", "H B L", "float32", "rolled out: the states after each action"),
        Array("next_latents", "H B L", "float32", "encoded from what was observed then"),
        Array("reward_logits", "H B N", "float32", "of the reward head"),
        Array("reward", "H B", "float32", "received for each action"),
        Array("q_logits", "M H B N", "float32", "of all Q networks"),
        Array("returns", "H B", "float32", "targets of the values"),
        Array("end_logits", "H B", "float32", "that the episode ends with each action"),
        Array("terminated", "H B", "float32", "1 where it did"),
        Setting("limit", float, "of the support: ±limit, in symlog space"),
    ),
    (
        Array("consistency", "", "float32", "weighted by ρ alone", noise=1e-6),
        Array("reward", "", "float32", "weighted by ρ alone", noise=1e-6),
        Array("value", "", "float32", "weighted by ρ alone", noise=1e-6),
        Array("total", "", "float32", "with coefficients, and all that there is", noise=1e-6),
    ),
)

EPISODIC_RUN = Operation(
    "tdmpc2.episodic_run",
    "The first N ticks of a run of n environments, all of whose episodes end by themselves after "
    "a number of steps. A tick is a step of every environment, or its rest between two episodes",
    (
        Setting("ticks", int, "N", axis="N"),
        Setting("seed_steps", int, "S: random steps, and updates after them"),
        Setting("length", int, "steps of an episode"),
        Setting("limit", int, "steps after which one would be cut off"),
        Setting("envs", int, "n; the reference has one"),
        Setting("horizon", int, "H"),
    ),
    (
        Array("stepped", "N", "int64", "environments that made a step"),
        Array("random", "N", "int64", "those that made it at random"),
        Array("updates", "N", "int64", "of the run so far, after the tick"),
    ),
)

OPERATIONS = (
    EPISODIC_PARTS,
    ROW_SLICES,
    ROW_CAPACITY,
    PLANNED_VALUES,
    EPISODIC_LOSS,
    EPISODIC_RUN,
)
