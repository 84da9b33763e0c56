"""The whole training program in a fresh process: how long it compiles, how fast it runs.

    python -m benchmarks.program '{"agent": "dreamerv3", "case": "cartpole", ...}'

Prints one JSON object; see `Question` and `Answer`.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.sides import Say
from benchmarks.timing import timed


@dataclasses.dataclass(frozen=True)
class Question:
    """One program.

    Attributes:
        agent: dreamerv3 or tdmpc2; `benchmarks.<agent>.problems` has its `training`.
        case: A key of that module's `CASES`.
        cache: The folder of compiled programs.
        seeds: Runs side by side.
        ticks: How many to time; 0 only compiles.
        devices: Host devices that the seeds are spread over.
    """

    agent: str
    case: str
    cache: str
    seeds: int = 1
    ticks: int = 0
    devices: int = 1


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came out.

    Attributes:
        compile_seconds: To trace and compile the program, or to find it in the cache.
        start_seconds: From the start of the process to the compiled program, imports and the
            initial state included.
        row_bytes: Memory of one row in the replay.
        rows_per_second: Of each seed, once updates run; None if nothing was run.
        updates_per_second: Likewise.
        cores: How many were busy on average; likewise.
    """

    compile_seconds: float
    start_seconds: float
    row_bytes: float
    rows_per_second: float | None = None
    updates_per_second: float | None = None
    cores: float | None = None


class Training(NamedTuple):
    """A training program to be timed.

    Attributes:
        train: From the agent's `make_train`.
        rows_per_tick: Of each seed.
        row_bytes: Of a seed's replay, as shapes, to the memory of one row.
    """

    train: Any
    rows_per_tick: int
    row_bytes: Callable[[Any], float]


def measure(question: Question) -> Answer:
    """Answers in a fresh process."""
    environment = dict(os.environ)
    if question.devices > 1:
        flag = f"--xla_force_host_platform_device_count={question.devices}"
        environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {flag}"
    command = [sys.executable, "-m", "benchmarks.program"]
    command.append(json.dumps(dataclasses.asdict(question)))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return Answer(**json.loads(done.stdout.splitlines()[-1]))


def programs(
    agent: str, case: str, name: str, ticks: int, seeds: int, say: Say
) -> dict[str, Answer]:
    """The program compiled without and with a cache, and run; one seed and several.

    Args:
        agent: See `Question`.
        case: Likewise.
        name: What tables call the case.
        ticks: How many to time.
        seeds: How many runs other programs have side by side; 1 for no other programs.
        say: Told what is going on.
    """
    with tempfile.TemporaryDirectory() as cache:
        question = Question(agent, case, cache)
        say(f"{name}: the training program, without a cache")
        cold = measure(question)
        say(f"{name}: again, with one")
        question = dataclasses.replace(question, ticks=ticks)
        found = {"cold": cold, "warm": measure(question)}
        if seeds > 1:
            question = dataclasses.replace(question, seeds=seeds)
            say(f"{name}: {seeds} seeds in one program")
            found[f"{seeds} seeds"] = measure(question)
            say(f"{name}: {seeds} seeds, each on a device of its own")
            question = dataclasses.replace(question, devices=seeds)
            found[f"{seeds} seeds, {seeds} devices"] = measure(question)
    return found


def _main(question: Question) -> None:
    import jax
    import jax.numpy as jnp

    from core.compiled import keep_programs
    from core.training.devices import place, seed_mesh, spread

    keep_programs(Path(question.cache))

    problems = importlib.import_module(f"benchmarks.{question.agent}.problems")
    training: Training = problems.training(question.case)
    mesh = seed_mesh(question.seeds, question.devices)
    train = spread(training.train, mesh)
    keys = jax.vmap(jax.random.key)(jnp.arange(question.seeds, dtype=jnp.uint32))
    shape = place(jax.eval_shape(train.init, keys), mesh)
    began = time.perf_counter()
    chunk = jax.jit(train.chunk, donate_argnums=0).lower(shape, jnp.int32(1)).compile()
    compiled = time.perf_counter()
    state = jax.jit(train.init)(keys)
    replay = jax.eval_shape(lambda s: jax.tree.map(lambda x: x[0], s.learners.replay), state)
    answer = Answer(
        compile_seconds=compiled - began,
        start_seconds=compiled - _STARTED,
        row_bytes=training.row_bytes(replay),
    )
    if question.ticks:
        # Until updates have begun, and one tick beyond, nothing is timed.
        until = train.ticks_without_updates + 2
        while int(state.tick) < until:
            state, _ = chunk(state, jnp.int32(until - int(state.tick)))
        before = _updates(state)

        def run() -> None:
            nonlocal state
            state, _ = jax.block_until_ready(chunk(state, jnp.int32(question.ticks)))

        seconds = timed(run)
        answer = dataclasses.replace(
            answer,
            rows_per_second=question.ticks * training.rows_per_tick / seconds.wall,
            updates_per_second=(_updates(state) - before) / seconds.wall,
            cores=seconds.cores,
        )
    print(json.dumps(dataclasses.asdict(answer)))


def _updates(state: Any) -> int:
    """Of the first seed."""
    return int(state.learners.train.updates[0])


_STARTED = time.perf_counter()

if __name__ == "__main__":
    _main(Question(**json.loads(sys.argv[1])))
