"""What the run on the dataset needs, before it is made, and before there is a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audits.multitask.offline import agent_config
from audits.multitask.protocol import DATASET, OfflineSpec, Protocol
from audits.multitask.sources import EPISODES
from audits.paper.calibration import Calibration, measured, read_calibration
from audits.paper.estimate import Estimate, memory_of
from audits.paper.training import explained


def assumed(protocol: Protocol) -> OfflineSpec:
    """The run on a dataset that there is not yet."""
    return protocol.offline_spec("", {})


def estimated(spec: OfflineSpec, out: Path, protocol: Protocol | None = None) -> Estimate:
    """The estimate of the run, with the calibration that is kept of it.

    Args:
        spec: The run.
        out: The folder of the validation. Its dataset tells the sizes, if there is one.
        protocol: Whose environments tell them, if there is none.

    Raises:
        PaperError: The dataset is damaged, or an environment is not installed.
    """
    with explained(spec.name):
        tasks, counts = _sizes(out, protocol)
        functions, shape = _program(spec, tasks)
    found = memory_of(functions, shape, len(spec.seeds), [_pool(tasks, counts)])
    return Estimate(spec.name, found, read_calibration(spec, out))


def calibrate(
    spec: OfflineSpec, out: Path, protocol: Protocol, *, seconds: float = 30.0
) -> Calibration:
    """Compiles the run's program, and measures its updates and an evaluation of all tasks.

    The episodes are zeros, in full size, so that what the device can not hold fails here.

    Args:
        spec: The run.
        out: The folder of the validation.
        protocol: Whose environments are played.
        seconds: How long to measure, at least.

    Raises:
        PaperError: An environment is not installed.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    with explained(spec.name):
        environments = _environments(protocol)
        tasks, counts = _sizes(out, protocol)
        functions, shape = _program(spec, tasks, environments)
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), _pool(tasks, counts))
    task = np.repeat(np.arange(len(counts)), counts)
    length = np.asarray(tasks.episode_lengths)[task]
    rows = length + 1
    episodes = zeros._replace(
        task=jnp.asarray(task, jnp.int32),
        length=jnp.asarray(length, jnp.int32),
        first=jnp.asarray(np.cumsum(rows) - rows, jnp.int32),
    )
    return measured(
        spec.name,
        spec.seeds,
        functions,
        shape,
        ticks=spec.budget,
        evaluations=len(spec.records),
        seconds=seconds,
        constants=[episodes],
    )


def _sizes(out: Path, protocol: Protocol | None) -> tuple[Any, list[int]]:
    """The tasks, and how many episodes there are of each."""
    from core.tdmpc2.dataset import told
    from core.tdmpc2.tasks import Tasks

    if protocol is None or (out / DATASET).exists():
        listed = told(out / DATASET / EPISODES)[0]["tasks"]
        keys = ("name", "observation_size", "action_size", "episode_length")
        columns = [tuple(task[key] for task in listed) for key in keys]
        return Tasks(*columns), [task["episodes"] for task in listed]
    runs, sizes, counts = protocol.runs, [], []
    for spec, environment in zip(runs.values(), _environments(protocol), strict=True):
        space: Any = environment.action_space
        sizes.append((environment.observation_size, space.size, environment.episode_length))
        episodes = spec.progress(spec.budget) // spec.episode_length
        counts.append(len(spec.seeds) * spec.n_envs * episodes)
    return Tasks(tuple(runs), *zip(*sizes, strict=True)), counts


def _environments(protocol: Protocol) -> list[Any]:
    from core.environments import make_environment

    return [
        make_environment(
            spec.environment, action_repeat=spec.action_repeat, time_limit=spec.time_limit
        )
        for spec in protocol.runs.values()
    ]


def _program(spec: OfflineSpec, tasks: Any, environments: Sequence[Any] = ()) -> tuple[Any, Any]:
    """The run's functions, and the shapes of its state.

    They are made with one episode of zeros per task: how many there are is an argument's size.
    """
    import jax
    import numpy as np

    from core.tdmpc2.dataset import Dataset, Origin
    from core.tdmpc2.offline import OfflineConfig, make_offline

    rows = sum(tasks.episode_lengths) + len(tasks)
    small = Dataset(
        tasks,
        tuple(Origin(name) for name in tasks.names),
        np.zeros((rows, tasks.observation_size), np.float32),
        np.zeros((rows, tasks.action_size), np.float32),
        np.zeros(rows, np.float32),
        np.arange(len(tasks), dtype=np.int32),
    )
    config = OfflineConfig.on(
        small,
        agent=agent_config(spec.settings),
        steps=spec.budget,
        log_every=spec.chunk,
        eval_episodes=spec.eval_episodes,
    )
    functions = make_offline(config, small, environments)
    keys = jax.vmap(jax.random.key)(np.asarray(spec.seeds, np.uint32))
    return functions, jax.eval_shape(functions.init, keys)


def _pool(tasks: Any, counts: Sequence[int]) -> Any:
    """Shapes of the dataset on the device."""
    import jax
    import jax.numpy as jnp

    from core.tdmpc2.pool import Pool

    lengths = zip(counts, tasks.episode_lengths, strict=True)
    rows, episodes = sum(count * (length + 1) for count, length in lengths), sum(counts)
    of: Any = jax.ShapeDtypeStruct
    return Pool(
        observation=of((rows, tasks.observation_size), jnp.float32),
        action=of((rows, tasks.action_size), jnp.float32),
        reward=of((rows,), jnp.float32),
        task=of((episodes,), jnp.int32),
        first=of((episodes,), jnp.int32),
        length=of((episodes,), jnp.int32),
    )
