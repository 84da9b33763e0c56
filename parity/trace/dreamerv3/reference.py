"""The reference's side of a trace: asks its worker, and reads the answer in our terms."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from parity.trace.dreamerv3.names import NETWORKS, NameMap
from parity.trace.dreamerv3.problem import MARGINS, Problem
from parity.trace.quantity import Arrays
from parity.workers import Asked, ask, start_reference
from reference_harness.home import data_folder

OPERATIONS = "reference_harness.dreamerv3.trace"

# A cold compilation of the 12m program takes minutes on two cores.
_TIME_LIMIT = 3600.0

_OPT = "agent/opt/state"


@dataclasses.dataclass(frozen=True)
class ReferenceState:
    """Everything that the reference's steps change, by its own names.

    Attributes:
        state: Parameters, optimiser, slow critic, normaliser, counters.
        carry: What goes from batch to batch.
    """

    state: Mapping[str, np.ndarray]
    carry: Mapping[str, np.ndarray]

    @property
    def parameters(self) -> Arrays:
        """The optimised parameters."""
        prefixes = tuple(f"agent/{network}/" for network in NETWORKS)
        return {k: v for k, v in self.state.items() if k.startswith(prefixes) and ":" not in k}


def start(pin: str, dtype: str = "float32") -> Asked:
    """The worker that answers traces at a pin; compiled programs are kept between runs.

    Args:
        pin: The reference.
        dtype: The compute dtype. In bfloat16 the compiler is told to round where the program
            says so: by default it leaves out what stands between two float32 operations.

    Raises:
        CannotMeasureError: The pin is not installed here.
        HarnessError: Its installation is damaged.
    """
    environment = {"JAX_COMPILATION_CACHE_DIR": str(compiled_folder())}
    if dtype == "bfloat16":
        environment["XLA_FLAGS"] = "--xla_allow_excess_precision=false"
    return start_reference(
        pin, operations=OPERATIONS, time_limit=_TIME_LIMIT, environment=environment
    )


def compiled_folder() -> Path:
    """Where compiled programs are kept: they suit processors with the same features only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return data_folder() / "compiled" / hashlib.sha256(features.encode()).hexdigest()[:12]


class TracedReference:
    """The reference's training step for one problem, in one precision.

    Args:
        worker: From `start`.
        problem: What is asked.
        dtype: float32, bfloat16 or float64.
        bins: The two-hot support that settles row D22 on this side; None leaves it as it is.
    """

    def __init__(self, worker: Asked, problem: Problem, dtype: str, bins: np.ndarray | None):
        self._worker = worker
        self._settings = problem.reference_settings(dtype)
        self._margin = MARGINS[problem.dtype] if dtype == problem.dtype else 0.0
        self._bins = bins

    def initial(self) -> ReferenceState:
        """The state of a fresh agent."""
        inputs = {"settings": self._settings}
        return _state(ask(self._worker, "dreamerv3.trace_initial", inputs))

    def step(
        self, before: ReferenceState, rows: Arrays, noise: Arrays
    ) -> tuple[Arrays, ReferenceState]:
        """One step: what was read, by the reference's names, and the state after it."""
        answer = ask(
            self._worker,
            "dreamerv3.trace_step",
            {
                "settings": self._settings,
                "state": dict(before.state),
                "carry": dict(before.carry),
                "data": rows,
                "noise": noise,
                "bins": self._bins,
                "margin": self._margin,
            },
        )
        return _group(answer, "trace/"), _state(answer)


def used_noise(read: Mapping[str, np.ndarray]) -> Arrays:
    """The noise as it was used, each draw raised at its winner where it was too close."""
    first, rest = read["noise0"], read["imagine/noise1"]
    return {
        "posterior": read["observe/noise0"].swapaxes(0, 1),
        "prior": read["imagine/noise0"],
        "action": np.concatenate([first[None], rest]),
    }


def intermediates(
    read: Mapping[str, np.ndarray], after: ReferenceState, names: NameMap, *, discrete: bool
) -> Arrays:
    """What was read in one step, under the names of `quantities`."""
    imagined = "actor/imagined"
    parameters = ("logits",) if discrete else ("loc", "scale")
    policy = np.concatenate([read[f"{imagined}/{name}"][:, :-1] for name in parameters], -1)
    found = {
        "previous_actions": read["observe/action"],
        "embed": read["embed"],
        "deter": read["observe/deter"],
        "post_logits": read["observe/logit"],
        "stoch": read["observe/stoch"],
        "prior_logits": read["observe/prior"],
        "decoded": read["dec/replay/mode"],
        "reward_logits": read["rew/replay/logits"],
        "continue_logits": read["con/replay/logits"],
        "rec_loss": read["loss/vector_loss"],
        "rew_loss": read["loss/reward_loss"],
        "con_loss": read["loss/cont_loss"],
        "dyn_loss": read["loss/dyn_loss"],
        "rep_loss": read["loss/rep_loss"],
        "imagined_deter": read["imagine/deter"],
        "imagined_stoch": read["imagine/stoch"],
        "imagined_actions": read[f"{imagined}/log_prob_of"],
        "rewards": read["stats/rew"],
        "continues": read["con/imagined/mean"][:, 1:],
        "weights": read["stats/weight"],
        "policy": policy,
        "critic_logits": read["critic/imagined/logits"][:, :-1],
        "values": read["stats/val"],
        "slow_values": read["slowcritic/imagined/mean"][:, :-1],
        "returns": read["stats/ret"],
        "normaliser_low": after.state["agent/retnorm/low/value"],
        "normaliser_high": after.state["agent/retnorm/high/value"],
        "advantages": read["stats/adv"],
        "log_probs": read[f"{imagined}/log_prob"][:, :-1],
        "entropies": read["stats/ent/action"],
        "actor_loss": read["loss/actor_loss"],
        "critic_loss": read["loss/critic_loss"],
        "replay_critic_logits": read["critic/replay/logits"],
        "replay_slow_values": read["slowcritic/replay/mean"],
        "replay_returns": read["stats/replay_ret"],
        "repval_loss": read["loss/replay_critic_loss"],
        "total_loss": read["loss/total"],
    }
    for group, prefix in (
        ("gradient", "gradient/"),
        ("second_moment", "state/second_moment/"),
        ("momentum", "state/momentum/"),
        ("parameter", "state/"),
    ):
        arrays = {**read, **_renamed_state(after)}
        found |= {f"{group}/{k}": v for k, v in names.to_core(arrays, prefix).items()}
    slow = _slow_critic(after.state)
    found |= {
        f"slow_critic/{ours.partition('/')[2]}": array
        for ours, array in names.to_core({**after.parameters, **slow}).items()
        if ours.startswith("critic/")
    }
    found["updates"] = after.state["agent/opt/step/value"]
    return found


def padding(read: Mapping[str, np.ndarray], after: ReferenceState, names: NameMap) -> float:
    """The largest gradient or parameter in the columns that the name map drops."""
    columns = (names.padding(read, "gradient/"), names.padding(after.parameters))
    return float(max(np.abs(column).max(initial=0.0) for column in columns))


def _slow_critic(state: Mapping[str, np.ndarray]) -> Arrays:
    """The slow critic under the critic's names."""
    prefix = "agent/slowcritic/"
    return {k.replace(prefix, "agent/critic/"): v for k, v in state.items() if k.startswith(prefix)}


def slow_critic(state: ReferenceState, names: NameMap) -> Arrays:
    """The slow critic's parameters under the core's names of the critic's."""
    cut = names.to_core({**state.parameters, **_slow_critic(state.state)})
    return {ours: array for ours, array in cut.items() if ours.startswith("critic/")}


def _renamed_state(after: ReferenceState) -> Arrays:
    """Parameters and moments by readable prefixes; `_OPT:1` scales, `_OPT:2` has momentum."""
    places = {f"{_OPT}:1:1:": "state/second_moment/", f"{_OPT}:2:1:": "state/momentum/"}
    renamed = {f"state/{name}": array for name, array in after.parameters.items()}
    for name, array in after.state.items():
        for place, prefix in places.items():
            if name.startswith(place):
                renamed[prefix + name.removeprefix(place)] = array
    return renamed


def _state(answer: Mapping[str, np.ndarray]) -> ReferenceState:
    return ReferenceState(_group(answer, "state/"), _group(answer, "carry/"))


def _group(answer: Mapping[str, np.ndarray], prefix: str) -> Arrays:
    return {k.removeprefix(prefix): v for k, v in answer.items() if k.startswith(prefix)}
