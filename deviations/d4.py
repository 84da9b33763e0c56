"""D4: the precision of the computation."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="D4",
    agent="DreamerV3",
    kind="deviation",
    title="Compute precision",
    reference="bf16 compute (2411f7d: bf16 RMS statistics, f32 slow critic).",
    subject="f32.",
    consequence="Numerics only; bf16 is revisited at the GPU milestone.",
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/configs.yaml", "24"),
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "758-763"),
        Source("dreamerv3-29eb964", "dreamerv3/agent.py", "75-76"),
        Source("dreamerv3-2411f7d", "dreamerv3/configs.yaml", "24"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "753-758"),
        Source("dreamerv3-2411f7d", "dreamerv3/agent.py", "77-78"),
        Source("dreamerv3-e3f0224", "dreamerv3/configs.yaml", "74"),
    ),
)
