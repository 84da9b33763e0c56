"""The optimiser and the slow critic of DreamerV3 in float32 numpy.

Written from the documentation of the operations alone, as somebody's port would be.
"""

import numpy as np

F32 = np.float32


def clip(p, g):
    limit = F32(0.3) * max(F32(1e-3), np.linalg.norm(p))
    return g / max(F32(1), np.linalg.norm(g) / limit)


def gradient_clipping(kernel, bias, kernel_gradient, bias_gradient):
    return {"kernel": clip(kernel, kernel_gradient), "bias": clip(bias, bias_gradient)}


class LaProp:
    def __init__(self):
        self.v = self.m = self.t = 0

    def __call__(self, g):
        self.t += 1
        self.v = F32(0.999) * self.v + F32(0.001) * g * g
        unit = g / (np.sqrt(self.v / F32(1 - 0.999**self.t)) + F32(1e-20))
        self.m = F32(0.9) * self.m + F32(0.1) * unit
        return self.m / F32(1 - 0.9**self.t)


def laprop(gradients):
    return {"updates": np.stack(list(map(LaProp(), gradients)))}


def warmup_factor(updates, warmup):
    return {"factor": np.minimum(1, updates / warmup).astype(F32)}


def optimizer(kernel, bias, kernel_gradients, bias_gradients, learning_rate, warmup):
    def trajectory(p, gradients):
        unit = LaProp()
        for count, g in enumerate(gradients):
            step = unit(clip(p, g)) * F32(-learning_rate) * F32(min(1, count / warmup))
            p = p + step
            yield p

    return {
        "kernels": np.stack(list(trajectory(kernel, kernel_gradients))),
        "biases": np.stack(list(trajectory(bias, bias_gradients))),
    }


def slow_critic(critic, initial, updates):
    slow, seen = initial, []
    for params in critic:
        slow = params if updates == 0 else slow + F32(0.02) * (params - slow)
        updates += 1
        seen.append(slow)
    return {"slow": np.stack(seen)}


OPERATIONS = {
    f"dreamerv3.{function.__name__}": function
    for function in (gradient_clipping, laprop, warmup_factor, optimizer, slow_critic)
}
