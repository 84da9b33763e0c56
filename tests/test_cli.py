"""The `parity` command: exit statuses, what it prints, and what it leaves behind."""

import contextlib
import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from small_registry import PIN, REGISTRY, SMALL, SOUND, SYMLOG, TABLE, Worker, claim, entry

import parity.faults
import parity.references
import parity.registry
import parity.subjects
from parity.cli import main
from parity.recorder import record
from parity.references import References
from parity.registry import Registry
from reference_harness.recorder import Recorder

SUBJECT = """
import numpy as np
NAME = "theirs"
def symlog(x, mode):
    return {"y": np.sign(x) * np.log1p(np.abs(x))}
OPERATIONS = {"dreamerv3.symlog": symlog}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with recordings of the small registry, and a sound subject."""
    monkeypatch.chdir(tmp_path)
    register(monkeypatch, REGISTRY)
    monkeypatch.setattr(parity.references, "start_reference", lambda pin: Worker())
    with References("live", None, start=lambda pin: Worker()) as references:
        record(REGISTRY, SOUND, references, command="", folder=tmp_path / "recordings")
    (tmp_path / "theirs.py").write_text(SUBJECT)
    return tmp_path


def register(monkeypatch, registry):
    monkeypatch.setattr(parity.registry, "load_registry", lambda: registry)


def run(*words, subject="theirs.py"):
    return main(["run", "--subject", subject, "--recordings", "recordings", *words])


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


def test_what_is_not_measured_fails_only_if_strict(here, monkeypatch):
    (here / "theirs.py").write_text(SUBJECT.replace("dreamerv3.symlog", "dreamerv3.symexp"))
    assert run() == 0
    assert run("--strict") == 1
    register(monkeypatch, Registry([entry()]))  # an entry without claims
    assert run() == 0
    assert run("--strict") == 1


def test_a_damaged_recording_exits_with_2_and_names_the_way_out(here, capsys):
    path = next((here / "recordings" / PIN / "answers").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    assert run() == 2
    captured = capsys.readouterr()
    assert path.name in captured.err
    assert "parity record" in captured.err
    assert "Traceback" not in captured.err


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
        (["show", "D99"], "no entry is called 'D99'; did you mean D1?"),
        (["fuzz", "D1"], "D1 has no claim with a search"),
        (["fuzz", "D1", "--claim", "smal"], "no claim of D1 is called 'smal'"),
        (["report"], "`parity run` writes it"),
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


def test_a_subject_may_be_a_module_of_the_working_directory(here, capsys):
    (here / "my_port.py").write_text(SUBJECT.replace('NAME = "theirs"', ""))
    assert run("--json", subject="my_port") == 0
    assert json.loads(capsys.readouterr().out)[0]["provenance"]["subject"] == "my_port"


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


def test_a_later_run_adds_to_the_earlier_one(here):
    assert run() == 0
    assert run("--live", "--deviation", "D1", "--pin", PIN) == 0
    records = json.loads((here / "parity-results/records/D1.json").read_text())
    sources = [(c["claim"], c["source"], c["pin"]) for c in records["claims"]]
    assert ("equal", "live", PIN) in sources
    assert ("equal", "recorded", PIN) in sources
    assert len(sources) == 4


def test_a_damaged_record_is_refused_before_anything_is_measured(here, capsys):
    path = here / "parity-results" / "records" / "D1.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert run() == 2
    assert "delete it" in capsys.readouterr().err
    assert list(path.parent.iterdir()) == [path]


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


def test_report_check_notices_an_edit(here, capsys):
    assert run() == 0
    document = here / "parity-results" / "deviations.md"
    assert main(["report", "--check"]) == 0
    document.write_text(document.read_text().replace("HOLDS", "SHINES"))
    capsys.readouterr()
    assert main(["report", "--check"]) == 1
    captured = capsys.readouterr()
    assert "parity report" in captured.err
    assert "SHINES" in captured.out
    assert len(captured.out.splitlines()) <= 21
    assert main(["report"]) == 0
    assert main(["report", "--check"]) == 0


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


def test_fuzz_exits_with_1_where_it_breaks_a_claim(monkeypatch, capsys):
    from test_fuzz import numbers

    searched = [
        claim("equal", search=numbers),
        claim("small", SMALL.measure, tolerance=SMALL.tolerance, about="subject", search=numbers),
    ]
    register(monkeypatch, Registry([entry(*searched)]))
    words = ["fuzz", "D1", "--subject", "theirs.py", "--examples", "50"]
    assert main([*words, "--claim", "equal"]) == 0
    assert f"D1/equal at {PIN}: HOLDS after 50 examples" in capsys.readouterr().out
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "D1/small: BROKEN" in out
    assert "    x = " in out

    def absent(pin):
        raise parity.references.CannotMeasureError(f"{pin} is not installed")

    monkeypatch.setattr(parity.references, "start_reference", absent)
    assert main([*words, "--claim", "equal"]) == 0
    assert "not installed" in capsys.readouterr().out
    assert main([*words, "--claim", "equal", "--live"]) == 2


def test_list_and_show(capsys):
    assert main(["list"]) == 0
    assert "D1      DreamerV3  deviation       2  Symlog" in capsys.readouterr().out
    assert main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["claims"]) for row in rows] == [
        ("D1", ["equal", "small"]),
        ("symlog", ["also"]),
    ]
    assert main(["show", "d1"]) == 0
    out = capsys.readouterr().out
    assert "Tolerance: bit-identical" in out
    assert "Operations: dreamerv3.symlog" in out


def test_schema_is_the_record_s(capsys):
    assert main(["schema"]) == 0
    assert "EntryRecord" in json.loads(capsys.readouterr().out)["$defs"]


@pytest.mark.parametrize(
    "command", ["run", "list", "show", "fuzz", "sensitivity", "record", "report", "schema"]
)
def test_every_command_explains_itself_with_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"Example: parity {command}" in capsys.readouterr().out


def test_the_overview_names_every_command_and_the_exit_statuses(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    for word in ("run", "reference", "sensitivity", "Exit status"):
        assert word in out


def test_listing_imports_nothing_heavy():
    heavy = ["jax", "flax", "scipy", "hypothesis", "matplotlib", "jinja2", "core"]
    program = (
        "import sys; from parity.cli import main; status = main(['list']); "
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr); "
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "D22" in done.stdout
