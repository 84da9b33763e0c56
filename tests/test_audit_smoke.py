"""The audit from end to end on our side, against recorded runs of the reference.

The least run in which everything happens, three seeds. Row D22 is settled on the reference's
side: in so fresh an agent it would hide everything else.
"""

import json

import jax
import pytest

from audits import cli
from audits.statistics.ranges import chance_of_overlap
from core.dreamerv3 import actor_critic


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("compiled")
        patch.setattr("core.compiled.default_folder", lambda: folder)
        patch.setenv("WORLD_MODEL_PARITY_HOME", str(tmp_path_factory.mktemp("home")))
        before = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
        yield
        jax.config.update("jax_compilation_cache_dir", before)


def audit(out):
    words = ["cartpole", "--smoke", "--neutralise", "D22", "--reference", "recorded"]
    status = cli.main([*words, "--out", str(out)])
    return status, json.loads((out / "summary.json").read_text())


@pytest.fixture(scope="module")
def sound(cache, tmp_path_factory):
    out = tmp_path_factory.mktemp("sound") / "out"
    return out, *audit(out)


def p_value(summary):
    return summary["windows"]["at_least"] / summary["windows"]["divisions"]


def parted(summary):
    return {w["metric"] for w in summary["windows"]["windows"] if w["overlap"] is False}


def test_both_sides_pass_every_check_that_needs_no_installed_reference(sound):
    _, status, summary = sound
    assert status == cli.SAME
    outcomes = {check["id"]: check["outcome"] for check in summary["checks"]}
    assert {i for i, o in outcomes.items() if o != "PASS"} == {"config/defaults/reference"}


def test_the_training_metrics_are_the_references(sound):
    """As many windows overlap as do of two identical programs, but for chance.

    86 of 91 did where this was written; 64 while the core's values were noisy in the training
    program, with a p of 0.1, the least there is.
    """
    windows = sound[2]["windows"]
    assert windows["compared"] > 80
    assert windows["overlapping"] >= windows["compared"] * chance_of_overlap(3, 3) - 8
    assert p_value(sound[2]) > 0.1  # the least that 3 seeds a side can give


def test_what_is_finished_is_not_run_again(sound, capsys):
    out, _, summary = sound
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("seed*/*")}
    assert audit(out) == (cli.SAME, summary)
    assert "ours: finished already" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("seed*/*")} == stamps


def test_a_reward_that_counts_one_step_early_shows_in_the_metrics(cache, tmp_path, monkeypatch):
    """Fault F07, in the training program itself."""
    right = actor_critic.lambda_returns

    def early(rewards, continues, lam, values):
        rewards = jax.numpy.concatenate([jax.numpy.ones_like(rewards[:1]), rewards[:-1]])
        return right(rewards, continues, lam, values)

    monkeypatch.setattr(actor_critic, "lambda_returns", early)
    jax.clear_caches()  # else the sound program would be found again
    try:
        _, summary = audit(tmp_path / "out")
    finally:
        jax.clear_caches()
    assert p_value(summary) == pytest.approx(0.1)
    assert {"ret/mean", "ret/max", "adv/mag", "td_error"} <= parted(summary)
