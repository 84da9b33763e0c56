"""Ctrl-C and SIGTERM before a run has begun: the command ends at once, and says so."""

import os
import signal
import subprocess
import sys
import time

import pytest

import core

SAID = "interrupted before the run began\n"

# Hold the import up: in C code, which no handler of Python's interrupts, or by dropping every
# exception, as a callback of a garbage collector does.
IN_C = "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
DROPPING = """
while True:
    try:
        time.sleep(60)
    except BaseException:
        pass
"""


def start(tmp_path, agent="dreamerv3"):
    root = os.path.dirname(os.path.dirname(core.__file__))
    path = os.pathsep.join((str(tmp_path / "modules"), root))
    words = ["--logdir", str(tmp_path / "run"), "--cache", str(tmp_path / "cache")]
    return subprocess.Popen(
        [sys.executable, "-m", f"core.{agent}", *words],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
    )


def ends_after(number, process, path):
    """Sends a signal once there is such a file; the status and what was said."""
    while process.poll() is None and not path.exists():
        time.sleep(0.005)
    process.send_signal(number)
    try:
        _, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, stderr


@pytest.mark.parametrize(
    ("agent", "module", "code", "number"),
    [
        ("dreamerv3", "cyclopts", DROPPING, signal.SIGINT),
        ("dreamerv3", "jax", IN_C, signal.SIGINT),
        ("tdmpc2", "jax", DROPPING, signal.SIGTERM),
        ("tdmpc2", "cyclopts", IN_C, signal.SIGTERM),
    ],
    ids=["cyclopts-dropping", "jax-in-c", "jax-dropping", "cyclopts-in-c"],
)
def test_an_import_is_interrupted_whatever_it_does(tmp_path, agent, module, code, number):
    here = tmp_path / "here"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{module}.py").write_text(
        f"import hashlib, pathlib, time\npathlib.Path({str(here)!r}).touch()\n{code}\n"
    )
    assert ends_after(number, start(tmp_path, agent), here) == (128 + number, SAID)
    assert not (tmp_path / "run").exists()


def test_a_run_is_interrupted_while_its_state_is_made(tmp_path):
    run = tmp_path / "run"
    assert ends_after(signal.SIGINT, start(tmp_path), run / ".lock") == (130, SAID)
    assert {path.name for path in run.iterdir()} <= {".lock", "checkpoints"}
    assert not any((run / "checkpoints").glob("*"))


def test_a_signal_that_the_command_was_started_to_ignore_stays_ignored():
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from core.training.outset import end_when_asked\n"
        "end_when_asked()\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "print('alive', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('and well')\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (143, "alive\n", SAID)


def test_after_a_run_a_signal_does_not_say_that_it_has_not_begun():
    code = (
        "import os, signal\n"
        "from core.training.interruption import Interruption\n"
        "from core.training.outset import end_when_asked\n"
        "end_when_asked()\n"
        "interruption = Interruption()\n"
        "with interruption.watched():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "print(interruption.number, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = "interrupted after the run had ended\n"
    assert (found.returncode, found.stdout, found.stderr) == (130, "2\n", said)
