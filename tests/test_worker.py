import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

import numpy as np
import psutil
import pytest

from reference_harness import worker_errors
from reference_harness.worker import Worker

if os.name != "posix":
    pytest.skip("workers need a POSIX system", allow_module_level=True)

OPERATIONS = Path(__file__).with_name("worker_operations")
PATIENCE = 10.0  # seconds in which a killed process must be gone, on a busy machine too
START_PATIENCE = 60.0


@pytest.fixture(scope="module")
def echo():
    with Worker("echo", sys.executable, OPERATIONS / "echo.py") as worker:
        yield worker


@pytest.fixture(scope="module")
def unruly():
    with Worker("unruly", sys.executable, OPERATIONS / "unruly.py", time_limit=20) as worker:
        yield worker


def surroundings(worker):
    answer = worker.ask("surroundings", {})
    return {
        name: json.loads(value.tobytes()) if value.ndim else int(value)
        for name, value in answer.items()
    }


def gone(pid):
    # A dead orphan is a zombie for as long as the system's first process leaves it one.
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def wait_until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {patience} s"
        time.sleep(0.02)


def pids_in(path):
    wait_until(path.exists, f"{path.name} written by the worker", START_PATIENCE)
    return [int(pid) for pid in path.read_text().split()]


def test_values_cross_unchanged(echo):
    sent = {
        "nan": np.array([0x7FC00001, 0xFF800123], np.uint32).view(np.float32),
        "empty": np.zeros((0, 3), np.int16),
        "scalar": np.array(1.5, np.float16),
        "strided": np.arange(12, dtype=np.uint64)[::-3],
    }
    answer = echo.ask("echo", {**sent, "rates": [1, float("-inf")]})
    for name, value in sent.items():
        assert (answer[name].dtype, answer[name].shape) == (value.dtype, value.shape)
        assert answer[name].tobytes() == value.tobytes()
    assert answer["rates"].tolist() == [1, -np.inf]


def test_large_arrays_cross_both_ways(echo):
    x = np.random.default_rng(0).integers(0, 256, 100_000_000, dtype=np.uint8)
    assert np.array_equal(echo.ask("echo", {"x": x})["x"], x)


def test_one_process_serves_a_batch(echo):
    assert len({surroundings(echo)["pid"] for _ in range(3)}) == 1


def test_identity_says_with_what_it_answers(echo):
    assert echo.identity.python == sys.version.split()[0]
    assert echo.identity.packages["numpy"] == np.__version__
    assert echo.identity.cpu
    assert echo.identity.operations == ("add", "echo", "surroundings")


def test_an_operation_that_is_not_offered_is_refused_here(echo):
    assert echo.offers("add")
    assert not echo.offers("ad")
    with pytest.raises(worker_errors.NotOfferedError, match=r"echo does not offer ad.*mean add?"):
        echo.ask("ad", {})


def test_inputs_that_can_not_be_sent_are_named(echo):
    with pytest.raises(
        worker_errors.InputsNotSendableError, match=r"inputs.x has the dtype object"
    ):
        echo.ask("echo", {"x": np.array([None])})


def test_only_harmless_or_given_variables_are_inherited(monkeypatch):
    for name in ("XLA_FLAGS", "JAX_PLATFORMS", "PYTHONPATH", "PYTHONWARNINGS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    given = {"GIVEN": "yes", "XLA_FLAGS": "--given"}
    with Worker("w", sys.executable, OPERATIONS / "echo.py", environment=given) as worker:
        seen = surroundings(worker)["environment"]
    assert given.items() <= seen.items()
    assert not seen.keys() & {"JAX_PLATFORMS", "PYTHONPATH", "PYTHONWARNINGS", "OMP_NUM_THREADS"}
    assert seen["PYTHONDONTWRITEBYTECODE"] == "1"
    assert seen["PATH"] == os.environ["PATH"]


def test_import_paths_come_first_and_nothing_else_of_ours_comes_along(tmp_path):
    (tmp_path / "echo_by_name.py").write_text("from echo import OPERATIONS\n")
    paths = (tmp_path, OPERATIONS)
    with Worker("w", sys.executable, "echo_by_name", import_paths=paths) as worker:
        seen = surroundings(worker)
    assert seen["path"][:2] == [str(tmp_path), str(OPERATIONS)]
    assert seen["ours"] == ["reference_harness", "reference_harness.protocol"]
    assert seen["arguments"] == []


def test_an_environment_without_numpy_does_not_borrow_ours(tmp_path):
    venv.create(tmp_path, symlinks=True)
    with (
        Worker("bare", tmp_path / "bin" / "python", OPERATIONS / "echo.py") as worker,
        pytest.raises(worker_errors.WorkerStartError, match="can not import numpy"),
    ):
        worker.offers("echo")


def test_prints_do_not_disturb_the_answer(unruly):
    answer = unruly.ask("chatter", {"x": np.arange(3)})
    assert answer["x"].tolist() == [0, 1, 2]
    assert answer["read"] == 0


@pytest.mark.parametrize(
    ("operation", "inputs", "sentence"),
    [
        ("fail", {"text": "first\nsecond"}, "unruly failed on fail: ValueError: first"),
        ("answer_objects", {}, "unruly failed on .*: outputs.wrong has the dtype object"),
        ("answer_nothing", {}, "unruly failed on .* with a dictionary of arrays, not with NoneTy"),
        ("fail", {"txt": ""}, "unruly failed on fail: TypeError: .*txt"),
        ("overwrite", {"x": np.zeros(2), "y": np.zeros(2)}, "it changed its input 'y'; operations"),
    ],
)
def test_a_failed_operation_leaves_the_worker_alive(unruly, operation, inputs, sentence):
    unruly.ask("chatter", {"x": 0})
    process = unruly._process
    with pytest.raises(worker_errors.OperationFailedError, match=sentence) as caught:
        unruly.ask(operation, inputs)
    assert "\n" not in caught.value.sentence
    assert caught.value.log.splitlines()[-1] in str(caught.value)
    assert unruly.ask("chatter", {"x": 1})["x"] == 1
    assert unruly._process is process


@pytest.mark.parametrize(
    ("operation", "inputs", "kind", "sentence", "log"),
    [
        ("abort", {}, "Crashed", "abort, was ended by SIGABRT before it answered", "in abort"),
        ("leave", {"status": 3}, "Crashed", "ended with exit status 3 before it answered", ""),
        ("fork_and_die", {}, "Crashed", "ended with exit status 7 before it answered", ""),
        ("scream", {}, "Crashed", "was ended by SIGABRT", "line 999"),
        ("speak_out_of_turn", {}, "Protocol", "no message .*'this is no message'", ""),
    ],
)
def test_a_lost_worker_is_explained_and_replaced(unruly, operation, inputs, kind, sentence, log):
    with pytest.raises(getattr(worker_errors, f"Worker{kind}Error"), match=sentence) as caught:
        unruly.ask(operation, inputs)
    assert log in caught.value.log
    assert len(caught.value.log.splitlines()) <= 20
    assert unruly.ask("chatter", {"x": 1})["x"] == 1


@pytest.mark.parametrize("hold_gil", [False, True])
def test_a_hung_operation_is_killed_with_its_children(tmp_path, hold_gil):
    pids = tmp_path / "pids"
    inputs = {"pids": str(pids), "grandchild": True, "hold_gil": hold_gil}
    with Worker("hung", sys.executable, OPERATIONS / "unruly.py", time_limit=1.5) as worker:
        assert worker.offers("hang")
        begin = time.monotonic()
        with pytest.raises(
            worker_errors.WorkerTimeoutError, match=r"hang, took longer than 1.5 s"
        ) as e:
            worker.ask("hang", inputs)
        assert time.monotonic() - begin < 1.5 + PATIENCE
        assert " in hang" in e.value.log  # where it was
        wait_until(lambda: all(map(gone, pids_in(pids))), "the end of the worker's processes")


def test_a_worker_that_does_not_read_can_not_block_the_writer(echo):
    with Worker("stopped", sys.executable, OPERATIONS / "echo.py", time_limit=1.0) as worker:
        pid = surroundings(worker)["pid"]
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(worker_errors.WorkerTimeoutError):
            worker.ask("echo", {"x": np.zeros(10_000_000)})
        wait_until(lambda: gone(pid), "the end of a stopped worker")


def test_the_death_of_the_guardian_is_the_end_of_the_worker(tmp_path):
    pids = tmp_path / "pids"
    killer = threading.Thread(target=lambda: os.kill(pids_in(pids)[1], signal.SIGKILL))
    killer.start()
    with (
        Worker("orphan", sys.executable, OPERATIONS / "unruly.py", time_limit=60) as worker,
        pytest.raises(worker_errors.WorkerCrashedError, match="SIGKILL"),
    ):
        worker.ask("hang", {"pids": str(pids), "grandchild": True, "hold_gil": True})
    killer.join()
    wait_until(lambda: all(map(gone, pids_in(pids))), "the end of the worker's processes")


@pytest.mark.parametrize(
    ("python", "operations", "complaint"),
    [
        ("/nowhere/bin/python", "echo.py", "/nowhere/bin/python can not be run .No such file"),
        (__file__, "echo.py", "can not be run .Permission denied"),
        ("/bin/echo", "echo.py", "ended with exit status 0 before it answered"),
        (sys.executable, "lost_package.py", "lacks what provides a_package_that_nobody_has"),
        (sys.executable, "no_table.py", "has no dictionary OPERATIONS"),
        (sys.executable, "no_file.py", "No such file or directory: .*no_file.py"),
    ],
)
def test_a_start_that_fails_names_the_cause_and_the_way_out(python, operations, complaint):
    way_out = "run `repair w`"
    with Worker("w", python, OPERATIONS / operations, way_out=way_out) as worker:
        with pytest.raises(worker_errors.WorkerStartError, match=complaint) as caught:
            worker.offers("echo")
        assert caught.value.sentence.startswith("w did not start: ")
        assert caught.value.sentence.endswith(way_out)
        with pytest.raises(worker_errors.WorkerStartError) as again:
            worker.ask("echo", {})
        assert again.value is caught.value  # the start is not tried again


def test_a_start_has_a_limit(tmp_path):
    (tmp_path / "slow.py").write_text("import time; time.sleep(1000)")
    with (
        Worker("slow", sys.executable, tmp_path / "slow.py", start_limit=0.5) as worker,
        pytest.raises(worker_errors.WorkerStartError, match=r"longer than 0.5 s"),
    ):
        worker.offers("echo")


def test_nothing_is_left_after_close(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Worker("w", sys.executable, OPERATIONS / "echo.py") as worker:
        pid = surroundings(worker)["pid"]
        guardian = psutil.Process(pid).ppid()
        assert guardian in {child.pid for child in psutil.Process().children()}
    assert not psutil.pid_exists(pid)
    assert not psutil.pid_exists(guardian)
    assert list(tmp_path.iterdir()) == []
    worker.close()
    with pytest.raises(RuntimeError, match="after it had been closed"):
        worker.ask("echo", {})


def test_a_forgotten_worker_is_ended():
    worker = Worker("w", sys.executable, OPERATIONS / "echo.py")
    pid = surroundings(worker)["pid"]
    del worker
    gc.collect()
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_its_owner(tmp_path, number):
    pids = tmp_path / "pids"
    owner = subprocess.Popen(
        [sys.executable, OPERATIONS / "owner.py", pids],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert owner.stdout
    heir = int(owner.stdout.readline())
    try:
        below = pids_in(pids)
        assert len(below) == 3
        assert not any(map(gone, below))
        os.kill(owner.pid, number)
        wait_until(lambda: all(map(gone, below)), "the end of the owner's worker")
        assert owner.wait(PATIENCE) == -number
        assert not gone(heir)  # that a fork of the owner lives on does not matter
    finally:
        os.kill(heir, signal.SIGKILL)
        owner.kill()
        _, errors = owner.communicate()
    assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
