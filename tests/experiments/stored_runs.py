"""Runs that nobody measured, for tests of what is made of runs."""

import os

from experiments import find
from experiments.experiment import SkipTask
from experiments.store import Store


def invented(task, quality=0.9):
    """A run as `measure` returns it, with figures that nobody measured."""
    return {
        "F": quality,
        "rec_V": quality - 0.1,
        "pre_V": quality - 0.2,
        "r": 15.0,
        "planted r": 16.0,
        "patterns": 24,
        "f/f*": 1.0,
        "seconds": 0.1,
    }


def fill(folder, name, quick=True, but=lambda task: False, quality=0.9):
    """Store invented runs of all tasks but some; return those."""
    folder.mkdir(parents=True, exist_ok=True)
    store, left = Store(folder, name), []
    for task in find(name).tasks(quick):
        if but(task):
            left.append(task)
        else:
            store.add(task, invented(task, quality))
    return left


def double(task, data):
    if task["x"] == 6:
        raise SkipTask("Six is left out.")
    if "absent" in task["method"]:
        raise ImportError("It needs a package that is not there.")
    return {"double": 2 * task["x"], "process": os.getpid()}
