"""Where compiled programs are kept."""

import os
import sys

import pytest

from core.compiled import default_folder
from parity import cli


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux can confine")
def test_programs_for_other_numbers_of_cores_are_kept_apart(monkeypatch):
    found = []
    for cores in ({0}, {0, 1}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, cores=cores: cores)
        found.append(default_folder().name)
    assert found == ["1-cores", "2-cores"]


def test_the_command_keeps_programs_where_the_user_wants_them(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["parity", "list"])
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "3")
    assert cli.main() == 0
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "elsewhere"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    assert cli.main() == 0
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(default_folder())
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    assert "D22" in capsys.readouterr().out
