"""`parity report`, and the documents of a run."""

import dataclasses

import pytest
from command_line import register, run
from small_registry import REGISTRY, claim, entry

from parity.cli import main
from parity.registry import Registry

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
