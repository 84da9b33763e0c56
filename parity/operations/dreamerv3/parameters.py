"""The parameters of DreamerV3's networks, as arrays among an operation's inputs.

A layer is named by its network and its place, a leaf by what it is: `enc_hidden0_kernel`.
Axis names of the parameters, beside those of the package:

    O  length of an observation          D    length of the recurrent state
    U  width of the perceptrons          G    blocks of the recurrence
    W  width of the hidden layers        DG   width of a block, D / G
       inside the recurrent model        I    inputs of a block, DG + 3 W
    S  categorical variables             DG3  3 DG
    C  classes of each                   D3   3 D
    SC S · C, variable by variable       DU   D + U
    A  actions, or their components      DSC  D + S · C
"""

from __future__ import annotations

from parity.operations import Array

Arrays = tuple[Array, ...]

HIDDEN_LAYER = (
    "A hidden layer is silu(n · scale / sqrt(mean(n²) + 1e-4)) with n = x · kernel + bias and "
    "the mean over all outputs."
)


def linear(layer: str, inputs: str, outputs: str) -> Arrays:
    """Kernel and bias of an affine map: x · kernel + bias."""
    return (
        Array(f"{layer}_kernel", f"{inputs} {outputs}", "float32", "weights, [inputs, outputs]"),
        Array(f"{layer}_bias", outputs, "float32", "bias"),
    )


def hidden(layer: str, inputs: str, outputs: str) -> Arrays:
    """Those of a hidden layer: an affine map and the scale of its norm."""
    scale = Array(f"{layer}_scale", outputs, "float32", "scale of the RMS norm")
    return (*linear(layer, inputs, outputs), scale)


def perceptron(network: str, inputs: str, layers: int) -> Arrays:
    """Those of `layers` hidden layers of width U, hidden0 first."""
    widths = (inputs, *("U" for _ in range(layers)))
    return tuple(
        array
        for i in range(layers)
        for array in hidden(f"{network}_hidden{i}", widths[i], widths[i + 1])
    )


ENCODER = perceptron("enc", "O", 3)
ACTOR = (*perceptron("actor", "DSC", 3), *linear("actor_out", "U", "A"))

RECURRENCE = (
    *hidden("dyn_deter_in", "D", "W"),
    *hidden("dyn_stoch_in", "SC", "W"),
    *hidden("dyn_action_in", "A", "W"),
    Array("dyn_core_kernel", "G I DG", "float32", "weights of each block, [inputs, outputs]"),
    Array("dyn_core_bias", "D", "float32", "bias, block by block"),
    Array("dyn_core_scale", "D", "float32", "scale of the RMS norm, which spans all blocks"),
    Array("dyn_gates_kernel", "G DG DG3", "float32", "weights of each block, [inputs, outputs]"),
    Array("dyn_gates_bias", "D3", "float32", "bias, block by block: reset, candidate, update"),
)
PRIOR = (
    *hidden("dyn_prior_hidden0", "D", "W"),
    *hidden("dyn_prior_hidden1", "W", "W"),
    *linear("dyn_prior_out", "W", "SC"),
)
POSTERIOR = (
    *hidden("dyn_posterior_hidden0", "DU", "W"),
    *linear("dyn_posterior_out", "W", "SC"),
)
DYNAMICS = (*RECURRENCE, *PRIOR, *POSTERIOR)
