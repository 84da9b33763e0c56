"""Whole training runs of danijar/dreamerv3, paper era: started, recorded, watched.

`python -m reference_harness.dreamerv3.training --help`.  What runs on which side:

    both            settings, overrides, files, cartpole (numpy alone)
    side            environment, evaluation, hooks, recording, run
    this one        runs, attempts, launcher, reference, __main__
"""
