"""D3: where in a vector step the updates run."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="D3",
    agent="DreamerV3",
    kind="deviation",
    title="Updates within a vector step",
    reference="Updates are interleaved between the per-environment adds of one vector step.",
    subject="Updates run after the tick's adds.",
    consequence="The same rate; only the order within a tick differs.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/run/train.py", "69-72"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "81-92"),
        Source("dreamerv3-29eb964", "embodied/core/driver.py", "76-78"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "69-72"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "80-91"),
        Source("dreamerv3-2411f7d", "embodied/core/driver.py", "76-78"),
        Source("dreamerv3-e3f0224", "embodied/run/train.py", "59-62"),
        Source("dreamerv3-e3f0224", "embodied/run/train.py", "70-81"),
        Source("dreamerv3-e3f0224", "embodied/core/driver.py", "78-80"),
    ),
)
