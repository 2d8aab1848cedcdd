"""Many tasks, in turn and in several processes."""

import os

import pytest

from experiments.experiment import Experiment
from experiments.running import Forecast, TaskResult, run_all
from tests.experiments.stored_runs import double


def an_experiment(measure=double, parallel=True):
    return Experiment("double", "Doubles", lambda quick: [], measure, lambda rows, folder: "", parallel=parallel)


@pytest.mark.parametrize("parallel", [False, True])
def test_all_tasks_are_run_and_missing_packages_leave_a_method_out(parallel):
    tasks = [{"method": ("twice", "absent", "also absent")[x % 3], "x": x} for x in range(12)]
    said = []
    done = list(run_all(an_experiment(parallel=parallel), tasks, 2, None, said.append))
    found = [(one.task["x"], one.found["double"]) for one in done if one.found is not None]
    assert sorted(found) == [(x, 2 * x) for x in range(0, 12, 3) if x != 6]
    reason = "is left out: It needs a package that is not there."
    assert sorted(said) == ["Six is left out.", f"absent {reason}", f"also absent {reason}"]
    processes = {one.found["process"] for one in done if one.found is not None}
    assert (os.getpid() in processes) is not parallel
    assert all(one.seconds >= 0 for one in done)


def test_the_forecast_goes_by_the_method():
    tasks = [{"method": "slow"}] * 3 + [{"method": "fast"}] * 3
    forecast = Forecast(tasks, jobs=2)
    forecast.update(TaskResult(tasks[0], {}, "", False, 10.0))
    forecast.update(TaskResult(tasks[3], {}, "", False, 2.0))
    assert forecast.seconds_left() == (2 * 10.0 + 2 * 2.0) / 2
    for _ in range(2):
        forecast.update(TaskResult(tasks[1], None, "a package is missing", True, 0.1))
    forecast.update(TaskResult(tasks[0], None, "not here", False, 0.1))
    assert forecast.seconds_left() == 2 * 2.0 / 2
    assert forecast.tasks_left() == 2
