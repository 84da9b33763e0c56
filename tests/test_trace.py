"""Step parity: what is put to both sides, recorded and live traces, and the command."""

import json

import numpy as np
import pytest
from test_trace_compare import REFERENCE

from parity.cli import main
from parity.implementations import CannotMeasureError, InProcess
from parity.trace import report
from parity.trace.answers import RecordedAnswers
from parity.trace.dreamerv3 import reference as references
from parity.trace.dreamerv3.answers import DreamerRequests, LiveAnswers, recorded_answers
from parity.trace.dreamerv3.port import TRAINING_STEP, TracedPort
from parity.trace.dreamerv3.problem import make_noise, make_problem, make_rows
from parity.trace.dreamerv3.quantities import renamed
from parity.trace.dreamerv3.reference import ReferenceState
from parity.trace.dreamerv3.starts import start_from
from parity.trace.dreamerv3.subject import TracedCore
from parity.trace.dreamerv3.traced import TracedProblem
from parity.trace.run import Tracer
from reference_harness.recordings import RecordingError

RECORDED = "dreamerv3-29eb964"


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_a_batch_meets_what_it_is_meant_to(kind):
    problem = make_problem("tiny", kind)
    rows = make_rows(problem, 0)
    assert problem.batch != problem.length
    first, last, terminal = (rows[name] for name in ("is_first", "is_last", "is_terminal"))
    assert not first[0, 1]  # goes on from its context
    assert first[1, 1]  # begins an episode
    assert terminal[2].all()
    assert first[:, 2:-1].any()
    assert (last & ~terminal).any()
    assert not (terminal & ~last).any()
    assert not rows["action"][last].any()
    assert not rows["reward"][first].any()
    assert (np.abs(rows["action"]) > 1).any()
    other = make_rows(problem, 1)
    assert not np.array_equal(rows["vector"], other["vector"])
    np.testing.assert_array_equal(rows["vector"], make_rows(problem, 0)["vector"])


def fresh():
    """A state like the reference's, of two layers."""
    state = {name: np.zeros(shape, np.float32) for name, shape in REFERENCE.items()}
    state |= {
        name.replace("/critic/", "/slowcritic/"): value
        for name, value in state.items()
        if "/critic/" in name
    }
    counters = ("agent/opt/step/value", "agent/updater/updates/value")
    scalars = ("agent/retnorm/low/value", "agent/retnorm/high/value")
    state |= {name: np.asarray(0, np.int32) for name in counters}
    state |= {name: np.asarray(0, np.float32) for name in scalars}
    return ReferenceState(state, {})


def test_the_spread_start_leaves_no_parameter_alone_but_the_padding():
    state = start_from("spread", fresh()).state
    bias = state["agent/critic/dist/out/bias"]
    assert bias[-1] == 0
    assert not state["agent/critic/dist/out/kernel"][:, -1].any()
    parameters = [v for k, v in state.items() if k in REFERENCE or "slowcritic" in k]
    for value in parameters:
        body = value[..., :-1] if value.shape[-1] == 256 else value
        assert body.all()
        assert len(np.unique(body)) > 0.99 * body.size
    probs = np.exp(bias[:-1].astype(np.float64))
    probs /= probs.sum()
    assert probs[0] * 4.85e8 < 1  # the outermost bins hold nothing of weight
    slow = state["agent/slowcritic/dist/out/bias"]
    assert not np.array_equal(slow, bias)
    assert start_from("initial", fresh()).state["agent/opt/step/value"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pin", "dreamerv3-e3f0224"], "can not be traced"),
        (["--length", "1"], "give at least 2"),
        (["--start"], "needs at least one value"),
        (
            ["--steps", "3"],
            "this trace of dreamerv3-29eb964 was not recorded: only 29eb964 was, at size tiny",
        ),
        (["--seed", "5"], "was not recorded"),
        (["--subject", "absent.py"], "there is no file absent.py"),
        (["--subject", "absent.py", "--steps", "2"], "a port is asked for one step"),
        (["--subject", "absent.py", "--record"], "--record needs no subject"),
    ],
)
def test_a_mistake_is_explained(words, said, capsys):
    assert main(["trace", "dreamerv3", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("agent", "option"),
    [
        ("dreamerv3", "--steps"),
        ("dreamerv3", "--length"),
        ("tdmpc2", "--batch"),
        ("tdmpc2", "--seed"),
    ],
)
def test_a_number_that_is_not_whole_is_a_mistake_on_the_command_line(agent, option, capsys):
    assert main(["trace", agent, option, "2.5"]) == 2
    assert "it must be a whole number, not '2.5'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("digest", ["no manifest", "0" * 64])
def test_a_damaged_recording_names_the_command_that_records_traces(tmp_path, digest):
    name = f"{RECORDED}/provenance.json"
    manifest = {"format": 1, "files": {name: digest}} if digest.isdigit() else digest
    (tmp_path / "MANIFEST.json").write_text(json.dumps(manifest))
    (tmp_path / RECORDED).mkdir()
    (tmp_path / name).write_text("{}")
    requests = DreamerRequests(make_problem("tiny", "discrete"), True)
    command = f"with `parity trace dreamerv3 --pin {RECORDED} --record`"
    with pytest.raises(RecordingError, match=command):
        RecordedAnswers(RECORDED, requests, dict, "", tmp_path).check(["initial"], 1)


def test_a_negative_seed_is_a_mistake_on_the_command_line(capsys):
    assert main(["trace", "dreamerv3", "--seed", "-1"]) == 2
    assert "Must be >= 0" in capsys.readouterr().err


def test_without_the_reference_the_command_says_how_to_install_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WORLD_MODEL_PARITY_HOME", str(tmp_path))
    assert main(["trace", "dreamerv3", "--live"]) == 2
    assert "parity reference install" in capsys.readouterr().err


@pytest.fixture(scope="module")
def worker():
    try:
        worker = references.start("dreamerv3-29eb964")
    except CannotMeasureError as error:
        pytest.skip(str(error))
    yield worker
    worker.close()


def live(worker, problem, neutralise=True):
    answers = LiveAnswers(worker, problem, neutralise)
    return Tracer(
        TracedProblem(problem),
        answers,
        TracedCore(problem),
        neutralised=("D22",) if neutralise else (),
    )


@pytest.mark.reference
@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_the_core_takes_the_step_of_the_reference(worker, kind):
    tracer = live(worker, make_problem("tiny", kind))
    for start in ("initial", "spread"):
        trace = tracer.trace(start, 2)
        assert trace.first is None, "\n".join(report.verdict(trace))


@pytest.mark.reference
def test_left_as_it_is_row_d22_is_the_first_divergence(worker):
    trace = live(worker, make_problem("tiny", "discrete"), neutralise=False).trace("initial", 1)
    assert trace.first is not None
    assert (trace.first.quantity.name, trace.first.quantity.row) == ("rewards", "D22")


@pytest.fixture(scope="module")
def cores():
    """The core's programs take a while to compile; every test uses the same."""
    return {kind: TracedCore(make_problem("tiny", kind)) for kind in ("discrete", "continuous")}


def recorded(cores, kind, carried=lambda state: None):
    """A recorded trace; `carried` changes what the core's state is made from."""
    problem = make_problem("tiny", kind)

    class Carrying:
        name, partial = TracedCore.name, TracedCore.partial
        leaves = cores[kind].leaves
        names = cores[kind].names
        step = cores[kind].step

        def carried_over(self, reference, names):
            changed = ReferenceState(dict(reference.state), reference.carry)
            carried(changed.state)
            return cores[kind].carried_over(changed, names)

    answers = recorded_answers(RECORDED, problem, True)
    return Tracer(TracedProblem(problem), answers, Carrying()).trace("spread", 1)


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_the_core_takes_the_recorded_step(cores, kind):
    trace = recorded(cores, kind)
    assert trace.first is None, "\n".join(report.verdict(trace))
    assert trace.dropped == 34


def swap(state):
    first, second = "agent/dec/mlp1/bias", "agent/dec/mlp2/bias"
    state[first], state[second] = state[second], state[first]


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (swap, "decoded"),
        (lambda s: s.update({"agent/enc/mlp0/norm/scale": np.ones(16)}), "embed"),
        (lambda s: s.update({"agent/slowcritic/dist/out/bias": np.zeros(64)}), "slow_values"),
        (lambda s: s.update({"agent/retnorm/low/value": np.float32(0)}), "normaliser_low"),
        (lambda s: s.update({"agent/opt/step/value": np.int32(0)}), "parameter"),
        (lambda s: s.update({"agent/updater/updates/value": np.int32(0)}), "slow_critic"),
    ],
)
def test_a_wrong_state_is_found_where_it_first_shows(cores, fault, where):
    first = recorded(cores, "discrete", fault).first
    assert first is not None
    assert (first.quantity.group, first.suspect) == (where, "subject")


def whole_port(core, slow="slow_critic"):
    """The core as a port: it is told everything by the reference's names, and answers by them."""

    def training_step(parameters, normaliser, updates, batch, noise, **rest):
        critic = {k[7:]: v for k, v in parameters.items() if k.startswith("critic/")}
        tables = {"slow_critic": rest["slow_critic"], "critic": critic}
        state = {f"agent/{name}": value for name, value in parameters.items()}
        state |= {f"agent/slowcritic/{name}": value for name, value in tables[slow].items()}
        state |= {f"agent/retnorm/{end}/value": value for end, value in normaliser.items()}
        counters = ("agent/opt/step/value", "agent/updater/updates/value")
        reference = ReferenceState(state | dict.fromkeys(counters, np.int32(updates)), {})
        names = core.names(reference)
        found, _ = core.step(core.carried_over(reference, names), batch, noise)
        return renamed(found, {k: v.removeprefix("agent/") for k, v in names.names.items()})

    return InProcess("whole", {TRAINING_STEP: training_step})


@pytest.mark.parametrize(("slow", "where"), [("slow_critic", None), ("critic", "slow_values")])
def test_a_port_of_the_whole_step_is_traced_to_where_it_parts(cores, slow, where):
    problem = make_problem("tiny", "discrete")
    port = TracedPort(problem, whole_port(cores["discrete"], slow))
    answers = recorded_answers(RECORDED, problem, True)
    trace = Tracer(TracedProblem(problem), answers, port).trace("spread", 1)
    assert trace.not_offered == ()
    assert (trace.first and trace.first.quantity.name) == where
    assert "slow_critic/dist/out/kernel" in [d.quantity.name for d in trace.differences]


def test_the_draws_have_the_shapes_of_the_agent():
    problem = make_problem("tiny", "continuous")
    noise = make_noise(problem, 0)
    c, n = problem.config, problem.batch * problem.length
    assert noise["posterior"].shape == (problem.length, problem.batch, c.stoch, c.classes)
    assert noise["prior"].shape == (c.imag_horizon, n, c.stoch, c.classes)
    assert noise["action"].shape == (c.imag_horizon + 1, n, 2)
