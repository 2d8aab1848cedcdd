"""Files with which something went wrong once: each is read, or refused with one sentence. See fuzz/regressions.py."""

import json
import time

import pytest

from fuzz.regressions import ABOUT, load, saved
from fuzz.trial import READ, REFUSED
from fuzz.worker import Trial, Worker


@pytest.mark.slow
@pytest.mark.parametrize("folder", saved(), ids=lambda folder: folder.name)
def test_what_went_wrong_once_goes_well(folder):
    case, form = load(folder)
    worker = Worker()
    try:
        # As users have it, in a process that is watched: some of these files ended or stopped the whole process.
        worker.start(lambda number: Trial(case, form.is_model, thorough=True, apart=True), [0])
        while not (ended := worker.poll()):
            time.sleep(0.005)
    finally:
        worker.close()
    [(_, outcome)] = ended
    assert outcome.kind in (READ, REFUSED), outcome.said


def test_every_file_says_what_went_wrong():
    assert saved()
    for folder in saved():
        assert json.loads((folder / ABOUT).read_text())["was"]
