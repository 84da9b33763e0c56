"""A registry of two entries, and implementations in numpy, for tests of the machinery."""

import dataclasses

import numpy as np

from parity.claims import AtMost, BitIdentical, measure_bits, measure_errors
from parity.implementations import InProcess
from parity.registry import Claim, Entry, Registry

PIN, OTHER_PIN = "dreamerv3-29eb964", "dreamerv3-2411f7d"
SYMLOG, SYMEXP = "dreamerv3.symlog", "dreamerv3.symexp"


def symlog(x, mode):
    return {"y": np.sign(x) * np.log1p(np.abs(x))}


def symexp(x, mode):
    return {"y": np.sign(x) * np.expm1(np.abs(x))}


TABLE = {SYMLOG: symlog, SYMEXP: symexp}
SOUND = InProcess("sound", TABLE)


def draw(rng):
    return {"x": rng.normal(size=8).astype(np.float32), "mode": "eager"}


def compare_symlog(subject, reference, inputs):
    ours, theirs = subject(SYMLOG, **inputs), reference(SYMLOG, **inputs)
    return measure_bits(ours["y"], theirs["y"], inputs)


def measure_symlog(subject, reference, inputs):
    """The greatest symlog: a figure of the subject alone."""
    return measure_errors(np.abs(subject(SYMLOG, **inputs)["y"]), inputs)


def claim(id="equal", measure=compare_symlog, **fields):
    fields = {
        "statement": "Symlog is the reference's.",
        "tolerance": BitIdentical(),
        "reason": "The same formula.",
        "operations": (SYMLOG,),
        "cases": draw,
        **fields,
    }
    return Claim(id=id, measure=measure, **fields)


SMALL = claim(
    "small",
    measure_symlog,
    statement="Symlog is small.",
    tolerance=AtMost(5.0, "nats"),
    about="subject",
)


def entry(*claims, id="D1", pins=(PIN,), kind="deviation", **fields):
    return Entry(
        id=id,
        agent="DreamerV3",
        kind=kind,
        title="Symlog",
        reference="Takes the logarithm.",
        subject="Takes the logarithm, too.",
        consequence="None.",
        pins=pins,
        claims=claims,
        **fields,
    )


REGISTRY = Registry(
    [
        entry(claim(), SMALL, pins=(PIN, OTHER_PIN)),
        entry(claim("also"), id="symlog", kind="agreement"),
    ]
)


@dataclasses.dataclass
class Identity:
    python: str = "3.11.7"
    platform: str = "a platform"
    cpu: str = "a processor"
    packages: dict = dataclasses.field(default_factory=lambda: {"jax": "0.4.26"})


class Worker:
    """Stands in for a worker in a side environment, and counts the questions."""

    identity = Identity()

    def __init__(self, table=TABLE):
        self.table = table
        self.asked = []
        self.closed = False

    def ask(self, operation, inputs):
        from reference_harness.worker_errors import NotOfferedError, OperationFailedError

        self.asked.append(operation)
        if operation not in self.table:
            raise NotOfferedError(f"the worker does not offer {operation}")
        try:
            return self.table[operation](**inputs)
        except ValueError as error:
            raise OperationFailedError(f"the worker failed: {error}") from error

    def close(self):
        self.closed = True
