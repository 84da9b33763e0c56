"""Ends of episodes as TD-MPC2 predicts them in its episodic mode, from eece801 on."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting
from parity.operations.tdmpc2.networks import LATENT
from parity.operations.tdmpc2.parameters import NORMED_LINEAR, perceptron
from parity.operations.tdmpc2.planner import PLAN

# The termination head, among an operation's inputs; one output.
TERMINATION = perceptron("term", "L", "1")
LAYERS = ("term_hidden0", "term_hidden1", "term_out")

TERMINATION_LOGITS = Operation(
    "tdmpc2.termination_logits",
    "The termination head: two normed layers without dropout on the latent state, then x · kernel "
    f"+ bias. {NORMED_LINEAR}",
    (LATENT, *TERMINATION),
    (Array("logits", "B", "float32", "of the episode having ended with these states", noise=1e-5),),
)

TERMINATION_LOSS = Operation(
    "tdmpc2.termination_loss",
    "What an update learns about ends. The states are those of the model's rollout, from the first "
    "observation on; the head (see `tdmpc2.termination_logits`) is asked of each but the first. "
    "The loss is the mean cross entropy of its probabilities, sigmoid(logit), over all H steps and "
    "B sequences, unweighted. The gradient is that of the model's total, in which this loss has a "
    "coefficient, and of which every other part is constant. The scores are of the last step: "
    "the share of sequences that end with it, and of the predictions with a probability above 0.5 "
    "2 · hits / (predicted + ended), 0 without hits",
    (
        Array("latents", "H1 B L", "float32", "rolled out, the first included"),
        Array("terminated", "H B", "float32", "1 where the episode ended by itself; H = H1 − 1"),
        *TERMINATION,
        Setting("coefficient", float, "1 in training"),
    ),
    (
        Array("loss", "", "float32", "without its coefficient", noise=1e-6),
        Array("latents_gradient", "H1 B L", "float32", "of the total, in the states", noise=1e-5),
        Array(
            "head_gradient",
            "G",
            "float32",
            "of the total, in the head's parameters, side by side in their order among the inputs",
            noise=1e-5,
        ),
        Array("rate", "", "float32", "the share of ends", noise=1e-6),
        Array("f1", "", "float32", "the score of the predictions", noise=1e-6),
    ),
)

_UNUSED = ("t0", "explore", "keep", "mask", "scale", "dropout", "era")
_CHANGED = "changed"

EPISODIC_PLAN = Operation(
    "tdmpc2.episodic_plan",
    "One plan amid an episode, with exploration, as `tdmpc2.plan` has it in the era head, in the "
    "episodic mode: where the termination head gives the state that a step leads to a probability "
    "above 0.5, that step's reward counts, and nothing that follows it: no later reward, and not "
    f"the value of the last state. {NORMED_LINEAR}",
    (
        *(field for field in PLAN.inputs if field.name not in _UNUSED),
        *TERMINATION,
    ),
    tuple(field for field in PLAN.outputs if field.name != _CHANGED),
)

FRESH_TERMINATION = Operation(
    "tdmpc2.fresh_termination",
    "How the termination head of a fresh agent of size 1 starts, layer by layer (hidden0, hidden1, "
    "out): its kernels are normal with the standard deviation 0.02, that of the output included; "
    "biases and offsets are 0, scales 1",
    (
        Setting("observation_size", int, "length of an observation"),
        Setting("action_size", int, "length of an action"),
        Setting("seed", int, "of the initialisation"),
    ),
    (
        Array("kernel_std", "3", "float64", "root mean square of each kernel", noise=1.0),
        Array("bias_peak", "3", "float64", "the largest |bias|"),
        Array("scale_error", "3", "float64", "the largest |scale − 1|; 0 without a norm"),
        Array("offset_peak", "3", "float64", "the largest |offset|; 0 without a norm"),
        Array(
            "alike",
            "",
            "int64",
            "kernels of the agent's other networks that begin with the numbers of one of these",
        ),
    ),
)

OPERATIONS = (TERMINATION_LOGITS, TERMINATION_LOSS, EPISODIC_PLAN, FRESH_TERMINATION)
