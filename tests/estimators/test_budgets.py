"""Time limits: at whatever moment a fit has to end, everything that the model says is shown."""

from __future__ import annotations

import json
import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from benchmarks.trust.checkpoints import digest_of
from saltmine import CSalt, DiffNorm, Primp, compare, load
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import make_planted
from saltmine.deadline import Deadline, Looks
from saltmine.estimators import base, fitting
from saltmine.solver import tall, wide
from saltmine.solver.steps import Steps
from tests.helpers.command_line import refused, run

SAMPLE = 300
LIMITS = [1, 2, 5, 12, 25, 65, 170, 400, 1000]
ENDED_EARLY = "The time limit made the search shorter: with a longer one there may be more, or other, patterns."


@pytest.fixture(scope="module")
def planted():
    return make_planted(100, [90, 80, 60], rank=5, noise=0.1, random_state=3)


@pytest.fixture
def small_samples(monkeypatch):
    for module, least, most in ((wide, "MIN_ITEMS", "MAX_ITEMS"), (tall, "MIN_ROWS", "MAX_ROWS")):
        monkeypatch.setattr(module, least, SAMPLE)
        monkeypatch.setattr(module, most, SAMPLE)


@pytest.fixture
def looks(monkeypatch):
    """Let the unit of ``max_time`` be looks at the clock, not seconds: every limit is another moment.

    There is one thread: time does not go faster for two, but the looks of two add up.
    """
    monkeypatch.setattr(base, "Deadline", lambda limit, **more: Deadline(limit, Looks(), **more))
    monkeypatch.setattr(fitting, "ThreadTeam", partial(ThreadTeam, 1))


def assert_shown(model):
    """All that a model says passed a test, and its parts fit together."""
    c, rank = model.usage_counts_.shape
    assert model.usage_.shape[1] == rank == model.n_components_
    assert model.description_length_ <= model.null_description_length_ + 1e-6
    assert (model.pattern_evidence_[~model.typical_] >= -np.log(model.alpha) - 1e-6).all()
    adds = model.alterations_.any(axis=2)
    assert (model.alteration_q_values_[adds] <= model.alpha * (1 + 1e-6)).all()
    assert not (model.components_ & model.alterations_.any(axis=0)).any()
    assert model.usage_.any(axis=0).all()
    assert np.array_equal(
        model.usage_counts_, [model.usage_[model.row_labels_ == k].sum(axis=0) for k in model.classes_]
    )
    model.summary()
    model.predict(np.zeros((2, model.n_features_in_), dtype=bool)) if c > 1 else None


# ---------------------------------------------------------------------- every moment


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS)
def test_whenever_it_ends_in_memory_the_model_is_shown(looks, planted, limit):
    model = CSalt(random_state=0, max_time=limit).fit(planted.X, planted.y)
    assert_shown(model)
    assert not model.finished_
    assert ENDED_EARLY in model.summary().headline


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({"max_rank": 2}, 25),
        ({"max_rank": 2}, 1000),
        ({"n_restarts": 3}, 1),
        ({"n_restarts": 3}, 170),
        ({"n_restarts": 2, "n_jobs": 2}, 1000),
    ],
    ids=str,
)
def test_parameters_hold_whenever_it_ends(looks, planted, parameters, limit):
    model = CSalt(random_state=0, max_time=limit, **parameters).fit(planted.X, planted.y)
    assert_shown(model)
    assert (~model.typical_).sum() <= parameters.get("max_rank", np.inf)


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS[::3])
def test_whenever_it_ends_without_classes_the_model_is_shown(looks, planted, limit):
    assert_shown(Primp(random_state=0, max_time=limit).fit(planted.X))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 10, 30, 90, 450])
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_whenever_it_ends_in_blocks_the_model_is_shown(looks, small_samples, limit, shape):
    sizes = (2000, [60, 60]) if shape == "wide" else (40, [900, 900])
    made = make_planted(*sizes, rank=4, noise=0.05, random_state=2)
    model = CSalt(random_state=0, max_time=limit).fit(made.X, made.y)
    assert_shown(model)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "sizes"), [(wide, (2000, [60, 60])), (tall, (100, [900, 900]))], ids=["wide", "tall"]
)
def test_a_smaller_sample_for_lack_of_time_is_no_whole_fit(monkeypatch, small_samples, module, sizes):
    made = make_planted(*sizes, rank=4, noise=0.05, random_state=2)
    assert CSalt(random_state=0, max_time=1000).fit(made.X, made.y).finished_
    for least in ("MIN_ITEMS_IN_TIME", "MIN_ROWS_IN_TIME"):
        monkeypatch.setattr(module, least, 2 * SAMPLE // 3, raising=False)
    monkeypatch.setattr(module, "CELLS_PER_SECOND", 1e-3)
    model = CSalt(random_state=0, max_time=1000).fit(made.X, made.y)
    assert not model.finished_
    assert ENDED_EARLY in model.summary().headline
    assert_shown(model)
    assert model.n_components_ > 0


@pytest.mark.slow
def test_columns_without_ones_are_no_part_of_a_sample_that_time_would_cut(monkeypatch, small_samples):
    made = make_planted(200, [60, 60], rank=3, noise=0.05, random_state=2)
    X = np.hstack([made.X, np.zeros((120, 1500), dtype=bool)])
    # Time for fewer columns than a sample may have, but for more than there are.
    monkeypatch.setattr(wide, "MIN_ITEMS_IN_TIME", 250)
    monkeypatch.setattr(wide, "CELLS_PER_SECOND", 1e-3)
    model = CSalt(random_state=0, max_time=1000).fit(X, made.y)
    assert model.finished_
    np.testing.assert_array_equal(model.usage_, CSalt(random_state=0).fit(X, made.y).usage_)


class SlowReading(Looks):
    """A clock of looks; when blocks are arranged, so many are over."""

    reading = 0.0

    def __call__(self):
        return super().__call__() + self.reading


@pytest.fixture
def slow_reading(monkeypatch):
    """Return the clocks of the fits that follow, each of which takes 4000 looks to arrange its blocks."""
    clocks = []

    def make_deadline(limit, **more):
        clocks.append(SlowReading())
        return Deadline(limit, clocks[-1], **more)

    def arranged(arrange):
        def slow(*arguments):
            clocks[-1].reading = 4000.0
            return arrange(*arguments)

        return slow

    monkeypatch.setattr(base, "Deadline", make_deadline)
    monkeypatch.setattr(fitting, "ThreadTeam", partial(ThreadTeam, 1))
    for name in ("arrange_row_blocks", "arrange_item_blocks"):
        monkeypatch.setattr(fitting, name, arranged(getattr(fitting, name)))


@pytest.mark.slow
@pytest.mark.usefixtures("slow_reading", "small_samples")
@pytest.mark.parametrize(
    ("search", "sizes", "after"),
    [("search_wide", (2000, [60, 60]), fitting.AFTER_COLUMNS), ("search_tall", (40, [900, 900]), fitting.AFTER_ROWS)],
    ids=["wide", "tall"],
)
def test_reading_is_counted_once_however_many_restarts_there_are(monkeypatch, search, sizes, after):
    made, whole, ends = make_planted(*sizes, rank=4, noise=0.05, random_state=2), getattr(fitting, search), []

    def observed(executor, labels, settings):
        ends.append(settings.deadline.left() + settings.deadline.elapsed())
        return whole(executor, labels, settings)

    monkeypatch.setattr(fitting, search, observed)
    CSalt(random_state=0, n_restarts=3, max_time=100_000).fit(made.X, made.y)
    assert len(ends) == 3
    # What is done with all data in the end takes a multiple of what reading took.
    np.testing.assert_allclose(ends, 100_000 - after * 4000, atol=10)


@pytest.mark.slow
@pytest.mark.usefixtures("slow_reading", "small_samples")
@pytest.mark.parametrize("sizes", [(2000, [60, 60]), (40, [900, 900])], ids=["wide", "tall"])
def test_runs_that_mostly_read_get_on(sizes, tmp_path):
    made = make_planted(*sizes, rank=4, noise=0.05, random_state=2)
    model = CSalt(random_state=0, checkpoint=tmp_path / "fit.ckpt", max_time=5000)
    for _ in range(20):
        if model.fit(made.X, made.y).finished_:
            break
    assert model.finished_


def test_no_candidate_is_looked_for_where_the_search_was_cut_short(looks):
    X = np.random.default_rng(0).random((60, 30)) < 0.2
    models = [CSalt(random_state=0, max_time=limit).fit(X, np.arange(60) % 2) for limit in (1, 10**9)]
    assert [model.n_components_ for model in models] == [0, 0]
    assert [model.near_miss_ is None for model in models] == [True, False]
    assert models[0].summary().headline.startswith("No pattern was found in the time that the search had. ")
    assert models[1].summary().headline.startswith("No pattern passed the test")


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 3, 20])
def test_the_published_algorithm_ends_with_the_best_so_far(looks, planted, limit):
    model = CSalt(algorithm="paper", random_state=0, max_time=limit, max_iter=500).fit(planted.X, planted.y)
    assert not model.finished_
    assert model.description_length_ <= model.null_description_length_
    assert ENDED_EARLY in str(model.summary())


@pytest.mark.slow
def test_more_time_finds_more(looks, planted):
    models = [CSalt(random_state=0, max_time=limit).fit(planted.X, planted.y) for limit in (1, 10**9)]
    assert models[0].description_length_ >= models[1].description_length_
    assert [model.finished_ for model in models] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [40, 300])
def test_the_same_number_of_looks_gives_the_same_model(looks, planted, limit):
    one, other = (CSalt(random_state=0, max_time=limit).fit(planted.X, planted.y) for _ in range(2))
    np.testing.assert_array_equal(one.usage_, other.usage_)
    np.testing.assert_array_equal(one.components_, other.components_)


# ---------------------------------------------------------------------- enough time


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "parameters"),
    [(None, {}), (1e9, {}), (float("inf"), {}), (1e9, {"algorithm": "paper", "max_iter": 100})],
    ids=str,
)
def test_a_limit_that_is_not_reached_changes_nothing(planted, limit, parameters):
    alone = CSalt(random_state=0, **parameters).fit(planted.X, planted.y)
    model = CSalt(random_state=0, max_time=limit, **parameters).fit(planted.X, planted.y)
    assert model.finished_
    np.testing.assert_array_equal(model.usage_, alone.usage_)
    assert model.description_length_ == alone.description_length_
    assert ENDED_EARLY not in model.summary().headline


# ---------------------------------------------------------------------- run after run


def count_looks_of_longest_step(monkeypatch, fit):
    """Return the looks at the clock of the longest step of a fit that has no other steps in it."""
    clocks, takes, longest = [], [0], 0
    take = Steps.take

    def make_deadline(limit, **more):
        clocks.append(Looks())
        return Deadline(10**9, clocks[-1], **more)

    def counted(steps, step, seconds=0.0):
        nonlocal longest
        takes[0] += 1
        before, looks = takes[0], clocks[-1].count
        answer = take(steps, step, seconds)
        if takes[0] == before:
            longest = max(longest, clocks[-1].count - looks)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(base, "Deadline", make_deadline)
        patch.setattr(Steps, "take", counted)
        return fit(), longest


def fit_again_and_again(make, *data):
    """Fit until a run ends by itself; return its model and the number of runs."""
    for runs in range(1, 100):
        model = make().fit(*data)
        assert_shown(model)
        assert model.checkpoint.exists() != model.finished_
        if model.finished_:
            return model, runs
    raise AssertionError("the fit does not come to its end")


# What is looked at between steps.
BETWEEN = 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "more"),
    [({}, BETWEEN), ({"n_restarts": 2}, 150), ({"random_state": 5, "max_rank": 3}, 150)],
    ids=str,
)
def test_with_a_checkpoint_short_runs_end_with_the_whole_model(looks, monkeypatch, planted, parameters, more, tmp_path):
    make = partial(CSalt, **{"random_state": 0, **parameters})
    alone, longest = count_looks_of_longest_step(monkeypatch, lambda: make(max_time=1).fit(planted.X, planted.y))
    short = partial(make, checkpoint=tmp_path / "fit.ckpt", max_time=longest + more)
    model, runs = fit_again_and_again(short, planted.X, planted.y)
    assert runs > 1
    assert digest_of(model) == digest_of(alone)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_with_a_checkpoint_short_runs_in_blocks_end_with_the_whole_model(
    looks, small_samples, monkeypatch, shape, tmp_path
):
    sizes = (2000, [60, 60]) if shape == "wide" else (40, [900, 900])
    made = make_planted(*sizes, rank=4, noise=0.05, random_state=2)
    make = partial(CSalt, random_state=0)
    alone, longest = count_looks_of_longest_step(monkeypatch, lambda: make(max_time=1).fit(made.X, made.y))
    short = partial(make, checkpoint=tmp_path / "fit.ckpt", max_time=longest + BETWEEN)
    model, runs = fit_again_and_again(short, made.X, made.y)
    assert runs > 1
    assert digest_of(model) == digest_of(alone)


@pytest.mark.slow
def test_the_published_algorithm_goes_on_run_after_run(looks, planted, tmp_path):
    make = partial(CSalt, algorithm="paper", max_iter=100, random_state=0)
    alone = make().fit(planted.X, planted.y)
    path = tmp_path / "fit.ckpt"
    finished = []
    while not any(finished) and len(finished) < 40:
        model = make(checkpoint=path, max_time=16).fit(planted.X, planted.y)
        finished.append(model.finished_)
    assert 1 < len(finished) < 40
    assert digest_of(model) == digest_of(alone)


def test_a_run_that_gets_no_further_says_so(looks, planted, tmp_path):
    model = CSalt(random_state=0, checkpoint=tmp_path / "fit.ckpt", max_time=40)
    model.fit(planted.X, planted.y)
    with pytest.warns(UserWarning, match=r"max_time=40 is too short for the next step.*allow more time\.$"):
        model.fit(planted.X, planted.y)
    assert not model.finished_


@pytest.mark.slow
def test_a_restart_that_was_cut_short_is_not_forgotten(looks, monkeypatch, planted, tmp_path):
    # The first of two restarts ends by itself and is better than what the second has by then.
    model = CSalt(random_state=0, n_restarts=2, checkpoint=tmp_path / "fit.ckpt", max_time=1700)
    model.fit(planted.X, planted.y)
    assert not model.finished_
    assert model.checkpoint.exists()


# ---------------------------------------------------------------------- what users see


@pytest.fixture
def unfinished(looks, planted):
    return CSalt(random_state=0, max_time=30).fit(planted.X, planted.y)


@pytest.mark.slow
def test_model_files_keep_the_mark(unfinished, planted, tmp_path):
    unfinished.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt")
    assert not again.finished_
    assert again.max_time is None
    assert ENDED_EARLY in again.summary().headline
    CSalt(random_state=0).fit(planted.X, planted.y).save(tmp_path / "model.salt")
    assert load(tmp_path / "model.salt").finished_


def test_copies_keep_the_mark(unfinished):
    assert not pickle.loads(pickle.dumps(unfinished)).finished_
    assert clone(unfinished).max_time == 30
    assert not hasattr(clone(unfinished), "finished_")
    assert not hasattr(unfinished, "_deadline")


def test_reports_say_it(unfinished, tmp_path):
    page = tmp_path / "report.html"
    unfinished.report(page)
    assert ENDED_EARLY in page.read_text()


@pytest.fixture
def table(tmp_path, planted):
    lines = [",".join(["class", *(f"c{j}" for j in range(planted.X.shape[1]))])]
    cells = planted.X.astype(int).astype(str)
    lines += [",".join([f"k{label}", *row]) for label, row in zip(planted.y, cells, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    return tmp_path / "table.csv"


@pytest.mark.slow
def test_the_command_line_says_it(looks, table, tmp_path):
    fit = "fit", table, "--target", "class", "-q", "-o", tmp_path / "out", "--max-time", "30"
    result = run(*fit)
    assert result.exit_code == 0, result.output
    assert " ".join(ENDED_EARLY.split()) in " ".join(result.stdout.split())
    written = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert written["finished"] is False
    assert ENDED_EARLY in written["headline"]
    printed = json.loads(run(*fit, "--json").stdout)
    assert printed["finished"] is False
    assert json.loads(run(*fit[:-2], "--json").stdout)["finished"] is True


@pytest.mark.slow
def test_the_command_line_keeps_the_checkpoint_of_a_search_that_ended_early(looks, table, tmp_path):
    path = tmp_path / "fit.ckpt"
    fit = "fit", table, "--target", "class", "-o", tmp_path / "out", "--checkpoint", path
    first = run(*fit, "--max-time", "30")
    assert first.exit_code == 0
    assert "Going on" not in first.stderr
    assert f"The same command goes on with the search, from the checkpoint {path}." in first.stderr
    assert path.exists()
    # Too short to get any further: a warning of one line, without the place in the program.
    again = run(*fit, "--max-time", "30")
    (warning,) = [line for line in again.stderr.splitlines() if "too short" in line]
    assert warning.startswith("Warning: max_time=30 is too short for the next step of the search")
    assert ".py" not in again.stderr
    last = run(*fit)
    assert last.exit_code == 0
    assert f"Going on from the checkpoint {path} ..." in last.stderr
    assert "The same command goes on" not in last.stderr
    assert not path.exists()


@pytest.mark.slow
def test_an_interrupt_says_that_the_checkpoint_is_there(monkeypatch, table, tmp_path):
    path, whole = tmp_path / "fit.ckpt", CSalt.fit

    def interrupted(model, *arguments, **names):
        whole(model, *arguments, **names)
        path.write_bytes(b"all there is of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(CSalt, "fit", interrupted)
    result = run("fit", table, "--target", "class", "-q", "-o", tmp_path / "out", "--checkpoint", path)
    assert result.exit_code == 1
    kept = f"the same command goes on from the checkpoint {path}, and nothing else was written."
    assert result.stderr.splitlines()[-1] == f"Error: Interrupted; {kept}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [0, -1, float("nan"), "long", True])
@pytest.mark.parametrize("make", [CSalt, Primp, DiffNorm])
def test_what_is_no_time_is_refused(planted, make, value):
    with pytest.raises(ValueError, match="max_time must be a number of seconds above 0, or None, not"):
        make(max_time=value).fit(planted.X, planted.y)


def test_the_command_line_refuses_what_is_no_time(table):
    assert "--max-time" in run("fit", table, "--target", "class", "--max-time", "0").stderr
    line = refused("fit", table, "--target", "class", "-q", "--max-time", "3", "--method", "asso")
    assert "--max-time is not for asso but for csalt, paper, primp, diffnorm; leave it out." in line


def test_comparisons_limit_every_method_that_has_a_limit(looks, planted):
    found = compare(planted.X, planted.y, ["csalt", "primp", "diffnorm", "asso"], max_time=5)
    assert [model.finished_ for model in found.models.values()] == [False, False, False, True]
