"""Trains from the command line: `python -m core.dreamerv3 --env CartPole-v1 --size 1m`."""

from core.training.outset import end_when_asked

if __name__ == "__main__":
    # Before what takes seconds to import.
    end_when_asked()

    from core.dreamerv3.command import app

    app()
