"""Mistakes on the command line of a training run: one sentence, and no folder."""

import jax
import pytest

from core.dreamerv3.command import app


def folders(tmp_path, words):
    """Where the run and its programs go, unless the words say so."""
    chosen = {"--logdir": tmp_path / "run", "--cache": tmp_path / "cache"}
    return [word for key in chosen if key not in words for word in (key, str(chosen[key]))]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--env", "CartPole-v2"], "did you mean 'CartPole-v1'"),
        (
            ["--agent.batch_sice", "3"],
            "unknown key 'batch_sice' in the configuration: 'batch_size'",
        ),
        (["--agent.units", "many"], "units must be of type int"),
        (["--agent.train_ratio", "1e999"], "train_ratio must be a finite number"),
        (["--agent.batch_size", "-1"], "batch_size must be a whole number from 1, not -1"),
        (["--steps", "0"], "steps must be a whole number from 1"),
        (["--steps", "1.5"], "--steps: it must be a whole number, not '1.5'"),
        (["--seeds", "1", "1.5"], "Invalid value for --seeds"),
        (["--agent.units", "9" * 5000], "units must be of type int"),
        (["--save-every", "nan"], "save_every must be a finite number from 0, not nan"),
        (["--time-limit", "0"], "time_limit must be a whole number from 1"),
        (["--devices", "2"], "1 seeds can not be shared out"),
        (["--steps", "9" * 30], "steps must be a whole number from 1 to 2,147,483,647, not 9999"),
        (["--n-envs", "2000000000", "--steps", "2000000000"], "must fit 32 bits together"),
        (["--logdir", ""], "--logdir: it must name a folder"),
        (["--cache", ""], "--cache: it must name a folder"),
        (["--agent", "units=3"], "--agent does not set a key of the agent's configuration"),
        (["--agent", "units", "3"], "write --agent.units 3\n"),
        (["--agent", "units=3"], "write --agent.units 3\n"),
        (["--agent=dreamer.units=3"], "write --agent.units 3\n"),
        (["--agent.dreamer.units", "3"], "write --agent.units 3\n"),
        (["--agent.dreamer.units=3", "--seeds", "1"], "write --agent.units 3\n"),
        (["--agent"], "write --agent.learning_rate\n"),
        (["--agent.units"], "error: --agent.units needs a value\n"),
    ],
)
def test_a_mistake_is_one_sentence(words, told, tmp_path, capsys):
    with pytest.raises(SystemExit) as got:
        app([*folders(tmp_path, words), *words])
    jax.config.update("jax_compilation_cache_dir", None)
    assert got.value.code == 2
    stderr = capsys.readouterr().err
    assert told in stderr
    assert stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
