"""`parity record`, `parity sensitivity` and `parity fuzz` on the command line."""

import contextlib
import dataclasses
import json

import pytest
from command_line import SUBJECT, register, run
from small_registry import PIN, SMALL, SOUND, SYMLOG, TABLE, Worker, claim, entry

import parity.faults
import parity.references
import parity.subjects
from parity.claims import AtMost
from parity.cli import main
from parity.registry import Registry

pytestmark = pytest.mark.usefixtures("here")


def test_record_says_what_it_left_out(here, monkeypatch, capsys):
    monkeypatch.setattr(parity.subjects, "opened", lambda *_: contextlib.nullcontext(SOUND))
    damaged = next((here / "recordings" / PIN / "answers").iterdir())
    damaged.write_bytes(b"")
    assert main(["record", "--recordings", "recordings"]) == 0
    assert f"{PIN}: 2 answers" in capsys.readouterr().out
    assert run() == 0
    monkeypatch.setattr(parity.references, "start_reference", lambda pin: Worker({}))
    assert main(["record", "--recordings", "recordings", "--deviation", "D1"]) == 2
    assert "not recorded: D1/equal" in capsys.readouterr().err
    assert run() == 0  # what was recorded before is still there


def test_sensitivity_exits_with_1_for_a_fault_that_nothing_catches(here, monkeypatch, capsys):
    monkeypatch.setattr(parity.subjects, "opened", lambda *_: contextlib.nullcontext(SOUND))

    def faulty(function, **fields):
        return parity.faults.Fault("F01", "wrong", "formula", lambda: {SYMLOG: function}, **fields)

    def sensitivity(fault, *words):
        monkeypatch.setattr(parity.faults, "load_faults", lambda: (fault,))
        return main(["sensitivity", "--recordings", "recordings", *words])

    doubled = faulty(lambda x, mode: {"y": x * 2}, caught_by=("D1/equal",))
    assert sensitivity(doubled) == 0
    out = capsys.readouterr().out
    assert "F01 X.X wrong" in out
    assert "1 of 1 faults" in out
    assert sensitivity(faulty(TABLE[SYMLOG], caught_by=())) == 1
    assert "caught by nothing" in capsys.readouterr().out
    assert sensitivity(faulty(TABLE[SYMLOG], caught_by=()), "--json") == 1
    assert json.loads(capsys.readouterr().out)[0]["caught"] is False


def test_fuzz_exits_with_1_where_it_breaks_a_claim(here, monkeypatch, capsys):
    from test_fuzz import numbers

    searched = [
        claim("equal", search=numbers),
        claim("small", SMALL.measure, tolerance=SMALL.tolerance, about="subject", search=numbers),
    ]
    register(monkeypatch, Registry([entry(*searched)]))
    (here / "wrong.py").write_text(SUBJECT.replace("np.log1p", "2 * np.log1p"))
    words = ["fuzz", "D1", "--subject", "theirs.py", "--examples", "50"]
    assert main([*words, "--claim", "equal"]) == 0
    assert f"D1/equal at {PIN}: HOLDS after 50 examples" in capsys.readouterr().out
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "D1/small: BROKEN" in out
    assert main(["fuzz", "D1", "--subject", "wrong.py", "--claim", "equal"]) == 1
    assert "worst element: y[B=" in capsys.readouterr().out
    assert "    x = " in out

    def absent(pin):
        raise parity.references.CannotMeasureError(f"{pin} is not installed")

    monkeypatch.setattr(parity.references, "start_reference", absent)
    for live in ([], ["--live"]):
        assert main([*words, "--claim", "equal", *live]) == 2
        captured = capsys.readouterr()
        assert "not installed" in captured.out
        assert "nothing was searched" in captured.err
    sound = dataclasses.replace(searched[1], tolerance=AtMost(1e9))
    register(monkeypatch, Registry([entry(searched[0], sound)]))
    assert main(words) == 0  # something was
    assert main([*words, "--live"]) == 2
