"""D5: how many heads decode a vector observation."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="D5",
    agent="DreamerV3",
    kind="deviation",
    title="Decoder heads of the observation",
    reference="One decoder head per observation key (dict observations).",
    subject="One head for the flat observation vector.",
    consequence=(
        "The loss is identical (a sum of means); the per-tensor AGC partition differs (≤ 8 % "
        "clipped-gradient difference, probed)."
    ),
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "321-326"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxutils.py", "660-674"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "316-321"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxutils.py", "659-673"),
        Source("dreamerv3-e3f0224", "dreamerv3/rssm.py", "297-306"),
        Source("dreamerv3-e3f0224", "embodied/jax/heads.py", "57-62"),
        Source("dreamerv3-e3f0224", "embodied/jax/opt.py", "109-123"),
    ),
)
