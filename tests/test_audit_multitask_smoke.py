"""The whole pipeline on several tasks, a real one at a tiny size: killed, and gone on with."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from audits.multitask.offline import damages, read_offline
from audits.multitask.pooling import read_about, read_episodes
from audits.multitask.protocol import OFFLINE, SOURCES, protocol
from audits.paper import training
from audits.paper.files import read_run
from core.tdmpc2.dataset import load

# Programs that are compiled in a third of the time; all processes have to agree in this.
FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
KILLED_AFTER = 40  # updates

SEVERAL = """
import sys
from audits import cli

for command in sys.argv[2:]:
    status = cli.main(["multitask", *command.split(), "--smoke", "--out", sys.argv[1]])
    if status:
        sys.exit(status)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One compilation for all processes."""
    return tmp_path_factory.mktemp("cache")


def start(cache, out, *commands):
    """A process that does one command after another."""
    return subprocess.Popen(
        [sys.executable, "-c", SEVERAL, str(out), *commands],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"XDG_CACHE_HOME": str(cache), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": FLAGS},
    )


def finished(process):
    stdout, stderr = process.communicate(timeout=1200)
    assert process.returncode == 0, stderr
    return stdout


def timeless(run):
    return [msgspec.structs.replace(record, seconds=0.0) for record in run.records]


def test_from_sources_to_the_report_with_a_kill_between(cache, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "killed"
    told = finished(start(cache, whole, "sources", "dataset", "train", "report"))
    assert "2 of 2 can be pooled" in told
    # Neither task brings 100, the least that counts as learned: a trial validates nothing.
    assert "INCOMPLETE: 0 of 2 tasks are judged" in told

    # The dataset is every episode that the sources have played, and nothing else.
    about = read_about(whole)
    parts = [load(whole / SOURCES / name / "episodes") for name in protocol(smoke=True).tasks]
    assert [s.episodes for s in about.sources] == [part.digest for part in parts]
    assert [s.count for s in about.sources] == [1100 // 20] * 2
    pooled = read_episodes(about, whole)
    assert pooled.reward.sum() == pytest.approx(sum(part.reward.sum() for part in parts), rel=1e-4)
    sources = [read_run(whole / SOURCES / name) for name in protocol(smoke=True).tasks]
    assert all(run.records[-1].updates > 1000 for run in sources)
    assert [s.returns for s in about.sources] == [run.records[-1].values for run in sources]

    shutil.copytree(whole, out, ignore=shutil.ignore_patterns(OFFLINE))
    process = start(cache, out, "train --save-every 0")
    while process.poll() is None and training.newest_checkpoint(out / OFFLINE) < KILLED_AFTER:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    _, stderr = process.communicate()
    assert process.returncode == -signal.SIGKILL, stderr
    finished(start(cache, out, "train", "report"))

    undisturbed, run = read_offline(whole), read_offline(out)
    assert [session.begin for session in undisturbed.sessions] == [0]
    assert run.sessions[1].begin >= KILLED_AFTER
    assert timeless(run) == timeless(undisturbed)
    assert run.finished["learned"] == undisturbed.finished["learned"]  # every bit of it
    assert run.records[-1].returns != run.records[0].returns
    assert not damages(run)
    judged = [json.loads((place / "summary.json").read_text()) for place in (whole, out)]
    assert judged[0]["judgement"] == judged[1]["judgement"]
    assert judged[0]["dataset"] == judged[1]["dataset"]
