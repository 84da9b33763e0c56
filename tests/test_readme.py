"""The README shows what the tool prints."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from parity.cli import main
from parity.registry import load_registry
from reports.records import read_folder
from reports.terminal import print_summary

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
WIDTH = 98


def test_the_output_in_the_readme_is_what_the_published_records_print():
    record = read_folder(ROOT / "reports" / "records")["D23"]
    buffer = io.StringIO()
    print_summary(Console(file=buffer, width=WIDTH, no_color=True), [record])
    printed = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip()
    assert printed in README, f"put this into README.md:\n{printed}"


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_every_file_that_the_readme_links_exists(link):
    assert (ROOT / link).exists()


def test_the_first_claims_for_a_port_hold_for_one_that_is_right(tmp_path, monkeypatch, capsys):
    (command,) = re.findall(r"^parity (run --subject adapter\.py [a-z].*)$", README, re.M)
    monkeypatch.chdir(tmp_path)
    for path in Path(__file__).parent.glob("numpy_port*.py"):
        name = "adapter.py" if path.stem == "numpy_port" else path.name
        (tmp_path / name).write_bytes(path.read_bytes())
    assert main([*command.split(), "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["entry"] for record in records] == command.split()[3:]
    assert len(records) == 5
    verdicts = [claim["verdict"] for record in records for claim in record["claims"]]
    assert set(verdicts) == {"HOLDS"}


def test_saved_inputs_are_read_as_the_kit_s_readme_says(tmp_path, monkeypatch, capsys):
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "parity/README.md").read_text("utf-8"), re.S
    )
    (port,) = (block for block in blocks if block.startswith("# my_port.py"))
    (reading,) = (block for block in blocks if "np.load" in block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_port", raising=False)
    (tmp_path / "my_port.py").write_text(port.replace("np.log1p", "2 * np.log1p"))
    words = ["run", "--agreement", "symlog", "--subject", "my_port.py"]
    assert main([*words, "--save-inputs", "worst", "--quiet"]) == 1
    capsys.readouterr()
    exec(reading, names := {})
    assert "[" in capsys.readouterr().out
    np.testing.assert_allclose(names["answer"]["y"], 2 * names["saved"]["reference/y"], 1e-5, 1e-37)


def test_every_row_has_claims_as_the_readme_says():
    rows = [entry for entry in load_registry() if entry.kind == "deviation"]
    assert len(rows) > 30
    assert [row.id for row in rows if not row.claims] == []
