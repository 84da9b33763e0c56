"""Faults between an environment and the rows that are stored: flags, rewards, actions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "rows"


def _with(**parts: Any) -> OperationTable:
    """The core's rows, some of whose parts are replaced."""
    from parity.core_subject.dreamerv3 import rows

    changed = rows.Parts(**parts)
    return {"dreamerv3.rows": partial(rows.rows, parts=changed)}


def _changed(change: Any) -> OperationTable:
    """The core's rows, changed once they are there."""
    from parity.core_subject.dreamerv3 import rows

    def answer(**inputs):
        return change({name: np.array(x) for name, x in rows.rows(**inputs).items()}, inputs)

    return {"dreamerv3.rows": answer}


def _first_too_early() -> OperationTable:
    """An auto-reset that is deferred by a row, and flagged when it is decided."""

    def change(answer, inputs):
        del inputs
        answer["is_first"] = answer["is_last"].copy()
        answer["is_first"][0] = True
        return answer

    return _changed(change)


def _last_action_repeated() -> OperationTable:
    """On a last row the action of the row before it is stored again."""

    def change(answer, inputs):
        del inputs
        tick, env = np.nonzero(answer["is_last"])
        answer["action"][tick, env] = answer["action"][tick - 1, env]
        return answer

    return _changed(change)


def _limit_is_terminal() -> OperationTable:
    """A time limit that terminates."""
    from core.environments.time_limit import TimeLimit

    class Terminating(TimeLimit):
        def step(self, key, state, action):
            state, observation, reward, terminated, truncated = super().step(key, state, action)
            return state, observation, reward, terminated | truncated, truncated

    return _with(limit=Terminating)


def _late_limit() -> OperationTable:
    """A time limit that cuts one step late."""
    from core.environments.time_limit import TimeLimit

    return _with(limit=lambda environment, limit: TimeLimit(environment, limit + 1))


def _past_the_end() -> OperationTable:
    """An action repeat that goes on after the end, and keeps the last step's flags."""
    import jax
    import jax.numpy as jnp

    from core.environments.action_repeat import ActionRepeat

    class Unstoppable(ActionRepeat):
        def step(self, key, state, action):
            total = jnp.zeros(())
            for _ in range(self._repeats):
                state, observation, reward, *ends = self._environment.step(key, state, action)
                total += reward
            return jax.tree.map(lambda x: x, (state, observation, total, *ends))

    return _with(repeat=Unstoppable)


def _first_episode_only() -> OperationTable:
    """An action repeat that is lost with the first reset."""
    from parity.core_subject.dreamerv3 import rows

    def answer(repeat, actions, **inputs):
        once = rows.rows(actions=actions, repeat=repeat, **inputs)
        if repeat == 1:
            return once
        longer = np.concatenate([actions] * 3)
        then = rows.rows(actions=longer, repeat=1, **inputs)
        joined = {name: np.array(column) for name, column in once.items()}
        for n in range(actions.shape[1]):
            cut, other = (int(x["is_last"][:, n].argmax()) + 1 for x in (once, then))
            for name, column in joined.items():
                column[cut:, n] = then[name][other : other + len(column) - cut, n]
        return joined

    return {"dreamerv3.rows": answer}


def _no_last_row() -> OperationTable:
    """L rows per episode: the environment resets itself, and its last observation is lost."""
    import jax
    import jax.numpy as jnp

    from core.environments import rows as collector

    def advance(environment, state, action):
        stepped = collector.advance(environment, state, action)
        reset = collector.advance(environment, stepped, action)
        keyless = [s._replace(key=jax.random.key_data(s.key)) for s in (reset, stepped)]
        over = stepped.row.is_last
        chosen = jax.tree.map(lambda a, b: jnp.where(over, a, b), *keyless)
        return chosen._replace(key=jax.random.wrap_key_data(chosen.key))

    return _with(advance=advance)


def _not_held() -> OperationTable:
    """The row of a reset shows its observation with the reward and the end before it."""
    import jax.numpy as jnp

    from core.environments import rows as collector

    def advance(environment, state, action):
        stepped = collector.advance(environment, state, action)
        row, before = stepped.row, state.row
        reward = jnp.where(row.is_first, before.reward, row.reward)
        return stepped._replace(row=row._replace(reward=reward))

    return _with(advance=advance)


def _one_beginning() -> OperationTable:
    """Every episode restarts from one cached state."""
    import jax

    from core.environments import rows as collector

    class Cached:
        def __init__(self, environment):
            self._environment = environment
            self.step = environment.step

        def reset(self, key):
            del key
            return self._environment.reset(jax.random.key(7))

    def advance(environment, state, action):
        return collector.advance(Cached(environment), state, action)  # type: ignore[arg-type]

    return _with(advance=advance)


def _shifted_actions() -> OperationTable:
    """Rows are stored with the action that led to them."""

    def change(answer, inputs):
        del inputs
        answer["action"] = answer["taken"]
        return answer

    return _changed(change)


REPORTED = "reported in re-implementations"
ACTIONS = ("rows/stored-actions",)

FAULTS = (
    Fault(
        "F24",
        "is_first one row early under a deferred automatic reset",
        KIND,
        _first_too_early,
        ("rows/flags", "rows/time-limit", "rows/action-repeat"),
        REPORTED,
    ),
    Fault(
        "F41",
        "last action repeated instead of zeroed on is_last rows",
        KIND,
        _last_action_repeated,
        ACTIONS,
        REPORTED,
    ),
    Fault(
        "F41.kept",
        "the action that the policy chose on an is_last row stored",
        KIND,
        lambda: _with(stored=lambda action, is_last: action),
        ACTIONS,
        REPORTED,
    ),
    Fault(
        "F43",
        "time limit flagged as terminal",
        KIND,
        _limit_is_terminal,
        ("rows/flags", "rows/time-limit"),
        REPORTED,
    ),
    Fault(
        "F44",
        "action repeat running past the end of an episode",
        KIND,
        _past_the_end,
        ("rows/action-repeat",),
        REPORTED,
    ),
    Fault(
        "F44.first",
        "action repeat lost after the first episode",
        KIND,
        _first_episode_only,
        ("rows/action-repeat",),
        REPORTED,
    ),
    Fault(
        "X80",
        "L rows per episode instead of L + 1",
        KIND,
        _no_last_row,
        ("rows/flags", "rows/observations", "rows/time-limit"),
    ),
    Fault("X81", "reward on the row of a reset", KIND, _not_held, ("rows/rewards",)),
    Fault(
        "X82",
        "every episode restarts from the same state",
        KIND,
        _one_beginning,
        ("rows/fresh-starts",),
    ),
    Fault("X83", "rows stored with the action that led to them", KIND, _shifted_actions, ACTIONS),
    Fault("X84", "time limit one step late", KIND, _late_limit, ("rows/time-limit", "rows/flags")),
)
