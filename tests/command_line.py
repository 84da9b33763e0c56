"""The `parity` command on the small registry, in a working directory of its own."""

import parity.registry
from parity.cli import main

SUBJECT = """
import numpy as np
NAME = "theirs"
def symlog(x, mode):
    return {"y": np.sign(x) * np.log1p(np.abs(x))}
OPERATIONS = {"dreamerv3.symlog": symlog}
"""


def register(monkeypatch, registry):
    monkeypatch.setattr(parity.registry, "load_registry", lambda: registry)


def run(*words, subject="theirs.py"):
    return main(["run", "--subject", subject, "--recordings", "recordings", *words])
