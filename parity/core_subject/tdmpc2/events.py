"""In which order the core's training of TD-MPC2 does what: told by the loop itself as it runs."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import episodic, timed, train
from core.tdmpc2.config import Config
from core.tdmpc2.terminations import TerminationError
from core.tdmpc2.train_config import TrainConfig
from core.training.interruption import Interruption
from core.training.loop import Programs, train_to_the_end
from core.training.program import Train
from core.training.run_config import RunConfig
from parity.core_subject.running import quick_jit
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.scripted import Counting, Scripted, Told, answer
from parity.operations import Answer
from parity.operations.tdmpc2.events import TERMINATION


@contextlib.contextmanager
def _in_place(told: Told) -> Iterator[None]:
    of_episodes, of_rows = told.replay()
    made = type("_Telling", (Counting,), {"told": told})
    places = (
        (train, "Agent", made),
        (timed, "episodes", of_episodes),
        (episodic, "rings", of_rows),
    )
    stock = [getattr(module, name) for module, name, _ in places]
    try:
        for module, name, value in places:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(places, stock, strict=True):
            setattr(module, name, value)


class _Log:
    def write(self, rows: int, seed: int, figures: Any) -> None:
        """Nowhere."""


class _Bar:
    def move(self, rows: int, updates_per_second: float, score: float) -> None:
        """Nowhere."""

    def note(self, text: str) -> None:
        """Nowhere."""


class _Checkpoints:
    latest = None

    def save(self, rows: int, state: Any) -> None:
        """Nothing is kept."""


def _keys(seed: int) -> Array:
    return jax.vmap(jax.random.key)(np.asarray([seed], np.uint32))


@cache  # compiling takes seconds, and a run is asked for with several evaluations
def _training(
    config: TrainConfig, script: tuple[int, int, float], variant: stage.Variant
) -> tuple[Told, Train, Callable, Callable]:
    del variant
    told = Told()
    with _in_place(told):
        functions = train.make_train(config, Scripted(*script))
        shape = jax.eval_shape(functions.init, _keys(0))
        chunk = quick_jit(functions.chunk).lower(shape, jnp.int32(1)).compile()
    return told, functions, quick_jit(functions.init), chunk


@cache
def _evaluation(
    config: TrainConfig, script: tuple[int, int, float], episodes: int, variant: stage.Variant
) -> Callable:
    told, functions, *_ = _training(config, script, variant)
    shape = jax.eval_shape(functions.init, _keys(0))
    with _in_place(told):
        chosen = dataclasses.replace(config, eval_episodes=episodes)
        made = train.make_train(chosen, Scripted(*script))
        evaluate = quick_jit(made.evaluate).lower(shape).compile()

    def evaluated(state):
        told.evaluating(int(state.tick) * config.n_envs)
        return evaluate(state)

    return evaluated


@cache
def _ran(
    seed,
    envs,
    length,
    ends,
    doomed,
    seed_steps,
    steps,
    eval_every,
    eval_episodes,
    updates_per_step,
    episodic,
    variant: stage.Variant,
) -> Answer:
    config = TrainConfig(
        stage.config(batch_size=2, horizon=3),
        **{"steps": steps, "n_envs": envs, "replay_capacity": steps, "log_every": envs},
        **{"seed_steps": seed_steps, "updates_per_step": updates_per_step, "episodic": episodic},
    )
    script = (length, ends, doomed)
    told, functions, init, chunk = _training(config, script, variant)
    told.forget()
    evaluate = _evaluation(config, script, eval_episodes, variant) if eval_episodes else None
    run = RunConfig(
        config,
        "scripted",
        (seed,),
        Path(),
        eval_every=eval_every if eval_episodes else 0,
        save_every=1e9,
        # Each tick is a chunk of its own, so that a run that must stop does so at once.
        chunk_seconds=1e-9,
    )
    error = 0
    programs = Programs(functions, chunk, evaluate)
    kept, log, bar = cast(Any, _Checkpoints()), cast(Any, _Log()), cast(Any, _Bar())
    try:
        train_to_the_end(run, init(_keys(seed)), programs, kept, log, bar, Interruption())
    except TerminationError:
        error = TERMINATION
    jax.effects_barrier()
    return answer(told, envs, eval_episodes, error)


def run_events(**inputs: Any) -> Answer:
    """See `tdmpc2.run_events`."""
    found = _ran(**inputs, variant=stage.asked())
    return {name: value.copy() for name, value in found.items()}


def run_options() -> Answer:
    """See `tdmpc2.run_options`."""
    names = [field.name for kind in (Config, TrainConfig) for field in dataclasses.fields(kind)]
    return {"names": np.frombuffer("\n".join(names).encode(), np.uint8).copy()}


TABLE = {"tdmpc2.run_events": run_events, "tdmpc2.run_options": run_options}
