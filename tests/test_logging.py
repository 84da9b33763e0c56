"""The log of a run: what is dropped, what is put aside, and what is said."""

import errno
import io
import json
import re
import sys
import time

import pytest
from rich.console import Console

from core.training import logging
from core.training.logging import LoggingError, MetricsLog, write_atomically
from core.training.progress import ProgressBar


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_log_drops_what_lies_beyond_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"rows": 48, "seed": 3}\n{"rows": 96, "seed": 3}\n{"rows": 14')
    log = MetricsLog(path, rows=48)
    assert log.remark is None
    log.write(96, 3, {"loss": float("nan"), "many": [1.0, float("inf")]})
    assert lines(path) == [
        {"rows": 48, "seed": 3},
        {"rows": 96, "seed": 3, "loss": None, "many": [1.0, None]},
    ]


@pytest.mark.parametrize(
    "damaged",
    [b"\xff\xfe{", b'{"rows": Infinity}', b"[]", b'{"rows": "4"}', b"", b"{" * 9, b"[" * 99_999],
    ids=repr,
)
def test_lines_that_can_not_be_read_are_put_aside_and_said(tmp_path, damaged):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"rows": 48}\n' + damaged + b'\n{"rows": 96}\n')
    log = MetricsLog(path, rows=96)
    assert log.remark is not None
    assert "1 of 3 lines can not be read, the first is line 2" in log.remark
    assert lines(path) == [{"rows": 48}, {"rows": 96}]
    assert (tmp_path / "metrics.jsonl.damaged").read_bytes() == damaged + b"\n"
    assert MetricsLog(path, rows=96).remark is None


def test_a_log_that_is_gone_is_begun_anew_and_that_is_said(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert MetricsLog(path, rows=0).remark is None
    assert MetricsLog(path, rows=96).remark is None  # no line was due so far
    path.unlink()
    assert MetricsLog(path, rows=1096).remark == f"{path} is gone: a new one begins after row 1,096"


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"rows": 48}\n')

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(logging.os, "fsync", full)
    with pytest.raises(LoggingError, match="can not be written: No space left"):
        MetricsLog(path, rows=0)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"other")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(path.name, '{"rows": 48}\n')]


def test_tensorboard_without_its_library_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(LoggingError, match="pip install"):
        MetricsLog(tmp_path / "metrics.jsonl", rows=0, tensorboard=tmp_path)


def test_tensorboard_gets_the_numbers_that_are_finite(tmp_path, monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder, purge_step):
            written.append((folder, purge_step))

        def add_scalar(self, *scalar):
            written.append(scalar)

        def flush(self):
            written.append("flushed")

        def close(self):
            written.append("closed")

    monkeypatch.setattr(logging, "_summary_writer", lambda: Writer)
    with logging.closing(MetricsLog(tmp_path / "m.jsonl", rows=48, tensorboard=tmp_path)) as log:
        log.write(96, 3, {"loss": 1.5, "many": [1.0], "none": float("nan")})
    assert written == [(str(tmp_path / "seed3"), 49), ("loss", 1.5, 96), "flushed", "closed"]


def test_tensorboard_that_can_not_be_written_is_one_sentence(tmp_path, monkeypatch):
    class Full:
        def __init__(self, folder, purge_step):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(logging, "_summary_writer", lambda: Full)
    log = MetricsLog(tmp_path / "m.jsonl", rows=0, tensorboard=tmp_path / "board")
    with pytest.raises(LoggingError, match=r"board can not be written: No space left.*make room"):
        log.write(96, 3, {"loss": 1.5})
    assert lines(tmp_path / "m.jsonl") == [{"rows": 96, "seed": 3, "loss": 1.5}]
    (tmp_path / "file").touch()
    with pytest.raises(LoggingError, match="file can not be written: File exists"):
        MetricsLog(tmp_path / "m.jsonl", rows=0, tensorboard=tmp_path / "file")


def test_a_terminal_shows_for_how_long_something_takes():
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80)
    with ProgressBar(10, console).busy("compiling"):
        time.sleep(1.3)
    assert "compiling, 0 s …" in shown.getvalue()
    assert "compiling, 1 s …" in shown.getvalue()


def test_a_file_gets_a_line_per_beat():
    shown = io.StringIO()
    with ProgressBar(10, Console(file=shown)).busy("compiling") as beat:
        beat()
    assert re.fullmatch(r"compiling …\ncompiling, \d s …\n", shown.getvalue())
