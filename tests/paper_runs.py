"""Made-up runs of the papers' protocols."""

import msgspec
import numpy as np

from audits.paper import agents
from audits.paper.eligibility import expected_episodes
from audits.paper.files import (
    CURVE,
    FINISHED,
    SESSIONS,
    Record,
    Session,
    write_lines,
    write_run_file,
)
from audits.paper.registry import registered
from audits.references import store
from reference_harness.dreamerv3.training.files import write_json

SESSION = Session(0, "2026-01-01T00:00:00Z", "c0ffee" * 6, False, "abc", {"jax": "1"}, "gpu X", "h")


def published(spec):
    """The mean of the published seeds of a task, by environment steps."""
    band = store.read(spec.agent).task(spec.task).band
    return lambda env_steps: float(np.interp(env_steps, band.env_steps, band.mean))


def records(spec, value):
    """All records of a run; `value` is of (index of the seed, environment steps)."""
    for env_steps in spec.records:
        episodes = expected_episodes(spec, env_steps)
        seeds = range(len(spec.seeds))
        yield Record(
            env_steps,
            spec.progress(env_steps),
            env_steps,
            [_possible(value(seed, env_steps)) if episodes else None for seed in seeds],
            [episodes for _ in seeds],
            [float(spec.episode_length) if episodes else None for _ in seeds],
            60.0,
        )


def _possible(value):
    return value if value is None else min(max(value, 0.0), 1000.0)


def write_run(folder, spec, value=None, *, until=None, sessions=(SESSION,), agent=None):
    """A run whose seeds lie around the published mean, up to a number of environment steps."""
    mean = published(spec)
    value = value or (lambda seed, at: mean(at) + 2.0 * seed - 4.0)
    write_run_file(folder, spec, agents.resolved(spec) | (agent or {}))
    kept = [r for r in records(spec, value) if until is None or r.env_steps <= until]
    write_lines(folder / CURVE, kept)
    write_lines(folder / SESSIONS, sessions)
    if until is None:
        write_json(folder / FINISHED, {"env_steps": spec.budget})


def write_all(root, *chosen):
    """Every run of the protocol, of all agents or of some."""
    for name, spec in registered().items():
        if not chosen or spec.agent in chosen:
            write_run(root / name, spec)


def changed(spec, **changes):
    """A specification with other values."""
    return msgspec.structs.replace(spec, **changes)
