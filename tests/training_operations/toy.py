"""A stand-in for the reference's training: writes a run's files without training anything.

What a seed does beside that is said by a file `behaviours.json` in the folder above its own.
"""

import json
import os
import sys
import time
from pathlib import Path


def train(folder, log, settings):
    place = Path(folder)
    place.mkdir()
    (place / "environment.json").write_text(json.dumps(_surroundings()))
    with open(log, "a") as file:
        file.write("the toy has begun\n")
    told = json.loads((place.parent / "behaviours.json").read_text())
    behaviour = told.get(str(settings["seed"]), "ends well")
    marks = place.parent / f"attempts{settings['seed']}"
    with marks.open("a") as file:
        file.write(f"{os.getpid()}\n")
    first = len(marks.read_text().splitlines()) == 1
    if behaviour == "raises":
        raise ValueError("the loss is not a number")
    if behaviour == "dies" or (behaviour == "dies once" and first):
        os._exit(7)
    if behaviour == "hangs" or (behaviour == "hangs once" and first):
        time.sleep(1000)
    _write(place, settings, lacking=behaviour.removeprefix("lacks "))
    return {}


def _write(place, settings, lacking):
    rows = range(settings["record_every"], settings["steps"] + 1, settings["record_every"])
    records = [{"rows": n, "updates": n, "eval_mean": 9.5, "wall_s": 1.0} for n in rows]
    files = {
        "run_args.json": json.dumps(settings),
        "records.jsonl": "".join(json.dumps(record) + "\n" for record in records),
        "timing.json": json.dumps({"rows": settings["steps"], "flush_episodes": 0}),
        **dict.fromkeys(("episodes.jsonl", "config.yaml", "metrics.jsonl"), ""),
    }
    if lacking == "a record":
        files["records.jsonl"] = files["records.jsonl"].split("\n", 1)[1]
    if lacking == "the flush":
        files["timing.json"] = json.dumps({"rows": settings["steps"]})
    for name, text in files.items():
        if name != lacking:
            (place / name).write_text(text)


def _surroundings():
    return {
        "cores": sorted(os.sched_getaffinity(0)),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "python": sys.executable,
    }


OPERATIONS = {"dreamerv3.train": train}
