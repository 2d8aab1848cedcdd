import numpy as np
import pytest

from saltmine import CSalt, Primp, load
from saltmine.datasets import make_planted
from saltmine.fitted.stability import bootstrap_rows, carried, compare


def model_parts(n=12):
    """Return two patterns, the first altered by the first class, and their usage counts."""
    components = np.zeros((2, n), dtype=bool)
    components[0, :4] = components[1, 6:9] = True
    alterations = np.zeros((2, 2, n), dtype=bool)
    alterations[0, 0, 4:6] = True
    return components, alterations, np.array([[5, 0], [5, 5]])


def test_a_model_comes_back_in_itself_in_any_order():
    parts = model_parts()
    again = carried(*parts)[::-1]
    stability = compare(*parts, [again, again])
    assert stability.refits == 2
    np.testing.assert_array_equal(stability.patterns, 1)
    np.testing.assert_array_equal(stability.entries, 1)
    np.testing.assert_array_equal(stability.alterations, [[1, np.nan], [np.nan, np.nan]])


def test_nothing_comes_back_in_an_empty_model():
    parts = model_parts()
    stability = compare(*parts, [carried(*parts)[:0]])
    assert not stability.patterns.any()
    assert not stability.entries.any()
    assert stability.alterations[0, 0] == 0


def test_an_alteration_that_all_classes_have_has_not_come_back():
    components, alterations, counts = model_parts()
    widened = components.copy()
    widened[0] |= alterations[0, 0]
    refit = carried(widened, np.zeros_like(alterations), counts)
    stability = compare(components, alterations, counts, [refit])
    assert stability.patterns[0] == 1
    assert stability.alterations[0, 0] == 0
    # The shared items are there, the added ones are not added.
    np.testing.assert_array_equal(stability.entries[:6], [1, 1, 1, 1, 0, 0])


def test_half_of_an_alteration_is_enough_and_a_lost_item_is_counted():
    components, alterations, counts = model_parts()
    fewer = alterations.copy()
    fewer[0, 0, 5] = False
    smaller = components.copy()
    smaller[0, 0] = False
    stability = compare(components, alterations, counts, [carried(smaller, fewer, counts)])
    assert stability.alterations[0, 0] == 1
    np.testing.assert_array_equal(stability.entries[:6], [0, 1, 1, 1, 1, 0])


def test_a_pattern_of_one_class_is_not_back_when_it_is_shared():
    components, alterations, counts = model_parts()
    everybody = carried(components, alterations, np.full((2, 2), 5))
    stability = compare(components, alterations, counts, [everybody])
    assert stability.patterns.tolist() == [1, 0]
    assert not stability.entries[6:].any()


def test_a_class_that_never_used_a_pattern_does_not_make_it_altered():
    """Class 0 adds, class 1 uses, class 2 does not: an item that 0 and 1 share in the refit is no addition any more."""
    components, alterations, _ = model_parts()
    counts = np.array([[5, 5], [5, 5], [0, 0]])
    alterations = np.concatenate([alterations, np.zeros_like(alterations[:1])])
    widened = components | alterations[0]
    refit = carried(widened, np.zeros_like(alterations), counts)
    stability = compare(components, alterations, counts, [refit])
    assert stability.patterns[0] == 1
    assert stability.alterations[0, 0] == 0


def test_whole_groups_are_drawn():
    numbers = np.tile([0, 1], 30)
    groups = np.repeat(np.arange(20), 3)
    drawn = bootstrap_rows(numbers, np.random.default_rng(0), groups)
    counts = np.bincount(drawn, minlength=60).reshape(20, 3)
    assert (counts == counts[:, :1]).all()
    assert counts[:, 0].sum() == 20
    with pytest.raises(ValueError, match=r"Draws of groups keep missing a class"):
        bootstrap_rows(np.arange(60), np.random.default_rng(0), groups)


def test_rows_are_drawn_class_by_class():
    numbers = np.array([0] * 50 + [1] * 7)
    drawn = bootstrap_rows(numbers, np.random.default_rng(1))
    assert np.bincount(numbers[drawn]).tolist() == [50, 7]
    assert len(np.unique(drawn)) < len(drawn)


@pytest.fixture(scope="module")
def clear():
    planted = make_planted(80, [120, 120], rank=3, noise=0.01, largest=True, random_state=4)
    return planted, CSalt(random_state=0).fit(planted.X, planted.y)


def test_clear_patterns_come_back_in_refits(clear, tmp_path):
    planted, model = clear
    steps = []
    stability = model.assess_stability(planted.X, planted.y, refits=4, random_state=0, on_refit=steps.append)
    assert steps == [1, 2, 3, 4]
    assert (stability.patterns > 0.7).all()
    table = model.patterns()
    np.testing.assert_array_equal(table["stability"], stability.entries)
    model.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt").stability_
    assert again.refits == 4
    for name in ("patterns", "alterations", "entries"):
        np.testing.assert_array_equal(getattr(again, name), getattr(stability, name))


def test_the_same_seed_gives_the_same_stability(clear):
    planted, model = clear
    one, two = (model.assess_stability(planted.X, planted.y, 2, random_state=3).entries for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_counted_data_is_made_binary_as_in_the_fit(clear):
    planted, _ = clear
    counts = planted.X * 3
    model = Primp(binarize=0, random_state=0).fit(counts)
    assert model.assess_stability(counts, refits=2, random_state=0).patterns.shape == (model.n_components_,)


@pytest.mark.slow
def test_groups_keep_patterns_of_a_single_one_from_looking_stable():
    rng = np.random.default_rng(0)
    X = rng.random((200, 40)) < 0.05
    X[:30, :6] = True  # one patient of ten has it, in all of its thirty rows
    patients = np.concatenate([np.zeros(30, int), 1 + np.arange(170) % 9])
    model = Primp(random_state=0).fit(X)
    s = int(model.components_[:, :6].sum(axis=1).argmax())
    rows = model.assess_stability(X, refits=8, random_state=0).patterns[s]
    whole = model.assess_stability(X, refits=8, random_state=0, groups=patients).patterns[s]
    assert rows == 1
    assert whole < 1


def test_other_data_is_refused(clear):
    planted, model = clear
    with pytest.raises(ValueError, match=r"fitted on 240 rows, not 5; pass the same data"):
        model.assess_stability(planted.X[:5])
    with pytest.raises(ValueError, match=r"y differs from the labels of the fit"):
        model.assess_stability(planted.X, planted.y[::-1])
    with pytest.raises(ValueError, match=r"refits must be a whole number of at least 1, not 0"):
        model.assess_stability(planted.X, planted.y, refits=0)
