"""The parameters of TD-MPC2's networks, as arrays among an operation's inputs.

A layer is named by its network and its place, a leaf by what it is: `enc_hidden0_kernel`. The
networks are enc (encoder), dyn (dynamics), rew (reward), pi (policy prior), q and target (the Q
networks and their moving averages, with a leading axis of M networks). Axis names:

    O  length of an observation     L   length of a latent state
    A  actions                      E   width of the encoder's hidden layers
    N  bins                         U   width of the hidden layers of all other networks
    M  Q networks                   LA  L + A
    A2 2 A                          H   steps of a sequence, H1 = H + 1
"""

from __future__ import annotations

from parity.operations import Array, Setting

Arrays = tuple[Array, ...]

NORMED_LINEAR = (
    "A normed layer is act(norm(drop(x · kernel + bias)) · scale + offset). drop sets units to 0 "
    "where `keep` is false and divides the others by 1 − dropout; norm subtracts the mean over all "
    "units and divides by sqrt(variance + 1e-5), the variance biased; act is Mish, "
    "x · tanh(ln(1 + eˣ)), unless something else is said."
)

KEEP = "which units dropout keeps"
RATE = Setting("dropout", float, "rate of the dropout; 0.01 in training, 0 for none")
SIMPLICES = Setting("simnorm_dim", int, "V, the length of a simplex; 8 in training")
LIMIT = Setting("limit", float, "the outermost bin, in symlog space; 10 in training")


def linear(layer: str, inputs: str, outputs: str, members: str = "") -> Arrays:
    """Kernel and bias of an affine map: x · kernel + bias."""
    return (
        Array(
            f"{layer}_kernel",
            f"{members} {inputs} {outputs}".strip(),
            "float32",
            f"weights, [{'members, ' if members else ''}inputs, outputs]",
        ),
        Array(f"{layer}_bias", f"{members} {outputs}".strip(), "float32", "bias"),
    )


def normed(layer: str, inputs: str, outputs: str, members: str = "") -> Arrays:
    """Those of a normed layer: an affine map, and scale and offset of its norm."""
    shape = f"{members} {outputs}".strip()
    return (
        *linear(layer, inputs, outputs, members),
        Array(f"{layer}_scale", shape, "float32", "scale of the norm"),
        Array(f"{layer}_offset", shape, "float32", "offset of the norm"),
    )


def perceptron(network: str, inputs: str, outputs: str, members: str = "") -> Arrays:
    """Two normed layers of width U and an affine output."""
    return (
        *normed(f"{network}_hidden0", inputs, "U", members),
        *normed(f"{network}_hidden1", "U", "U", members),
        *linear(f"{network}_out", "U", outputs, members),
    )


ENCODER = (*normed("enc_hidden0", "O", "E"), *normed("enc_out", "E", "L"))
DYNAMICS = (
    *normed("dyn_hidden0", "LA", "U"),
    *normed("dyn_hidden1", "U", "U"),
    *normed("dyn_out", "U", "L"),
)
REWARD = perceptron("rew", "LA", "N")
POLICY = perceptron("pi", "L", "A2")
Q = perceptron("q", "LA", "N", "M")
TARGET_Q = perceptron("target", "LA", "N", "M")
