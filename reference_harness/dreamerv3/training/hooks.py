"""Runs the stock `dreamerv3.main.main` and keeps hold of what its loop is made of.

Runs inside the side environment. Nothing of the reference's source is copied or changed: its
loop is handed objects that are its own, of subclasses that also tell when something has
happened. The names are set on the packages through which the loop finds them.
"""

from __future__ import annotations

import collections
import queue
from collections.abc import Callable, Mapping
from typing import Any

import embodied
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import main

from reference_harness.dreamerv3.agent import replaced
from reference_harness.dreamerv3.training.environment import CartPoleEnvironment

PRESET = "harness"  # the name under which overrides are handed in
_LOOK = 5.0  # seconds between two looks at a thread that is waited for


class PrefetchDiedError(RuntimeError):
    """A thread that assembles batches has ended; the stock loop would wait for it for ever."""


class Hooks:
    """A run of the stock loop, seen from the outside.

    Attributes:
        config: The configuration that the stock entry point resolved.
        agent: The stock `JAXAgent`.
        replay: The stock replay.
        logger: The stock logger; its `step` counts rows.
        driver: The stock driver, with the training environments.
        agg: The aggregator of training metrics; None before the first update.
        not_a_number: How often, in the window, each training metric was NaN, which the
            aggregator leaves out.
        episodes: The training episodes that have ended, in order.
    """

    def __init__(self, built: Callable[[], None], after_rows: Callable[[], None]):
        """Prepares a run.

        Args:
            built: Called when the agent has been built and compiled.
            after_rows: Called after every vector step and the updates that it caused.
        """
        self._built, self._after_rows = built, after_rows
        self._prefetches: list[Any] = []
        self.config: Any = None
        self.agent: Any = None
        self.replay: Any = None
        self.logger: Any = None
        self.driver: Any = None
        self.agg: Any = None
        self.not_a_number: collections.Counter[str] = collections.Counter()
        self.episodes: list[dict[str, Any]] = []

    def run(self, overrides: Mapping[str, Any]) -> None:
        """Runs the stock entry point to its end, on CartPole.

        Args:
            overrides: Keys of its configuration.

        Raises:
            PrefetchDiedError: See there.
            Exception: Whatever the stock loop raises.
        """
        changes = (
            (main, "make_env", self._make_env),
            (main, "make_agent", self._keeping("agent", main.make_agent, self._built)),
            (main, "make_replay", self._keeping("replay", main.make_replay)),
            (main, "make_logger", self._keeping("logger", main.make_logger)),
            (embodied, "Driver", self._driver_class()),
            (embodied, "Agg", self._agg_class()),
            (embodied, "Prefetch", self._prefetch_class()),
            # Needs tensorflow; the same numbers go to metrics.jsonl.
            (embodied.logger, "TensorBoardOutput", lambda *_, **__: lambda summaries: None),
        )
        stock.Agent.configs[PRESET] = dict(overrides)
        with replaced(*changes):
            main.main(["--configs", PRESET])

    def flush(self) -> int:
        """Steps every training environment once more; returns how many episodes that ended.

        An episode that ends with the step after the last row of the run is one that our side,
        which steps at the end of a tick, has counted. Nothing else happens: no policy is
        called, no row stored, nothing learned.
        """
        before = len(self.episodes)
        for index, environment in enumerate(self.driver.envs):
            environment.step({name: values[index] for name, values in self.driver.acts.items()})
        return len(self.episodes) - before

    def check_threads(self) -> None:
        """Raises what a thread of the stock loop died of.

        Raises:
            PrefetchDiedError: See there.
        """
        for prefetch in self._prefetches:
            prefetch.check_alive()

    def check_outputs(self) -> None:
        """Raises what kept the stock logger from writing its files; it only prints that."""
        for output in self.logger.outputs:
            future = getattr(output, "_future", None)
            if future is not None:
                future.result()

    def _make_env(self, config: Any, index: int) -> Any:
        def ended(episode: dict[str, Any]) -> None:
            self.episodes.append({"seed": config.seed, "worker": index, **episode})

        rng = np.random.default_rng([config.seed, index])
        return main.wrap_env(CartPoleEnvironment(rng, ended), config)

    def _keeping(
        self, name: str, make: Callable, then: Callable[[], None] = lambda: None
    ) -> Callable:
        """`make`, whose result is kept as the attribute `name`."""

        def kept(config: Any, *args: Any, **kwargs: Any) -> Any:
            self.config = config
            setattr(self, name, make(config, *args, **kwargs))
            then()
            return getattr(self, name)

        return kept

    def _driver_class(hooks) -> type:  # noqa: N805
        class Driver(embodied.Driver):
            """Tells after every call, each of which is one vector step."""

            def __init__(self, *args: Any, **kwargs: Any):
                super().__init__(*args, **kwargs)
                hooks.driver = self

            def __call__(self, *args: Any, **kwargs: Any) -> None:
                super().__call__(*args, **kwargs)
                hooks.check_threads()
                hooks._after_rows()

        return Driver

    def _agg_class(hooks) -> type:  # noqa: N805
        class Agg(embodied.Agg):
            """Is noticed when it is given training metrics."""

            def add(self, key_or_dict: Any, *args: Any, **kwargs: Any) -> None:
                super().add(key_or_dict, *args, **kwargs)
                if kwargs.get("prefix") == "train":
                    hooks.agg = self
                    hooks.not_a_number.update(
                        name for name, value in key_or_dict.items() if np.isnan(value).any()
                    )

        return Agg

    def _prefetch_class(hooks) -> type:  # noqa: N805
        class Prefetch(embodied.Prefetch):
            """Looks whether its thread lives while it waits for it."""

            def __init__(self, *args: Any, **kwargs: Any):
                super().__init__(*args, **kwargs)
                hooks._prefetches.append(self)

            def __next__(self) -> Any:
                while True:
                    try:
                        return self.queue.get(timeout=_LOOK)
                    except queue.Empty:
                        self.check_alive()

            def check_alive(self) -> None:
                if self.worker.exitcode is None:
                    return
                self.worker.thread.join(_LOOK)  # the exception is noted after the exit code
                cause = self.worker.exception
                raise PrefetchDiedError(
                    f"a thread that assembles batches has died: {type(cause).__name__}: {cause}"
                ) from cause

        return Prefetch
