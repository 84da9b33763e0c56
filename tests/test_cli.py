"""`parity run`: exit statuses, what it prints, and what it leaves behind."""

import json
from xml.etree import ElementTree as ET

import pytest
from command_line import SUBJECT, register, run
from small_registry import (
    OTHER_PIN,
    PIN,
    REGISTRY,
    SMALL,
    SYMLOG,
    TABLE,
    Worker,
    claim,
    entry,
    symlog,
)

import parity.references
from parity.cli import main
from parity.registry import Registry, Source
from reference_harness.recorder import Recorder

pytestmark = pytest.mark.usefixtures("here")


def test_a_sound_subject_holds_and_leaves_its_results(here, capsys):
    assert run() == 0
    out = capsys.readouterr().out
    assert "4 HOLDS" in out
    assert "parity-results/deviations.md" in out
    results = here / "parity-results"
    assert sorted(p.name for p in (results / "records").iterdir()) == ["D1.json", "symlog.json"]
    suites = ET.parse(results / "junit.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("skipped")) == ("4", "0", "0")
    assert "Symlog is the reference's." in (results / "deviations.md").read_text()


def test_json_goes_to_the_output_and_nothing_else(capsys):
    assert run("--json") == 0
    records = json.loads(capsys.readouterr().out)
    assert [r["entry"] for r in records] == ["D1", "symlog"]
    assert records[0]["provenance"]["subject"] == "theirs"


def test_a_broken_claim_exits_with_1(here, capsys):
    (here / "theirs.py").write_text(SUBJECT.replace("log1p", "log2"))
    assert run("--quiet") == 1
    assert "HOLDS" not in capsys.readouterr().out
    (here / "theirs.py").write_text(SUBJECT.replace("return", "return {}['gone'] #"))
    assert run() == 1
    assert "KeyError" in capsys.readouterr().out


def test_what_is_broken_says_where_with_both_values_and_where_to_look(here, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "120")
    sources = [Source(pin, "dreamerv3/jaxutils.py", "10-12") for pin in (PIN, OTHER_PIN)]
    register(monkeypatch, Registry([entry(claim(), sources=tuple(sources))]))
    wrong = "y = np.sign(x) * np.log1p(np.abs(x)); y[3] = 7; return {'y': y} #"
    (here / "theirs.py").write_text(SUBJECT.replace("return", wrong))
    assert run() == 1
    out = capsys.readouterr().out
    expected = symlog(REGISTRY["D1"].claims[0].cases(entry().rng(claim()))["x"], "eager")["y"][3]
    said = f"y[B=3] of dreamerv3.symlog: the subject answered 7.0, the reference {expected!s}"
    (broken,) = json.loads((here / "parity-results/records/D1.json").read_text())["claims"]
    assert broken["why"] == said
    assert "why: y[B=3] of dreamerv3.symlog: " in out
    assert f"The reference, for D1:\n  {sources[0].url}\n" in out
    assert sources[1].url not in out  # it was not measured there
    assert "Records in" in out
    assert run("--quiet") == 1
    assert sources[0].url not in capsys.readouterr().out


def test_what_is_not_measured_fails_only_if_strict(here, monkeypatch):
    (here / "theirs.py").write_text(SUBJECT.replace("dreamerv3.symlog", "dreamerv3.symexp"))
    assert run() == 0
    assert run("--strict") == 1
    register(monkeypatch, Registry([entry()]))  # an entry without claims
    assert run() == 0
    assert run("--strict") == 1


def test_a_reference_of_the_wrong_shape_exits_with_2(here, capsys):
    recorder = Recorder(PIN, {}, here / "recordings")
    d1 = REGISTRY["D1"]
    inputs = d1.claims[0].cases(d1.rng(d1.claims[0]))
    recorder.add(SYMLOG, inputs, {"y": inputs["x"][:3]})
    recorder.keep("D1/equal")
    recorder.write()
    assert run() == 2
    error = capsys.readouterr().err
    assert "D1/equal" in error
    assert "not the subject" in error
    assert "Traceback" not in error


def test_what_was_finished_before_a_failure_is_in_the_document_too(here, monkeypatch):
    mistaken = claim(measure=lambda *_: 1 / 0)
    register(monkeypatch, Registry([entry(SMALL, id="D1"), entry(mistaken, id="D2")]))
    assert run() == 2
    assert [p.name for p in (here / "parity-results" / "records").iterdir()] == ["D1.json"]
    assert main(["report", "--check"]) == 0


def test_a_claim_that_fails_itself_exits_with_2_and_shows_where(monkeypatch, capsys):
    def mistaken(subject, reference, inputs):
        raise LookupError("a mistake in the claim")

    register(monkeypatch, Registry([entry(claim(measure=mistaken))]))
    assert run() == 2
    error = capsys.readouterr().err
    assert "in mistaken" in error
    assert "parity: D1/equal failed: LookupError: a mistake in the claim" in error


def test_several_ids_after_one_flag(monkeypatch, capsys):
    rows = [entry(SMALL, id=name) for name in ("D1", "D2", "D3")]
    agreement = entry(SMALL, id="symlog", kind="agreement")
    register(monkeypatch, Registry([*rows, agreement]))

    def chosen(*words):
        assert run("--json", *words) == 0
        return [r["entry"] for r in json.loads(capsys.readouterr().out)]

    assert chosen("--deviation", "d3", "D1", "--strict") == ["D3", "D1"]
    assert chosen("--deviation", "D3", "--deviation", "D1") == ["D3", "D1"]
    assert chosen("--deviation", "D2", "--agreement", "symlog") == ["D2", "symlog"]


def test_a_later_run_adds_to_the_earlier_one(here):
    assert run() == 0
    assert run("--live", "--deviation", "D1", "--pin", PIN) == 0
    records = json.loads((here / "parity-results/records/D1.json").read_text())
    sources = [(c["claim"], c["source"], c["pin"]) for c in records["claims"]]
    assert ("equal", "live", PIN) in sources
    assert ("equal", "recorded", PIN) in sources
    assert len(sources) == 4


def test_a_stale_recording_exits_with_1(monkeypatch, capsys):
    moved = {SYMLOG: lambda x, mode: {"y": TABLE[SYMLOG](x, mode)["y"] * 2}}
    monkeypatch.setattr(parity.references, "start_reference", lambda pin: Worker(moved))
    reference_only = claim(
        measure=lambda subject, reference, inputs: SMALL.measure(reference, None, inputs),
        tolerance=SMALL.tolerance,
        about="reference",
    )
    register(monkeypatch, Registry([entry(reference_only)]))
    assert run() == 0
    assert run("--live") == 1
    out = capsys.readouterr().out
    assert "1 HOLDS" in out
    assert f"STALE: {PIN} dreamerv3.symlog" in out


def interrupting(*_):
    raise KeyboardInterrupt


def test_an_interrupted_run_keeps_what_is_finished(here, monkeypatch, capsys):
    assert run() == 0
    before = (here / "parity-results/records/symlog.json").read_bytes()
    entries = [entry(SMALL), entry(claim("also", interrupting), id="symlog", kind="agreement")]
    register(monkeypatch, Registry(entries))
    assert run() == 130
    error = capsys.readouterr().err
    assert error == "parity: interrupted; 1 of 2 records are in parity-results/records\n"
    after = json.loads((here / "parity-results/records/D1.json").read_text())
    assert [c["claim"] for c in after["claims"]] == ["small"]
    assert (here / "parity-results/records/symlog.json").read_bytes() == before
