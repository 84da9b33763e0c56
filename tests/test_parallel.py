"""`parity run` by several processes gives what one gives."""

import json

import pytest

from parity import parallel
from parity.cli import main


def measured(capsys, *words):
    assert main(["run", "symlog", "symexp", "--json", *words]) == 0
    records = json.loads(capsys.readouterr().out)
    for record in records:
        del record["provenance"]["created"]
        for claim in record["claims"]:
            del claim["seconds"]
    return records


def test_two_processes_measure_what_one_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = measured(capsys, "--jobs", "1")
    two = measured(capsys, "--jobs", "2")
    assert [record["entry"] for record in one] == ["symlog", "symexp"]
    assert two == one
    files = sorted(path.name for path in (tmp_path / "parity-results/records").iterdir())
    assert files == ["symexp.json", "symlog.json"]


PORT = """
import numpy as np
OPERATIONS = {
    "dreamerv3.symlog": lambda x, mode: {"y": np.log1p(x).astype(np.float32)},
    "dreamerv3.symexp": lambda x, mode: {"y": np.expm1(x).astype(np.float32)},
}
"""


def test_what_is_broken_in_another_process_is_told_and_saved(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "port.py").write_text(PORT)
    words = ["run", "symlog", "symexp", "--subject", "port.py", "--quiet"]
    told = []
    for jobs in ("1", "2"):
        assert main([*words, "--jobs", jobs, "--save-inputs", f"worst{jobs}"]) == 1
        told.append(capsys.readouterr().out.replace(f"worst{jobs}", "worst"))
    assert told[0] == told[1]
    saved = [sorted(path.name for path in tmp_path.glob(f"worst{jobs}/*")) for jobs in (1, 2)]
    assert saved[0] == saved[1] != []


@pytest.mark.parametrize("jobs", ["0", "1.5", "two"])
def test_a_number_of_processes_that_is_none_is_a_mistake(jobs, capsys):
    assert main(["run", "symlog", "--jobs", jobs]) == 2
    assert "--jobs" in capsys.readouterr().err


def test_a_process_more_is_started_where_there_is_enough_to_measure(monkeypatch):
    monkeypatch.setattr(parallel, "usable_cores", lambda: 4)
    assert parallel.suggested(400, 50, "recorded") == 4
    assert parallel.suggested(149, 50, "recorded") == 2
    assert parallel.suggested(400, 50, "live") == 1
    assert parallel.suggested(0, 50, "recorded") == 1


def test_two_processes_seed_what_one_does(capsys):
    found = []
    for jobs in ("1", "2"):
        assert main(["sensitivity", "--fault", "X300", "X301", "--json", "--jobs", jobs]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert [result["fault"] for result in found[0]] == ["X300", "X301"]
    assert found[0] == found[1]
