"""Where danijar/dreamerv3 takes the control suite from, in every era.

Runs inside the side environments, which have no dm_control: a stand-in for it is imported.
"""

import importlib
import sys
import types

import numpy as np


class _Empty:
    """An environment of the suite with nothing to see and nothing to do."""

    def observation_spec(self):
        """Nothing."""
        return {}

    action_spec = observation_spec


def suite_asked(task):
    """See `environments.suite_asked`: the stock class that wraps a task of the suite is made."""
    names, examples = [], "dm_control.locomotion.examples"

    def load(domain, name, **options):
        del options
        names.append(f"{domain}/{name}")
        return _Empty()

    packages = ("dm_control", "dm_control.locomotion", examples)
    stand_in = {name: types.ModuleType(name) for name in packages}
    stand_in["dm_control"].suite = types.SimpleNamespace(load=load)
    stand_in["dm_control"].manipulation = None
    stand_in[examples].basic_rodent_2020 = None
    before = {name: sys.modules.get(name) for name in stand_in}
    sys.modules.update(stand_in)
    try:
        made = importlib.import_module("embodied.envs.dmc").DMC
        made(task.replace("ball_in_cup", "cup").replace("/", "_", 1))
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
        sys.modules.pop("embodied.envs.dmc", None)  # at the head it keeps what it imported
    right = names.count(task)
    found = {"asked": right, "others": len(names) - right}
    return {name: np.asarray(count, np.int64) for name, count in found.items()}


OPERATIONS = {"environments.suite_asked": suite_asked}
