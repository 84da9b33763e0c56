"""The figures that reported faults are known by: what the core answers, and each fault."""

import numpy as np
import pytest

from deviations.faults.dreamerv3 import losses, optimizer, policies, returns
from parity.agreements import measures
from parity.agreements.dreamerv3 import (
    losses as dreamerv3_losses,
)
from parity.agreements.dreamerv3 import (
    optimizer as dreamerv3_optimizer,
)
from parity.agreements.dreamerv3 import (
    returns as dreamerv3_returns,
)
from parity.claims import AtMost
from parity.core_subject import TABLE
from parity.core_subject.dreamerv3 import stage
from parity.implementations import InProcess

FAULTS = {
    fault.id: fault for module in (losses, policies, returns, optimizer) for fault in module.FAULTS
}


def answers(operation, make, output, *faults):
    """What the core and its faults answer to the figures' inputs."""
    inputs = make(np.random.default_rng(0))
    tables = [TABLE, *(FAULTS[fault].overrides() for fault in faults)]
    return [table[operation](**inputs)[output] for table in tables]


def test_free_nats_per_row():
    right, wrong = answers("dreamerv3.kl_losses", dreamerv3_losses._two_rows, "dyn", "F03")
    assert right.mean() == pytest.approx(2.0)
    assert wrong.mean() == pytest.approx(1.6)


def test_symlog_squared_error():
    right, wrong = answers("dreamerv3.decoder_loss", dreamerv3_losses._ten, "loss", "F13")
    assert right.item() == pytest.approx(5.750, abs=1e-3)
    assert wrong.item() == pytest.approx(100)


def test_returns_into_a_terminal_state():
    right, early, endless = answers(
        "dreamerv3.imagined_returns", dreamerv3_returns._episode, "returns", "F07", "F08"
    )
    assert right[0] == pytest.approx([7.0284, 5.8384, 3], abs=1e-4)
    assert early[0] == pytest.approx([104.18, 3.8913, 2], abs=5e-3)
    assert endless[0, 0] == pytest.approx(33.86, abs=5e-3)


def test_nothing_counts_after_the_end():
    right, wrong = answers(
        "dreamerv3.imagined_returns", dreamerv3_returns._episode, "weights", "F04"
    )
    assert right[0, 3] == 0
    assert wrong[0, 3] == pytest.approx((1 - 1 / 333) ** 3)


def test_clipped_norms():
    make = dreamerv3_optimizer._norms
    kernel, _ = answers("dreamerv3.gradient_clipping", make, "kernel", "F80.global")
    bias, unbounded = answers("dreamerv3.gradient_clipping", make, "bias", "F80.floor")
    assert np.linalg.norm(kernel) == pytest.approx(0.6)
    assert np.linalg.norm(bias) == pytest.approx(3e-4)
    assert np.linalg.norm(unbounded) == 0


def test_ramp_of_the_step_size():
    make = dreamerv3_optimizer._warmup_cases
    right, one, early = answers("dreamerv3.warmup_factor", make, "factor", "F82.one", "F82.early")
    assert right == pytest.approx([0, 0.001, 0.499, 0.999, 1, 1, 1])
    assert one[0] == pytest.approx(0.001)
    assert early[3] == 1


def test_the_core_is_sound_again_after_a_fault():
    inputs = dreamerv3_losses._ten(np.random.default_rng(0))
    before = TABLE["dreamerv3.decoder_loss"](**inputs)["loss"]
    FAULTS["F13"].overrides()["dreamerv3.decoder_loss"](**inputs)
    assert TABLE["dreamerv3.decoder_loss"](**inputs)["loss"] == before
    assert stage.config_of().free_nats == 1


def parabola(slope):
    table = {"dreamerv3.discrete_policy": lambda **inputs: _parabola(slope, **inputs)}
    return InProcess("parabola", table)


def _parabola(slope, raw, action, gumbel):
    """Answers whose log-probability is Σ raw², with a slope of `slope` · raw."""
    blank = np.zeros_like(raw)
    return {
        "log_prob": (raw**2).sum(-1),
        "entropy": blank[:, 0],
        "log_prob_slope": slope * raw,
        "entropy_slope": blank,
        "drawn": action,
    }


@pytest.mark.parametrize(("slope", "holds"), [(2, True), (2.01, False), (0, False)])
def test_slopes_are_held_against_difference_quotients(slope, holds):
    name = "dreamerv3.discrete_policy"
    measure = measures.slopes(name, "log_prob", "log_prob_slope", {"raw": 3}, 2.0**-5)
    raw = measures.uniform(np.random.default_rng(0), 4, 3)
    inputs = {"raw": raw, "action": np.zeros(4, np.int32), "gumbel": raw}
    subject = parabola(np.float32(slope))
    found = measure(subject, subject, inputs)
    assert AtMost(1e-3).holds(found) == holds
    assert found.compared == 12


def test_a_gap_where_nothing_may_be_is_infinite():
    scale = measures.over(lambda _: np.zeros(2))
    assert list(scale(np.asarray([0.0, 1e-30]), np.zeros(2), {})) == [0, np.inf]
