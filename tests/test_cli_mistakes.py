"""Mistakes on the command line, in an adapter or in a file: one line, and the way out."""

import sys
import tempfile

import pytest
from command_line import run
from small_registry import PIN

from parity.cli import main

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--agreement", "symlg"], "did you mean symlog?"),
        (["run", "--deviation", "symlog"], "symlog is of the kind agreement, not deviation"),
        (["run", "--deviation"], "--deviation needs at least one value"),
        (["run", "--pin", "dreamerv3-29eb965"], f"did you mean {PIN}"),
        (["run", "--recordings", "nowhere"], "--recordings nowhere is no folder"),
        (["run", "--subject", "absent.py"], "there is no file absent.py"),
        (["run", "--subject", "no.such.module"], "there is no module no"),
        (["run", "--subject-python", sys.executable], "--subject-python needs a --subject"),
        (["show"], "name at least one entry"),
        (["show", "D99"], "no entry is called 'D99'; `parity list` has all"),
        (["show", "--operation", "simlog"], "did you mean symlog"),
        (["show", "--operation"], "--operation needs at least one value"),
        (["list", "nothing-like-it"], "nothing fits"),
        (["list", "--operations", "--measured"], "leave out --operations"),
        (["fuzz", "D1"], "D1 has no claim with a search"),
        (["fuzz", "D1", "--claim", "smal"], "no claim of D1 is called 'smal'"),
        (["report"], "`parity run` writes it"),
        (["sensitivity", "--fault", "Q"], "called 'Q'; reports/kill_matrix.md has all"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(words, said, capsys):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.startswith("parity: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("words", [["rum"], ["run", "--nope"], ["fuzz", "D1", "--examples", "0"]])
def test_an_unknown_word_exits_with_2(words, capsys):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert "Error" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "has no OPERATIONS"),
        ("OPERATIONS = [1]", "must be a dictionary"),
        ("OPERATIONS = {}", "is empty"),
        ("OPERATIONS = {'dreamerv3.simlog': print}", "did you mean dreamerv3.symlog?"),
        ("OPERATIONS = {'dreamerv3.symlog': 3}", "must be a function, got 3"),
        ("import not_there", "No module named 'not_there'"),
        ("x = 1\nraise OSError('my fault')", "OSError: my fault"),
        ("raise SystemExit(3)", "SystemExit"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_subject_that_is_no_table_of_operations_is_explained(here, source, said, capsys):
    (here / "theirs.py").write_text(source)
    assert run() == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("parity: ")
    assert error.count("\n") == 1


def test_a_damaged_recording_exits_with_2_and_names_the_way_out(here, capsys):
    path = next((here / "recordings" / PIN / "answers").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    assert run() == 2
    captured = capsys.readouterr()
    assert path.name in captured.err
    assert "parity record" in captured.err
    assert "Traceback" not in captured.err


def test_a_damaged_record_is_refused_before_anything_is_measured(here, capsys):
    path = here / "parity-results" / "records" / "D1.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert run() == 2
    assert "delete it" in capsys.readouterr().err
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_can_not_be_written_is_named_and_not_its_temporary(here, monkeypatch, capsys):
    def refuse(**where):
        raise PermissionError(13, "Permission denied", f"{where['dir']}/{where['prefix']}x7")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)  # root may write into any folder
    assert run() == 2
    error = capsys.readouterr().err
    assert error == "parity: parity-results/records/D1.json: Permission denied\n"
