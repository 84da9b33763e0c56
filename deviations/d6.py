"""D6: what a checkpoint holds."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="D6",
    agent="DreamerV3",
    kind="deviation",
    title="Contents of a checkpoint",
    reference=(
        "Optimizer and normaliser state are checkpointed; the Ratio state, the online queue and "
        "the replay RNG are not."
    ),
    subject="Everything is checkpointed.",
    consequence="Resume fidelity.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/core/checkpoint.py", "60-65"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "94-97"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxagent.py", "241-243"),
        Source("dreamerv3-29eb964", "embodied/replay/replay.py", "320-334"),
        Source("dreamerv3-2411f7d", "embodied/core/checkpoint.py", "60-65"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "93-96"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxagent.py", "235-237"),
        Source("dreamerv3-2411f7d", "embodied/replay/replay.py", "320-334"),
        Source("dreamerv3-e3f0224", "embodied/run/train.py", "83-86"),
        Source("dreamerv3-e3f0224", "embodied/jax/agent.py", "340-353"),
        Source("dreamerv3-e3f0224", "embodied/core/replay.py", "295-309"),
    ),
)
