"""The decoder of an observation that may have one key or two.

Axis names: B sequences, T rows, I features, F hidden units, O components of the observation.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

DECODER_GRADIENT = Operation(
    "dreamerv3.decoder_gradient",
    "The decoder's loss and the clipped gradient of its output layer: one hidden layer (bias 0, "
    "norm's scale 1), then an affine output for every key of the observation, the mean over rows "
    "of the squared distance from symlog(observation), summed over components and keys. Gradients "
    "are clipped tensor by tensor as in `dreamerv3.gradient_clipping`",
    (
        Array("features", "B T I", "float32", "what the decoder sees"),
        Array("observation", "B T O", "float32", "all keys, one beside the other"),
        Array("hidden", "I F", "float32", "kernel of the hidden layer"),
        Array("kernel", "F O", "float32", "kernels of the output layers, one beside the other"),
        Array("bias", "O", "float32", "likewise the biases"),
        Setting("first", int, "components of the first key, the second has the rest; 0: one key"),
    ),
    (
        Array("heads", "", "int64", "output layers"),
        Array("loss", "", "float32", "summed over the keys", noise=1e-6),
        Array("kernel", "F O", "float32", "its clipped gradient", noise=1e-5),
        Array("bias", "O", "float32", "likewise", noise=1e-5),
        Array("hidden_norm", "", "float32", "norm of the hidden kernel's", noise=1e-5),
    ),
)

OPERATIONS = (DECODER_GRADIENT,)
