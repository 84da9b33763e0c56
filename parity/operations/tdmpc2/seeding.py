"""What of a run its seed decides."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

SEED_PHASE = Operation(
    "tdmpc2.repeated_seed_phase",
    "A run's first N actions, all of its seed phase and therefore random, of A numbers each, in "
    "an environment that is never seeded itself; then those of another run from the same seed, "
    "and those of one from the next seed",
    (
        Setting("seed", int, "of the first two runs"),
        Setting("steps", int, "N"),
        Setting("actions", int, "A"),
    ),
    (
        Array("repeated", "", "int64", "numbers of the first run that the second has as well"),
        Array("other", "", "int64", "numbers of the first run that the third has as well"),
        Array("outside", "", "int64", "numbers of the three runs outside −1 to 1"),
        Array("parameters", "", "int64", "whether the second run's first parameters are the first"),
        Array("changed", "", "int64", "whether the third run's first parameters are others"),
    ),
)

OPERATIONS = (SEED_PHASE,)
