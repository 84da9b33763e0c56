"""The latent dynamics of DreamerV3: one recurrent step, observing, imagining, acting.

What is fixed everywhere: ε = 1e-4 in the norms, 1 % unimix in prior, posterior and policy,
−1 on the update gate. A class is drawn as the argmax of its log-probabilities plus given noise.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.dreamerv3.parameters import (
    ACTOR,
    DYNAMICS,
    ENCODER,
    HIDDEN_LAYER,
    POSTERIOR,
    PRIOR,
    RECURRENCE,
)

_RECURRENT_STEP = (
    "The action is a / max(1, |a|), component by component. Three hidden layers read deter, stoch "
    "(flattened, variable by variable) and the action; their outputs, side by side in that order, "
    "are the shared input of a block hidden layer whose blocked input is deter: block k sees block "
    "k of deter, then all of the shared input. Block k of the gates is x_k · kernel_k + bias_k of "
    "its output's block k, which is split into reset, candidate, update in that order: u = "
    "sigmoid(update − 1), deter' = u · tanh(sigmoid(reset) · candidate) + (1 − u) · deter."
)
_PRIOR = (
    "The prior reads deter' through two hidden layers and an affine map with S · C outputs; the "
    "log-probabilities are log((1 − 0.01) · softmax + 0.01 / C) over the classes of a variable."
)
_POSTERIOR = (
    "The posterior reads [deter', embed] through one hidden layer and an affine map, mixed alike."
)
_RESET = "Where is_first, the previous deter, stoch and action are first multiplied by 0."
_ENCODER = "The encoder is three hidden layers on sign(x) · ln(1 + |x|)."
_ACTOR = (
    "The actor reads [deter', stoch' flattened] through three hidden layers and an affine map; "
    "its log-probabilities are log((1 − 0.01) · softmax + 0.01 / A)."
)

RECURRENT_STEP = Operation(
    "dreamerv3.recurrent_step",
    f"One step of the block-diagonal recurrence. {_RECURRENT_STEP} {HIDDEN_LAYER}",
    (
        Array("deter", "B D", "float32", "recurrent state"),
        Array("stoch", "B S C", "float32", "categorical state, one-hot"),
        Array("action", "B A", "float32", "action, as a vector; may leave [−1, 1]"),
        *RECURRENCE,
    ),
    (Array("deter", "B D", "float32", "the next recurrent state", noise=1e-5),),
)

OBSERVE = Operation(
    "dreamerv3.observe",
    "Filters sequences of observations, row by row, each from the state of the row before it. "
    f"{_RESET} {_RECURRENT_STEP} {_POSTERIOR} stoch' is drawn from the posterior. {_PRIOR} "
    f"{_ENCODER} {HIDDEN_LAYER}",
    (
        Array("observation", "B T O", "float32", "in units of the environment"),
        Array("is_first", "B T", "bool", "whether the row starts an episode"),
        Array("previous_action", "B T A", "float32", "vector of the action of the row before"),
        Array("deter", "B D", "float32", "recurrent state of the row before the first"),
        Array("stoch", "B S C", "float32", "its categorical state, one-hot"),
        Array("noise", "B T S C", "float32", "noise of the posterior's draws"),
        *ENCODER,
        *DYNAMICS,
    ),
    (
        Array("deters", "B T D", "float32", "recurrent states", noise=1e-5),
        Array("posterior", "B T S C", "float32", "log-probabilities in nats", noise=1e-5),
        Array("prior", "B T S C", "float32", "log-probabilities in nats", noise=1e-5),
        Array("classes", "B T S", "int64", "the drawn classes"),
    ),
)

IMAGINE = Operation(
    "dreamerv3.imagine",
    "Rolls the policy out inside the model, H steps from each of N states. An action is drawn "
    f"in every state, the start included; the next state follows from it. {_RECURRENT_STEP} "
    f"{_PRIOR} stoch' is drawn from the prior. {_ACTOR} The vector of an action is one-hot. "
    "The actions of all states but the last are scored by the actor's loss. "
    f"{HIDDEN_LAYER}",
    (
        Array("deter", "N D", "float32", "recurrent states to start from"),
        Array("stoch", "N S C", "float32", "their categorical states, one-hot"),
        Array("prior_noise", "H N S C", "float32", "noise of the classes' draws"),
        Array("action_noise", "H1 N A", "float32", "noise of the actions' draws, H1 = H + 1"),
        *RECURRENCE,
        *PRIOR,
        *ACTOR,
    ),
    (
        Array("deters", "H1 N D", "float32", "recurrent states, the start first", noise=1e-5),
        Array("classes", "H1 N S", "int64", "categorical states, the start first"),
        Array("actions", "H1 N", "int64", "the actions drawn in these states"),
        Array(
            "scores",
            "H N",
            "float32",
            "log-probability of each scored action in the state where it was drawn, in nats",
            noise=1e-5,
        ),
    ),
)

ACT = Operation(
    "dreamerv3.act",
    f"Chooses actions for one row of B environments. {_RESET} {_RECURRENT_STEP} {_POSTERIOR} "
    f"stoch' is drawn from the posterior, then the action from the policy. {_ACTOR} {_ENCODER} "
    f"{HIDDEN_LAYER}",
    (
        Array("observation", "B O", "float32", "in units of the environment"),
        Array("is_first", "B", "bool", "whether the row starts an episode"),
        Array("previous_action", "B", "int32", "of the row before; its vector is one-hot"),
        Array("deter", "B D", "float32", "recurrent state of the row before"),
        Array("stoch", "B S C", "float32", "its categorical state, one-hot"),
        Array("noise", "B S C", "float32", "noise of the posterior's draws"),
        Array("action_noise", "B A", "float32", "noise of the actions' draws"),
        *ENCODER,
        *RECURRENCE,
        *POSTERIOR,
        *ACTOR,
    ),
    (
        Array("action", "B", "int64", "the drawn actions"),
        Array("policy", "B A", "float32", "log-probabilities in nats", noise=1e-5),
        Array("deter_now", "B D", "float32", "recurrent state of this row", noise=1e-5),
        Array("classes", "B S", "int64", "categorical state of this row"),
    ),
)

PREVIOUS_ACTIONS = Operation(
    "dreamerv3.previous_actions",
    "What the recurrent model is told about the action before each row of a training sequence: "
    "that of the row before, for the first row that of the context row, as one-hot vectors. "
    "Resets are not looked at here",
    (
        Array("context_action", "B", "int32", "of the rows before the sequences"),
        Array("action", "B T", "int32", "taken after seeing each row"),
        Setting("actions", int, "how many there are", axis="A"),
    ),
    (Array("vectors", "B T A", "float32", "the action before each row"),),
)

IMAGINED_COUNTS = Operation(
    "dreamerv3.imagined_counts",
    "How many imagined trajectories, states and scored actions a training step has at the "
    "agent's default horizon of 15: one trajectory from each of B · T rows",
    (
        Setting("batch", int, "B, sequences"),
        Setting("length", int, "T, rows of each"),
    ),
    (
        Array("trajectories", "", "int64", "how many there are"),
        Array("states", "", "int64", "of each, the start included"),
        Array("scored", "", "int64", "actions of each that the actor's loss scores"),
    ),
)

STRAIGHT_THROUGH = Operation(
    "dreamerv3.straight_through",
    "A draw of one class per row, argmax(log_probs + noise), whose value is one-hot and whose "
    "gradient is that of softmax(log_probs); with the gradient of Σ weights · draw",
    (
        Array("log_probs", "B N", "float32", "log-probabilities of the classes"),
        Array("noise", "B N", "float32", "noise of the draw"),
        Array("weights", "B N", "float32", "what the draw is multiplied by"),
    ),
    (
        Array("draw", "B N", "float32", "one-hot, within rounding", floor=1e-6),
        Array("gradient", "B N", "float32", "with respect to log_probs", noise=1e-6),
    ),
)

OPERATIONS = (
    RECURRENT_STEP,
    OBSERVE,
    IMAGINE,
    ACT,
    PREVIOUS_ACTIONS,
    IMAGINED_COUNTS,
    STRAIGHT_THROUGH,
)
