"""D2: what the replay sampler and the report stream draw from."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="D2",
    agent="DreamerV3",
    kind="deviation",
    title="Seed of the replay sampler; report stream",
    reference=(
        "The replay sampler's RNG is fixed to seed 0. The report stream pops the online queue "
        "every 180 s of wall-clock, and its loss pass reads the return normaliser without updating "
        "it (agent.py:410)."
    ),
    subject="Seeded from the run's seed. No report stream, so no loss pass that does not update.",
    consequence="Infrastructure.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/replay/selectors.py", "27-36"),
        Source("dreamerv3-29eb964", "embodied/replay/replay.py", "17-27"),
        Source("dreamerv3-29eb964", "dreamerv3/main.py", "174-188"),
        Source("dreamerv3-29eb964", "dreamerv3/agent.py", "401-411"),
        Source("dreamerv3-29eb964", "embodied/run/train.py", "111-113"),
        Source("dreamerv3-29eb964", "dreamerv3/configs.yaml", "49"),
        Source("dreamerv3-2411f7d", "embodied/replay/selectors.py", "27-36"),
        Source("dreamerv3-2411f7d", "embodied/replay/replay.py", "17-27"),
        Source("dreamerv3-2411f7d", "dreamerv3/main.py", "148-161"),
        Source("dreamerv3-2411f7d", "dreamerv3/agent.py", "422-433"),
        Source("dreamerv3-2411f7d", "embodied/run/train.py", "110-111"),
        Source("dreamerv3-2411f7d", "dreamerv3/configs.yaml", "49"),
    ),
)
