"""What a resumed run must have in common with the one that saved: all but what is named here."""

import dataclasses
import json
from pathlib import Path

from core.dreamerv3.config import Config
from core.dreamerv3.train_config import TrainConfig
from core.training.run_config import RunConfig

RUN = RunConfig(TrainConfig(), "CartPole-v1", (3, 5), Path("run"))
# A longer run may go on from a shorter one, anywhere, and be watched and saved differently.
FREE = {"logdir", "eval_every", "save_every", "chunk_seconds", "tensorboard"}
LENGTH = {"steps", "replay_capacity"}
OTHER = {
    "env": "Acrobot-v1",
    "seeds": (3, 6),
    "logdir": Path("other"),
    "time_limit": 7,
    "deter": 1024,
    "blocks": 4,
    "bins": 257,
    "compute_dtype": "bfloat16",
}


def other(value, name):
    """Another value that the field takes."""
    if name in OTHER:
        return OTHER[name]
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value / 2


def changed(part, name):
    """The run with one field changed: of itself, of its training, or of its agent."""
    if part is RunConfig:
        return dataclasses.replace(RUN, **{name: other(getattr(RUN, name), name)})
    train = RUN.train
    if part is TrainConfig:
        train = dataclasses.replace(train, **{name: other(getattr(train, name), name)})
    else:
        agent = train.agent.replace(**{name: other(getattr(train.agent, name), name)})
        train = dataclasses.replace(train, agent=agent)
    return dataclasses.replace(RUN, train=train)


FIELDS = [
    (part, field.name)
    for part, nested in ((RunConfig, "train"), (TrainConfig, "agent"), (Config, None))
    for field in dataclasses.fields(part)
    if field.name != nested
]


def test_every_field_is_part_of_the_identity_but_those_named():
    runs = {name: changed(part, name) for part, name in FIELDS}
    assert len(runs) == len(FIELDS) > 60
    assert RUN not in runs.values()
    identity = RUN.identity()
    assert {name for name, run in runs.items() if run.identity() == identity} == FREE | LENGTH
    # What is kept for people says the length as well.
    told = RUN.to_json()
    assert {name for name, run in runs.items() if run.to_json() == told} == FREE


def test_the_identity_survives_json():
    assert json.loads(json.dumps(RUN.identity())) == RUN.identity()
    assert json.loads(RUN.to_json()).keys() == RUN.identity().keys() | LENGTH
