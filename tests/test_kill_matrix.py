"""The published matrix of seeded faults and the claims that notice them."""

import contextlib
import dataclasses

import msgspec
import pytest
from command_line import register, run
from small_registry import REGISTRY, SMALL, SOUND, SYMLOG, TABLE, claim, entry

import parity.faults
import parity.subjects
from parity.cli import main
from parity.faults import Fault
from parity.registry import Registry
from reports import kills
from reports.records import RecordError

FOLDER = "parity-results"


def doubled(x, mode):
    return {"y": x * 2}


def fault(id="F01", function=doubled, caught_by=("D1/equal",), **fields):
    return Fault(id, "twice too much", "formula", lambda: {SYMLOG: function}, caught_by, **fields)


@pytest.fixture
def sensitivity(here, monkeypatch):
    """Seeds faults and keeps the matrix; gives the exit status."""
    monkeypatch.setattr(parity.subjects, "opened", lambda *_: contextlib.nullcontext(SOUND))

    def seed(*faults, words=()):
        monkeypatch.setattr(parity.faults, "load_faults", lambda: faults)
        given = ["sensitivity", "--recordings", "recordings", "--results", FOLDER]
        return main([*given, *words])

    return seed


def matrix(here):
    return (here / FOLDER / "kill_matrix.md").read_text()


def row(here, start):
    (line,) = (x for x in matrix(here).splitlines() if x.startswith(f"| {start} |"))
    return line


def test_every_fault_has_a_row_and_every_claim_what_it_kills(here, sensitivity):
    theirs = claim("theirs", about="reference")
    idle = dataclasses.replace(claim("idle", about="subject"), operations=(), unbroken="A count.")
    register_here = Registry([entry(claim(), SMALL, theirs, idle)])
    with pytest.MonkeyPatch.context() as patch:
        register(patch, register_here)
        assert sensitivity(fault(source="a port"), fault("X02")) == 0
    assert row(here, "F01").endswith("| a port | killed | D1: **equal** |")
    assert row(here, "X02").endswith("| ours | killed | D1: **equal** |")
    assert row(here, "D1/equal") == "| D1/equal | 2 | F01, X02 |"
    assert row(here, "D1/small") == (
        "| D1/small | held for each of the 2 faults that it was tried on |"
    )
    assert row(here, "D1/idle") == "| D1/idle | A count. |"
    assert "1 claims are about the reference alone" in matrix(here)
    assert "\nD1: theirs\n" in matrix(here)
    assert "**2** killed" in matrix(here)


def test_a_fault_that_nobody_notices_stands_out_and_so_does_one_that_crashes(here, sensitivity):
    def crashes(x, mode):
        raise NameError("a typing mistake")

    assert sensitivity(fault(function=TABLE[SYMLOG]), fault("X02", crashes)) == 1
    assert "| **NOT CAUGHT** |  |" in row(here, "F01")
    assert "**not seeded: dreamerv3.symlog raised NameError: a typing mistake**" in row(here, "X02")
    assert "**0** killed" in matrix(here)


def test_a_run_that_was_cut_short_goes_on_where_it_was(here, sensitivity, capsys):
    both = fault(), fault("X02")
    assert sensitivity(*both, words=("--fault", "X02")) == 0
    assert "| ours | NOT MEASURED |" in row(here, "F01")
    assert sensitivity(*both, words=("--missing",)) == 0
    out = capsys.readouterr().out
    assert "1 of 1 faults" in out
    assert "| ours | killed |" in row(here, "F01")
    assert row(here, "D1/equal") == "| D1/equal | 2 | F01, X02 |"
    assert sensitivity(*both, words=("--missing",)) == 0
    assert "No fault is missing" in capsys.readouterr().out
    # One that must be noticed by somebody else now is another fault.
    changed = fault(caught_by=("D1/equal", "symlog/also"))
    assert sensitivity(changed, both[1], words=("--missing",)) == 0
    assert "1 of 1 faults" in capsys.readouterr().out
    assert row(here, "F01").endswith("D1: **equal**; symlog: **also** |")


def test_a_fault_is_not_seeded_where_what_it_needs_is_not_installed(here, sensitivity, capsys):
    assert sensitivity(fault(), fault("X02", needs="a_simulator_that_nobody_has")) == 0
    assert "X02 is not seeded: a_simulator_that_nobody_has" in capsys.readouterr().err
    assert "| NOT MEASURED: it needs a_simulator_that_nobody_has |" in row(here, "X02")


def test_a_claim_that_waits_for_its_fault_is_not_said_to_kill_nothing(here, sensitivity):
    waiting = fault("X02", caught_by=("symlog/also",))
    quiet = fault(function=TABLE[SYMLOG])
    assert sensitivity(quiet, waiting, words=("--fault", "F01")) == 1
    assert row(here, "symlog/also") == (
        "| symlog/also | not seeded yet is what it must kill: X02 |"
    )


def test_what_is_missing_is_asked_of_a_folder(here, monkeypatch, capsys):
    assert main(["sensitivity", "--missing"]) == 2
    assert "--results" in capsys.readouterr().err


def test_report_check_notices_a_matrix_that_is_out_of_date(here, sensitivity, monkeypatch, capsys):
    assert run() == 0
    assert main(["report", "--check"]) == 0
    assert sensitivity(fault()) == 0
    assert main(["report", "--check"]) == 0
    register(monkeypatch, Registry([*REGISTRY, entry(claim("new"), id="D2")]))
    assert main(["report"]) == 0
    (here / FOLDER / "kill_matrix.md").write_text("edited")
    capsys.readouterr()
    assert main(["report", "--check"]) == 1
    assert "kill_matrix.md is not what its records say" in capsys.readouterr().err
    assert main(["report"]) == 0
    assert "D2/new" in matrix(here)
    assert main(["report", "--check"]) == 0


def test_a_damaged_matrix_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "kill_matrix.json"
    assert kills.read(path) == {}
    path.write_text('{"schema_version": 2, "faults": []}')
    with pytest.raises(RecordError, match="parity sensitivity --results"):
        kills.read(path)


@pytest.mark.parametrize("change", ["edited", "twice"])
def test_a_matrix_that_contradicts_itself_is_refused(here, sensitivity, change, capsys):
    assert sensitivity(fault()) == 0
    path = here / FOLDER / "kill_matrix.json"
    (record,) = kills.read(path).values()
    if change == "edited":
        record = msgspec.structs.replace(record, claims=dict.fromkeys(record.claims, "held"))
    kills.write(path, [record] * (2 if change == "twice" else 1))
    told = "what F01 misses" if change == "edited" else "a fault that is there twice"
    with pytest.raises(RecordError, match=f"contradicts itself: {told}"):
        kills.read(path)
