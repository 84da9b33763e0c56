"""How many floating-point operations the matrix products of one update are.

Counted from the sizes of the kernels: a row that passes through a kernel costs one
multiplication and one addition per element; its gradient costs as much again for the kernel,
and as much again for the input where the input has one. Nothing that a program computes
twice counts twice.
"""

from __future__ import annotations

import jax
import numpy as np

from core.dreamerv3.agent import Agent


def kernels(agent: Agent) -> dict[str, int]:
    """Elements of every kernel by its path, as in dyn/core_0/linear."""
    params = jax.eval_shape(agent.init, jax.eval_shape(jax.random.key, 0)).params
    leaves = jax.tree_util.tree_leaves_with_path(params)
    found = {"/".join(str(key.key) for key in path): leaf.shape for path, leaf in leaves}
    return {
        path.removesuffix("/kernel"): int(np.prod(shape))
        for path, shape in found.items()
        if path.endswith("/kernel")
    }


def per_update(agent: Agent, batch: int, length: int) -> float:
    """Operations of one update: forward passes, gradients, and imagination.

    Args:
        agent: Its sizes count.
        batch: Sequences.
        length: Rows of each.
    """
    sizes = kernels(agent)
    rows, horizon = batch * length, agent.config.imag_horizon

    def of(*prefixes: str, without: str = "-") -> int:
        return sum(
            size
            for path, size in sizes.items()
            if path.startswith(prefixes) and not path.startswith(without)
        )

    model = of("enc", "dyn", "dec", "rew", "con", "critic")  # the critic on replayed rows
    without_input_gradient = of("enc/hidden0", "dyn/action_in")
    replayed = rows * (3 * model - without_input_gradient + of("critic"))  # the slow critic

    step = of("dyn", without="dyn/posterior") + of("rew", "con", "actor") + 2 * of("critic")
    last = of("actor", "critic")
    trained = of("actor", "critic")
    # No gradient flows into the imagined states.
    gradients = 2 * trained - of("actor/hidden0", "critic/hidden0")
    imagined = rows * (horizon * (step + gradients) + last)
    return 2.0 * (replayed + imagined)
