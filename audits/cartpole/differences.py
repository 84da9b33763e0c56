"""What is known to differ between the two sides, and which entry is about it."""

from __future__ import annotations

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """A difference that no configuration can remove.

    Attributes:
        names: Of the protocol and of the deviation table.
        what: It is.
        expected: What it does to the statistics.
        probe: The entry of the registry that is about it; "" if none is.
    """

    names: str
    what: str
    expected: str
    probe: str = ""


DIFFERENCES = (
    Difference(
        "U1, D1",
        "The reference acts with parameters that are one or two vector steps old, assembles "
        "batches ahead in threads, and logs the metrics of an update with the next one; the core "
        "acts with the latest and has no threads. Evaluation uses the latest on both sides.",
        "Small: a lag of about 16 of 9,481 updates.",
        "D1",
    ),
    Difference(
        "U2, D2",
        "The reference's replay sampler has seed 0 whatever the run's seed, so that its runs share "
        "one stream of indices; the core's is seeded by the run.",
        "Small; the reference's seeds are a little less independent of each other.",
        "D2",
    ),
    Difference(
        "report stream",
        "The reference starts a second stream of batches for reports, which takes up to 32 of the "
        "first new sequences and is then never read; the core has no reports.",
        "None to speak of: training draws 128 sequences for every 16 new ones.",
        "D2",
    ),
    Difference(
        "U3, D3",
        "The reference trains between the rows of a vector step, the core after all of them.",
        "None to speak of: the rate is the same.",
        "D3",
    ),
    Difference(
        "U4, D22",
        "Two-hot heads of the reference have 256 outputs, of which the last is dropped, float32 "
        "bins, and an expectation that is off by up to 0.3; the core's bins are exact.",
        "A small offset of rewards and values, largest in a fresh agent.",
        "D22",
    ),
    Difference(
        "U5, D23",
        "Initial kernels differ by a constant factor of 4.16e-5.",
        "None to speak of.",
        "D23",
    ),
    Difference(
        "U6",
        "All random numbers come from other generators. The reference does not even repeat its "
        "own runs: when its threads draw depends on time.",
        "Other draws on every seed, which is what several seeds are for.",
    ),
    Difference(
        "U7",
        "The reference's pole is computed by numpy in float32, the core's by XLA.",
        "Last digits; the same distribution.",
    ),
    Difference(
        "U8",
        "Every evaluation of a seed begins in the same ten states, on both sides, but in other "
        "states on each.",
        "None on the expectation.",
    ),
    Difference(
        "NaN",
        "The reference leaves NaN out of its window means; the core adds everything, and stops a "
        "run whose loss is not finite.",
        "A window of ours without a mean had a NaN in it; such windows are listed.",
    ),
)
