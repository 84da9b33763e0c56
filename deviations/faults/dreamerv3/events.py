"""Faults of the order in which a run does what."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "order of a run"


def _loop(**parts: Any) -> OperationTable:
    """The core's loop with a part replaced."""
    from parity.core_subject.dreamerv3 import events

    loop = events.Loop(**parts)
    return {
        "dreamerv3.run_events": partial(events.run_events, loop=loop),
        "dreamerv3.report_stream": partial(events.report_stream, loop=loop),
    }


def _answering(**changed: Callable) -> OperationTable:
    """What a loop would tell in which these outputs are otherwise."""
    from parity.core_subject.dreamerv3 import events

    def run_events(**inputs):
        answer = events.run_events(**inputs)
        return answer | {name: change(answer[name]) for name, change in changed.items()}

    return {"dreamerv3.run_events": run_events}


def _next_tick() -> OperationTable:
    """Updates run before the rows of their tick are added, which is one tick late."""
    from core.dreamerv3.train import TrainConfig

    class Late(TrainConfig):
        def updates_after(self, ticks):
            return super().updates_after(ticks - 1)

    return _loop(config=Late)


def _old_parameters() -> OperationTable:
    """Actions are chosen with the parameters before the last update."""
    import jax
    import jax.numpy as jnp

    from parity.core_subject.dreamerv3 import events

    class Lagging(events.Numbered):
        def act(self, params, *rest):
            old = jax.tree.map(lambda leaf: jnp.maximum(leaf - 1, 0), params)
            return super().act(old, *rest)

    return _loop(agent=Lagging)


def _one_stream() -> OperationTable:
    """Every run draws from the same key."""
    import jax

    def key(seed):
        del seed
        return jax.random.key(0)

    return _loop(key=key)


def _queue_ignored() -> OperationTable:
    """New rows have no queue; all draws are uniform."""
    import jax.numpy as jnp

    from core.dreamerv3 import replay as ring

    def sample(state, key, batch, length):
        emptied = state._replace(dequeued=jnp.int32(1 << 30))
        return ring.sample(emptied, key, batch, length)

    return _loop(sample=sample)


def _shifted(values):
    import numpy as np

    return np.concatenate([[-1], values[:-1]])


_PLACE = ("D3/core", "D3/lead", "D3/rate")

FAULTS = (
    Fault("X400", "updates before the rows of their tick", KIND, _next_tick, _PLACE),
    Fault("X401", "acting parameters one update old", KIND, _old_parameters, ("D1/core-acting",)),
    Fault(
        "X402",
        "batches drawn one update ahead",
        KIND,
        lambda: _answering(drawn_after=_shifted),
        ("D1/core-batches",),
    ),
    Fault(
        "X403",
        "latents written back one update late",
        KIND,
        lambda: _answering(written=_shifted),
        ("D1/core-results",),
    ),
    Fault(
        "X404",
        "metrics one update late",
        KIND,
        lambda: _answering(measured=_shifted),
        ("D1/core-results",),
    ),
    Fault("X405", "draws that ignore the run's seed", KIND, _one_stream, ("D2/core-seeds",)),
    Fault("X406", "new rows never trained on as such", KIND, _queue_ignored, ("D2/core-queue",)),
)
