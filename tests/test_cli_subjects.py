"""Somebody's port on the command line: how it is found, and how it is kept apart."""

import dataclasses
import json
import sys

import numpy as np
import pytest
from command_line import SUBJECT, register, run
from small_registry import SMALL, SYMLOG, TABLE, entry

from parity.registry import Registry

pytestmark = pytest.mark.usefixtures("here")


def test_a_subject_may_be_a_module_of_the_working_directory(here, capsys):
    (here / "their_module.py").write_text(SUBJECT.replace('NAME = "theirs"', ""))
    assert run("--json", subject="their_module") == 0
    assert json.loads(capsys.readouterr().out)[0]["provenance"]["subject"] == "their_module"


def test_a_subject_in_an_environment_of_its_own(here, capsys):
    (here / "helper.py").write_text("import numpy\nONE = numpy.float32(1)\n")
    (here / "theirs.py").write_text(
        SUBJECT.replace("import numpy as np", "import numpy as np\nfrom helper import ONE")
    )
    assert run("--subject-python", sys.executable, "--json") == 0
    (first, _) = json.loads(capsys.readouterr().out)
    assert {c["verdict"] for c in first["claims"]} == {"HOLDS"}
    assert first["provenance"]["python"] == ".".join(map(str, sys.version_info[:3]))
    (here / "theirs.py").write_text(SUBJECT.replace("return", "import os; os._exit(3)  #"))
    assert run("--subject-python", sys.executable, "--json") == 1
    (first, _) = json.loads(capsys.readouterr().out)
    assert {c["verdict"] for c in first["claims"]} == {"BROKEN"}
    assert "exit status 3" in first["claims"][0]["why"]
    (here / "theirs.py").write_text(SUBJECT.replace("return", "x *= 2; return"))
    assert run("--subject-python", sys.executable, "--json") == 1
    (first, _) = json.loads(capsys.readouterr().out)
    assert {c["verdict"] for c in first["claims"]} == {"BROKEN"}
    assert "it changed its input 'x'" in first["claims"][0]["why"]
    (here / "theirs.py").write_text(SUBJECT.replace("symlog", "simlog"))
    assert run("--subject-python", sys.executable) == 2
    assert "did you mean dreamerv3.symlog?" in capsys.readouterr().err


PRINTING = """
import os
print("imported")
""" + SUBJECT.replace("return", "print('asked'); os.system('echo from below'); return")


@pytest.mark.parametrize("elsewhere", [[], ["--subject-python", sys.executable]])
def test_what_a_subject_prints_stays_out_of_the_output(here, elsewhere, capfd):
    (here / "theirs.py").write_text(PRINTING)
    assert run("--json", *elsewhere) == 0
    captured = capfd.readouterr()
    assert [record["entry"] for record in json.loads(captured.out)] == ["D1", "symlog"]
    if not elsewhere:
        for words in ("imported", "asked", "from below"):
            assert words in captured.err


def test_the_worst_inputs_of_broken_claims_are_saved_with_both_answers(here, capsys):
    (here / "theirs.py").write_text(SUBJECT.replace("log1p", "log2"))
    assert run("--save-inputs", "worst", "--agreement", "symlog") == 1
    assert "1 inputs of broken claims in worst" in capsys.readouterr().out
    (path,) = (here / "worst").iterdir()
    assert path.name == "symlog.also.29eb964.npz"
    with np.load(path) as saved:
        assert saved["operation"] == SYMLOG
        settings = json.loads(str(saved["settings"]))
        x = saved["inputs/x"]
        np.testing.assert_array_equal(saved["reference/y"], TABLE[SYMLOG](x, **settings)["y"])
        np.testing.assert_array_equal(saved["subject/y"], np.sign(x) * np.log2(np.abs(x)))


def test_the_inputs_of_an_answer_that_failed_are_saved_too(here):
    (here / "theirs.py").write_text(SUBJECT.replace("return", "return {}['gone'] #"))
    assert run("--save-inputs", "worst", "--agreement", "symlog") == 1
    with np.load(here / "worst" / "symlog.also.29eb964.npz") as saved:
        assert set(saved.files) == {"operation", "settings", "inputs/x"}


def test_a_port_is_not_called_the_core(here, monkeypatch):
    about = "The core's symlog is small; that of the core, not of encore."
    measured = dataclasses.replace(SMALL, statement=about)
    register(monkeypatch, Registry([entry(measured)]))
    assert run() == 0
    document = (here / "parity-results" / "deviations.md").read_text()
    assert "theirs's symlog is small; that of theirs, not of encore." in document
    assert "what was measured of\n**theirs**" in document
    assert "Every figure is of **theirs**." in document
    assert "**The core, for comparison:** Takes the logarithm, too." in document
