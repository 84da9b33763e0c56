"""Trains from the command line: `python -m core.tdmpc2 --env Pendulum-v1 --size 1`."""

from core.training.outset import end_when_asked

if __name__ == "__main__":
    # Before what takes seconds to import.
    end_when_asked()

    from core.tdmpc2.command import app

    app()
