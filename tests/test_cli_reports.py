"""`parity report`, and the documents of a run."""

import dataclasses
import json

import pytest
from command_line import register, run
from small_registry import REGISTRY, claim, entry

from parity.cli import main
from parity.registry import Registry
from reports.records import read_folder

pytestmark = pytest.mark.usefixtures("here")


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


def test_a_row_of_somebody_else_is_in_the_documents_of_who_measured_it_alone(here, monkeypatch):
    assert run() == 0
    guest = dataclasses.replace(entry(claim(), id="X1"), title="A guest")
    register(monkeypatch, Registry([*REGISTRY, guest], guests=["X1"]))
    assert main(["report", "--check"]) == 0
    assert run("X1") == 0
    assert main(["report", "--check"]) == 0
    assert "A guest" in (here / "parity-results" / "deviations.md").read_text()
    register(monkeypatch, Registry([*REGISTRY, guest]))  # a row of ours may not be left out
    (here / "parity-results" / "records" / "X1.json").unlink()
    assert main(["report", "--check"]) == 1


def test_what_lacks_a_package_here_keeps_its_record_and_the_output_says_so(here, capsys):
    assert run() == 0
    records = here / "parity-results" / "records"
    before = records_of(records)
    subject = here / "theirs.py"
    lacking = "from parity.implementations import NotHereError\n" + subject.read_text()
    lacking = lacking.replace(
        "    return", "    raise NotHereError('it needs a package')\n    return"
    )
    subject.write_text(lacking)
    capsys.readouterr()
    assert run() == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "4 NOT MEASURED" in printed
    assert "as measured earlier: D1/equal, D1/small, symlog/also (not here: it needs a" in printed
    assert records_of(records) == before
    # An operation that is offered no longer is another matter.
    subject.write_text(subject.read_text().replace('symlog"', 'symexp"'))
    assert run() == 0
    assert {verdict for _, verdict in records_of(records)} == {"NOT MEASURED"}


def records_of(folder):
    read = read_folder(folder).values()
    return [(claim.key, claim.verdict) for record in read for claim in record.claims]


@pytest.mark.parametrize("figure", ["nan", 7.0, None])
def test_a_record_that_holds_with_other_figures_than_its_tolerance_is_refused(here, capsys, figure):
    assert run() == 0
    path = here / "parity-results" / "records" / "D1.json"
    record = json.loads(path.read_text())
    edited = next(one for one in record["claims"] if one["claim"] == "equal")
    edited["low"] = edited["high"] = figure
    path.write_text(json.dumps(record))
    assert main(["report"]) == main(["report", "--check"]) == 2
    assert "D1.json says that equal HOLDS, and its figures are not" in capsys.readouterr().err
