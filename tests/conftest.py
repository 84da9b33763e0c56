import os
import signal

import pytest
from hypothesis import settings

# Compiling is part of the first example, so a deadline would measure the compiler. The
# examples are the same in every run; `--hypothesis-seed` searches elsewhere.
settings.register_profile("parity", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("parity")

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture(autouse=True)
def heeds_ctrl_c():
    """Ctrl-C as a terminal sends it, for this process and those that it starts.

    What a shell starts in its background ignores Ctrl-C, and hands that down.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["eager", "compiled"])
def mode(request):
    """How a computation is run."""
    return request.param


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with recordings of the small registry, and a sound subject."""
    from command_line import SUBJECT, register
    from small_registry import REGISTRY, SOUND, Worker

    import parity.references
    from parity.recorder import record

    monkeypatch.chdir(tmp_path)
    register(monkeypatch, REGISTRY)
    monkeypatch.setattr(parity.references, "start_reference", lambda pin: Worker())
    with parity.references.References("live", None, start=lambda pin: Worker()) as references:
        record(REGISTRY, SOUND, references, command="", folder=tmp_path / "recordings")
    (tmp_path / "theirs.py").write_text(SUBJECT)
    return tmp_path
