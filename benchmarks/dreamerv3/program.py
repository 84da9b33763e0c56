"""The whole training program in a fresh process: how long it compiles, how fast it runs.

    python -m benchmarks.dreamerv3.program '{"case": "cartpole", ...}'

Prints one JSON object; see `Question` and `Answer`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.dreamerv3.timing import timed


@dataclasses.dataclass(frozen=True)
class Question:
    """One program.

    Attributes:
        case: A key of `problems.CASES`.
        cache: The folder of compiled programs.
        seeds: Runs side by side.
        ticks: How many to time, with 8 updates for each seed; 0 only compiles.
        devices: Host devices that the seeds are spread over.
        steps: Rows of the whole run, which set the size of the replay.
    """

    case: str
    cache: str
    seeds: int = 1
    ticks: int = 0
    devices: int = 1
    steps: int = 20_000


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


def measure(question: Question) -> Answer:
    """Answers in a fresh process."""
    environment = dict(os.environ)
    if question.devices > 1:
        flag = f"--xla_force_host_platform_device_count={question.devices}"
        environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {flag}"
    command = [sys.executable, "-m", "benchmarks.dreamerv3.program"]
    command.append(json.dumps(dataclasses.asdict(question)))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return Answer(**json.loads(done.stdout.splitlines()[-1]))


def _main(question: Question) -> None:
    import jax

    jax.config.update("jax_compilation_cache_dir", str(Path(question.cache)))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    import jax.numpy as jnp

    from benchmarks.dreamerv3.problems import CASES
    from core.dreamerv3 import replay
    from core.dreamerv3.train import make_train
    from core.dreamerv3.train_config import TrainConfig
    from core.environments import make_environment
    from core.training.devices import place, seed_mesh, spread

    case = CASES[question.case]
    environment = make_environment(case.environment) if case.environment else _stand_in(case)
    config = TrainConfig(case.problem.config, steps=question.steps)
    mesh = seed_mesh(question.seeds, question.devices)
    train = spread(make_train(config, environment), mesh)
    keys = jax.vmap(jax.random.key)(jnp.arange(question.seeds, dtype=jnp.uint32))
    shape = place(jax.eval_shape(train.init, keys), mesh)
    began = time.perf_counter()
    chunk = jax.jit(train.chunk, donate_argnums=0).lower(shape, jnp.int32(1)).compile()
    compiled = time.perf_counter()
    state = jax.jit(train.init)(keys)
    learner = jax.eval_shape(lambda s: jax.tree.map(lambda x: x[0], s.learners.replay), state)
    answer = Answer(
        compile_seconds=compiled - began,
        start_seconds=compiled - _STARTED,
        row_bytes=replay.bytes_per_row(learner),
    )
    if question.ticks:
        # Up to the gate, and one tick beyond it, nothing is timed.
        state, _ = chunk(state, jnp.int32(config.ticks_without_updates + 2))
        before = int(config.updates_after(state.tick))

        def run() -> None:
            nonlocal state
            state, _ = jax.block_until_ready(chunk(state, jnp.int32(question.ticks)))

        seconds = timed(run)
        answer = dataclasses.replace(
            answer,
            rows_per_second=question.ticks * config.n_envs / seconds.wall,
            updates_per_second=(int(config.updates_after(state.tick)) - before) / seconds.wall,
            cores=seconds.cores,
        )
    print(json.dumps(dataclasses.asdict(answer)))


class _Still(NamedTuple):
    observation: Any


def _stand_in(case: Any) -> Any:
    """An environment of a case's sizes that costs nothing: it stands still."""
    import jax.numpy as jnp

    class StandIn:
        observation_size = case.problem.observation_size
        action_space = case.problem.actions

        def reset(self, key: Any) -> Any:
            del key
            observation = jnp.zeros(self.observation_size, jnp.float32)
            return _Still(observation), observation

        def step(self, key: Any, state: Any, action: Any) -> Any:
            del key, action
            no = jnp.zeros((), bool)
            return state, state.observation, jnp.ones(()), no, no

    return StandIn()


_STARTED = time.perf_counter()

if __name__ == "__main__":
    _main(Question(**json.loads(sys.argv[1])))
