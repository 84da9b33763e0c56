"""What `parity` tells of itself: entries, operations, the schema and its own commands."""

import json
import subprocess
import sys

import pytest
from command_line import register
from small_registry import OTHER_PIN, PIN, REGISTRY, claim, entry

from parity.cli import main
from parity.operations import catalogue
from parity.registry import Registry, Source

pytestmark = pytest.mark.usefixtures("here")


def listed(capsys, *words):
    assert main(["list", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_list_has_the_rows_then_the_agreements_by_part(monkeypatch, capsys):
    losses = entry(claim(operations=("dreamerv3.kl_losses",)), id="kl", kind="agreement")
    rows = [entry(id="T9"), entry(claim(), id="D2")]
    register(monkeypatch, Registry([losses, *rows, *REGISTRY]))
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "entry   agent      claims  title",
        "",
        "Deviations",
        "T9      DreamerV3       0  Symlog",
        "D2      DreamerV3       1  Symlog",
        "D1      DreamerV3       2  Symlog",
        "",
        "Agreements: numerics",
        "symlog  DreamerV3       1  Symlog",
        "",
        "Agreements: losses",
        "kl      DreamerV3       1  Symlog",
    ]
    assert [row["id"] for row in listed(capsys, "--measured")] == ["D2", "D1", "symlog", "kl"]
    assert [row["id"] for row in listed(capsys, "KL_losses")] == ["kl"]
    assert listed(capsys, "--agent", "TD-MPC2") == []
    assert listed(capsys)[2]["claims"] == ["equal", "small"]


def test_the_catalogue_can_be_listed_and_searched(capsys):
    names = [row["name"] for row in listed(capsys, "--operations")]
    assert names == list(catalogue())
    assert [row["part"] for row in listed(capsys, "--operations", "kl_losses")] == ["losses"]
    of_one = [row["name"] for row in listed(capsys, "--operations", "--agent", "TD-MPC2")]
    assert of_one == [name for name in names if name.startswith("tdmpc2.")] != []
    assert main(["list", "--operations", "symlog"]) == 0
    out = capsys.readouterr().out
    assert "numerics" in out
    assert "sign(x) · ln(1 + |x|)" in out


def test_show_has_the_claims_of_an_entry_and_addresses_of_its_sources(monkeypatch, capsys):
    source = Source(PIN, "dreamerv3/nets.py", "467-476")
    register(monkeypatch, Registry([entry(claim(), sources=(source,))]))
    assert main(["show", "d1"]) == 0
    out = capsys.readouterr().out
    assert "Tolerance: bit-identical" in out
    assert "Operations: dreamerv3.symlog" in out
    assert f"    {source.url}\n" in out


@pytest.mark.parametrize("words", [["dreamerv3.symlog"], ["--operation", "symlog"]])
def test_show_has_the_signature_of_an_operation(words, capsys):
    assert main(["show", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["dreamerv3.symlog", "sign(x) · ln(1 + |x|)"]
    assert "  x: float32 [B]; any scalar" in lines
    assert "  mode: 'eager' or 'compiled'; how the computation is run" in lines
    assert "  y: float32 [B]; symlog of x" in lines
    assert f"Recorded answers of: {PIN}, {OTHER_PIN}" in lines
    assert "Claims that ask for it: D1/equal, D1/small, symlog/also" in lines


def test_schema_is_the_record_s(capsys):
    assert main(["schema"]) == 0
    assert "EntryRecord" in json.loads(capsys.readouterr().out)["$defs"]


@pytest.mark.parametrize(
    "command",
    ["run", "list", "show", "fuzz", "sensitivity", "trace", "record", "report", "schema"],
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
