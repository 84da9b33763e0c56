"""Step parity of TD-MPC2: the recorded reference, and whether a wrong state or step shows."""

import functools
import json

import numpy as np
import pytest

from core.tdmpc2.config import ERAS
from parity.cli import main
from parity.implementations import InProcess
from parity.registry import load_registry
from parity.trace import report
from parity.trace.run import Tracer
from parity.trace.sides import NameMapError
from parity.trace.tdmpc2.answers import recorded_answers
from parity.trace.tdmpc2.names import NETWORKS, match, translate
from parity.trace.tdmpc2.port import TRAINING_STEP, TracedPort
from parity.trace.tdmpc2.problem import make_batch, make_problem
from parity.trace.tdmpc2.quantities import renamed
from parity.trace.tdmpc2.reference import ReferenceState
from parity.trace.tdmpc2.subject import TracedCore
from parity.trace.tdmpc2.traced import ROWS, TracedProblem

PIN = "5f6fade"


@functools.cache
def core(multitask):
    """The core's side, compiled once for all tests."""
    return TracedCore(make_problem(PIN, multitask=multitask))


def traced(multitask=False, start="spread", subject=None):
    problem = make_problem(PIN, multitask=multitask)
    answers = recorded_answers(f"tdmpc2-{PIN}", problem)
    return Tracer(TracedProblem(problem), answers, subject or core(multitask)).trace(start, 1)


@pytest.mark.parametrize("multitask", [False, True], ids=["one", "several"])
def test_the_core_takes_the_recorded_step(multitask):
    found = traced(multitask)
    assert found.first is None, "\n".join(report.lines(found, PIN))
    assert {"plan_elites", "policy_loss", "updates"} <= {d.quantity.name for d in found.differences}
    assert ("gradient/tasks" in [d.quantity.name for d in found.differences]) == multitask


def test_an_agent_that_predicts_ends_takes_the_recorded_step():
    """Row T29. Were no end predicted, the plan would be the first to show it."""
    problem = make_problem("e9f5932", episodic=True)
    side, answers = TracedCore(problem), recorded_answers("tdmpc2-e9f5932", problem)

    def taken(subject):
        return Tracer(TracedProblem(problem), answers, subject).trace("spread", 1)

    found = taken(side)
    assert found.first is None, "\n".join(report.lines(found, "e9f5932"))
    wanted = {"termination_logits", "termination_loss", "gradient/termination/out/kernel"}
    assert wanted <= {d.quantity.name for d in found.differences}

    def never(state):
        head = state.params.model.termination
        out = {**head["out"], "bias": head["out"]["bias"] - 99}
        return with_model(state, termination={**head, "out": out})

    first = taken(Changed(side, never)).first
    assert first is not None
    assert first.quantity.name == "plan_actions"  # those of the second iteration


def test_a_plan_of_a_fresh_agent_is_compared_up_to_where_rounding_decides():
    found = traced(start="initial")
    assert found.first is None
    assert [n for d in found.differences if (n := d.quantity.name).startswith("plan_")] == [
        "plan_latent"
    ]


def test_differences_of_an_era_are_told_as_registered_rows():
    registry = load_registry()
    assert set(ROWS) == {key for era in ERAS.values() for key in era}
    for key, row in ROWS.items():
        assert f"{key}=" in registry[row].subject
    head = TracedProblem(make_problem("e9f5932"))
    assert "of this era, row T30: q_dropout = training, in the paper's always" in head.notes
    assert head.as_json()["rows_of_the_era"] == ["T33", "T31", "T35", "T30"]
    assert TracedProblem(make_problem(PIN)).notes == []


class Changed:
    """The core, from a state that was carried over wrongly."""

    name, partial = "changed", False

    def __init__(self, side, change):
        self.leaves, self.names, self.step = side.leaves, side.names, side.step
        self._side, self._change = side, change

    def carried_over(self, reference, names):
        return self._change(self._side.carried_over(reference, names))


def with_model(state, **parts):
    return state._replace(params=state.params._replace(model=state.params.model._replace(**parts)))


@pytest.mark.parametrize(
    ("change", "where", "multitask"),
    [
        (lambda s: s._replace(target_q=s.params.model.q), "target_values", False),
        (lambda s: s._replace(scale=s.scale + 0.1), "scale", False),
        # The paper's era clips by a norm with the policy's last gradient, which is left out here.
        (lambda s: s._replace(policy_gradient_norm=0 * s.scale), "gradient_norm", False),
        # The plan of the third task reads a vector that is shortened either way.
        (lambda s: with_model(s, tasks=2 * s.params.model.tasks), "next_latents", True),
    ],
)
def test_what_is_carried_over_wrongly_is_found_where_it_first_acts(change, where, multitask):
    first = traced(multitask, subject=Changed(core(multitask), change)).first
    assert first is not None
    assert first.quantity.name == where


def as_port(problem, change):
    """The core as a port: it is told everything by plain names, and answers by them."""
    side = core(multitask=True)

    def training_step(parameters, target_q, left_over, scale, updates, batch, noise, **rest):
        state = {f"parameter/{theirs(k)}": v for k, v in parameters.items()}
        state |= {f"parameter/target_{theirs(k)[2:]}": v for k, v in target_q.items()}
        state |= {f"left_over/{theirs(k)}": v for k, v in left_over.items()}
        reference = ReferenceState(state | {"scale": scale, "updates": np.int64(updates)})
        names = side.names(reference)
        before = change(side.carried_over(reference, names))
        batch |= {f"plan/{k}": v for k, v in rest["plan"].items()}
        noise |= {f"plan/{k}": v for k, v in rest["plan_noise"].items()}
        found, _ = side.step(before, batch, noise)
        return renamed(found, {name: name.replace("/affine/", "/") for name in names.names})

    return TracedPort(problem, InProcess("port", {TRAINING_STEP: training_step}))


def theirs(name):
    network, _, leaf = name.partition("/")
    return "_".join([NETWORKS.get(network, network), *leaf.split("/")]) if leaf else name


@pytest.mark.parametrize(
    ("change", "where"),
    [(lambda s: s, None), (lambda s: s._replace(target_q=s.params.model.q), "target_values")],
)
def test_a_port_is_traced_to_where_it_parts(change, where):
    port = as_port(make_problem(PIN, multitask=True), change)
    found = traced(multitask=True, subject=port)
    assert found.not_offered == ()
    assert (found.first and found.first.quantity.name) == where
    assert "target_q/q/out/kernel" in [d.quantity.name for d in found.differences]


def test_a_port_of_one_quantity_is_compared_in_it(tmp_path, capsys):
    port = tmp_path / "port.py"
    port.write_text(
        "def training_step(updates, **rest):\n"
        "    import numpy as np\n"
        "    return {'updates': np.int64(updates + 1)}\n"
        "OPERATIONS = {'tdmpc2.training_step': training_step}\n"
    )
    command = ["trace", "tdmpc2", "--single", "--start", "spread", "--subject", str(port)]
    assert main([*command, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [d["quantity"] for d in found["differences"]] == ["updates"]
    assert "gradient/encoder/out/kernel" in found["not_offered"]
    port.write_text(port.read_text().replace("+ 1", "+ 2"))
    assert main([*command, "--json"]) == 1


def test_the_signature_lists_inputs_and_quantities(capsys):
    assert main(["trace", "tdmpc2", "--quantities", "--single"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "    encoder/hidden0/kernel: float32 [9, 8]" in lines
    assert "  plan_latent: float32 [12]; the encoded observation" in lines


def test_names_are_one_to_one():
    assert translate("encoder/out/affine/kernel") == "enc_out_kernel"
    assert translate("q/hidden0/scale") == "q_hidden0_scale"
    shapes = {"policy/out/kernel": (3, 4), "tasks": (3, 2)}
    theirs = {"pi_out_kernel": (3, 4), "tasks": (3, 2)}
    assert match(shapes, theirs).names == {"policy/out/kernel": "pi_out_kernel", "tasks": "tasks"}
    for core_side, reference, said in (
        (shapes, {"tasks": (3, 2)}, "which the reference lacks"),
        ({}, theirs, "nothing in the core is pi_out_kernel"),
        ({"tasks": (2, 2)}, {"tasks": (3, 2)}, "has the shape"),
        ({"value/out/kernel": (1,)}, {}, "no rule says"),
    ):
        with pytest.raises(NameMapError, match=said):
            match(core_side, reference)


def test_sequences_of_several_tasks_are_padded_and_leave_one_task_out():
    problem = make_problem(PIN, multitask=True)
    found = make_batch(problem, 0)
    assert set(found["task"]) <= {0, 1}
    second = found["task"] == 1
    width = problem.tasks.observation_sizes[1]
    assert np.all(found["observation"][:, second, width:] == 0)
    assert np.all(found["observation"][:, second, :width] != 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pin", "dreamerv3-29eb964"], "is no pin of tdmpc2"),
        (["--episodic"], "has no episodic mode; give one of eece801, e9f5932"),
        (["--seed", "3"], "was not recorded"),
        (["--size", "5"], "add --live"),
        (["--start"], "needs at least one value"),
    ],
)
def test_a_mistake_is_explained(words, said, capsys):
    assert main(["trace", "tdmpc2", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
