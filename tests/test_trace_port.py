"""Step parity of somebody's port, through the example that the README gives."""

import json
import re
import sys
from pathlib import Path

import pytest

from parity.cli import main

README = Path(__file__).parent.parent / "parity" / "README.md"
PORT = re.search(r"```python\n(# traced_port\.py\n.*?)```", README.read_text("utf-8"), re.S)[1]


@pytest.fixture
def trace(tmp_path, monkeypatch, capsys):
    """Traces the example after a change: the exit status, and what was found from one start."""
    monkeypatch.chdir(tmp_path)

    def run(old="", new="", *words):
        assert old in PORT
        (tmp_path / "traced_port.py").write_text(PORT.replace(old, new) if old else PORT)
        command = ["trace", "dreamerv3", "--subject", "traced_port.py", "--discrete"]
        status = main([*command, "--start", "spread", "--json", *words])
        captured = capsys.readouterr()
        return status, json.loads(captured.out)[0] if captured.out else captured.err

    return run


@pytest.mark.parametrize("elsewhere", [[], ["--subject-python", sys.executable]])
def test_a_right_port_is_compared_in_what_it_offers(trace, elsewhere):
    status, found = trace("return", "print('asked'); return", *elsewhere)
    assert (status, found["subject"]) == (0, "traced_port")
    (embed,) = found["differences"]
    assert (embed["quantity"], embed["compared"], embed["diverges"]) == ("embed", 448, False)
    assert embed["different"] > 0  # it is not the reference's own array
    assert {"deter", "gradient/enc/mlp0/kernel", "slow_critic/dist/out/bias"} <= set(
        found["not_offered"]
    )


def test_a_seeded_fault_is_found_with_its_place(trace):
    status, found = trace("1e-4", "1e-3")
    first = found["first_divergence"]
    assert (status, first["quantity"], first["suspect"]) == (1, "embed", "subject")
    assert len(first["place"]) == 3
    assert abs(first["subject"] - first["float64"]) > 100 * abs(
        first["reference"] - first["float64"]
    )


def test_trees_have_the_reference_s_names_without_the_padding(trace):
    """Biases are carried over as they are: one that is answered as its own successor is near."""
    answer = '{f"parameter/{k}": v for k, v in parameters.items() if k.endswith("out/bias")}'
    status, found = trace('{"embed": x}', answer)
    assert status == 1  # a step moves them
    compared = {d["quantity"]: d["compared"] for d in found["differences"]}
    assert compared["parameter/critic/dist/out/bias"] == 63  # of the reference's 64
    assert compared["parameter/actor/action/out/bias"] == 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"embed"', '"embd"', "'embd', which is no quantity of a step; did you mean embed?"),
        ('{"embed": x}', '{"embed": x.tolist()}', "'embed' as list; give a numpy array"),
        ('{"embed": x}', "{}", "with nothing at all"),
        ("    return", "    raise KeyError('mine')  #", "KeyError: 'mine'"),
        ("dreamerv3.training_step", "dreamerv3.symlog", "does not offer dreamerv3.training_step"),
    ],
)
def test_an_answer_that_can_not_be_compared_is_explained(trace, old, new, said):
    status, error = trace(old, new)
    assert status == 2
    assert said in error.splitlines()[-1]


def test_another_shape_diverges(trace):
    status, found = trace('{"embed": x}', '{"embed": x[:, :-1]}')
    assert status == 1
    problem = found["first_divergence"]["problem"]
    assert problem == "it has the shape (4, 6, 16), the reference's (4, 7, 16)"


def test_what_a_port_changes_of_its_inputs_reaches_nobody(trace):
    changing = "parameters['enc/mlp0/kernel'] *= 2; return"
    status, found = trace("    return", f"    {changing}", "--start", "initial")
    assert status == 0, found


def test_the_signature_lists_inputs_and_quantities_in_order(capsys):
    assert main(["trace", "dreamerv3", "--quantities", "--discrete"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "    enc/mlp0/kernel: float32 [4, 16]" in lines
    assert "    critic/dist/out/bias: float32 [63]" in lines
    assert "  updates: 0" in lines
    places = [
        next(i for i, line in enumerate(lines) if line.startswith(f"  {name}: float32"))
        for name in ("embed", "returns", "gradient/enc/mlp0/kernel", "slow_critic/h0/bias")
    ]
    assert places == sorted(places)
    assert "; the encoder's output" in lines[places[0]]
