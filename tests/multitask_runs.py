"""Made-up validations on several tasks: a tiny protocol, sources, and the run on the dataset."""

import json

import msgspec
import numpy as np
from paper_runs import SESSION, records

from audits.multitask import protocol as registered
from audits.multitask.offline import OFFLINE_RUNS, OfflineRecord
from audits.multitask.protocol import OFFLINE, SOURCES
from audits.multitask.sources import EPISODES
from audits.paper import agents
from audits.paper.files import CURVE, FINISHED, SESSIONS, write_lines, write_run_file
from core.tdmpc2.dataset import Origin, save
from core.tdmpc2.pooling import Source, pooled
from reference_harness.dreamerv3.training.files import write_json

TASKS = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")
AGENT = {"size": 1, "mlp_dim": 8, "enc_dim": 8, "latent_dim": 8, "bins": 11, "num_q": 2}

PROTOCOL = {
    "sources": {
        "tasks": {name: name for name in TASKS},
        "seeds": [0, 1, 2],
        "n_envs": 1,
        "action_repeat": 2,
        "time_limit": 10,
        "budget": 40,
        "chunk": 20,
        "eval_episodes": 2,
        "settings": AGENT,
    },
    "offline": {
        "seeds": [0],
        "budget": 60,
        "chunk": 20,
        "eval_episodes": 3,
        "settings": AGENT | {"batch_size": 4},
    },
    "reasons": {},
}


def use(monkeypatch, folder):
    """Makes the tiny protocol the registered one."""
    path = folder / "protocol.yaml"
    path.write_text(json.dumps(PROTOCOL))
    registered.protocol.cache_clear()
    monkeypatch.setitem(registered._FILES, False, str(path))
    return registered.protocol()


def episodes(spec, chance=0, *, fewer=0):
    """Episodes of all seeds of a source, tasks of different sizes."""
    rng = np.random.default_rng(chance)
    size = len(spec.name)
    count = len(spec.seeds) * (spec.progress(spec.budget) // spec.episode_length) - fewer
    length = spec.episode_length
    return Source(
        Origin(spec.environment, spec.action_repeat, spec.time_limit),
        rng.normal(size=(count, length + 1, size)).astype(np.float32),
        rng.uniform(-1, 1, (count, length, size - 3)).astype(np.float32),
        rng.normal(size=(count, length)).astype(np.float32),
    )


def write_source(
    out, spec, *, value=400.0, chance=0, until=None, fewer=0, agent=None, seconds=60.0
):
    """A source whose seeds reach values 10 apart."""
    folder = out / SOURCES / spec.name
    write_run_file(folder, spec, agents.resolved(spec) | (agent or {}))
    kept = [
        msgspec.structs.replace(record, seconds=seconds)
        for record in records(spec, lambda seed, at: value + 10.0 * (seed - 1))
        if until is None or record.env_steps <= until
    ]
    write_lines(folder / CURVE, kept)
    write_lines(folder / SESSIONS, [SESSION])
    if until is None:
        save(pooled([episodes(spec, chance, fewer=fewer)]), folder / EPISODES)
        write_json(folder / FINISHED, {"learned": f"{spec.name} {chance}", "seconds": seconds})
    return folder


def write_offline(out, spec, values, *, until=None, agent=None, lengths=None):
    """A run on the dataset that reaches values in its tasks."""
    folder = out / OFFLINE
    write_run_file(folder, spec, OFFLINE_RUNS.resolved(spec) | (agent or {}))
    length = float(spec.episode_length) if lengths is None else lengths
    kept = [
        OfflineRecord(
            updates,
            [[value * updates / spec.budget for value in values] for _ in spec.seeds],
            [[length] * len(spec.tasks) for _ in spec.seeds],
            spec.eval_episodes,
            60.0,
        )
        for updates in spec.records
        if until is None or updates <= until
    ]
    write_lines(folder / CURVE, kept)
    write_lines(folder / SESSIONS, [SESSION])
    if until is None:
        write_json(folder / FINISHED, {"updates": spec.budget, "learned": "x"})
    return folder
