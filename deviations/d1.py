"""D1: how stale the acting parameters and the batches are."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="D1",
    agent="DreamerV3",
    kind="deviation",
    title="Asynchronous against synchronous training",
    reference=(
        "Asynchronous: acting parameters ≈ 2 driver iterations stale; one batch is prefetched; "
        "write-back and metrics arrive one train call late; the first batch is prefetched before "
        "the gate."
    ),
    subject="Synchronous.",
    consequence="Infrastructure, not algorithmic.",
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/jaxagent.py", "147-153"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxagent.py", "177-202"),
        Source("dreamerv3-29eb964", "embodied/core/prefetch.py", "9-41"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxagent.py", "141-147"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxagent.py", "171-196"),
        Source("dreamerv3-2411f7d", "embodied/core/prefetch.py", "9-41"),
        Source("dreamerv3-e3f0224", "embodied/jax/agent.py", "241-247"),
        Source("dreamerv3-e3f0224", "embodied/jax/agent.py", "278-294"),
        Source("dreamerv3-e3f0224", "embodied/core/streams.py", "32-80"),
    ),
)
