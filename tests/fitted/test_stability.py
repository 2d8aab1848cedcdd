import numpy as np
import pytest

from saltmine import CSalt, Primp, load
from saltmine.datasets import make_planted
from saltmine.fitted.stability import bootstrap_rows, carried, compare


def model_parts(n=12):
    """Return two patterns and their owners: a shared one that the first class alters, and one of the second class."""
    components = np.zeros((2, n), dtype=bool)
    components[0, :4] = components[1, 6:9] = True
    alterations = np.zeros((2, 2, n), dtype=bool)
    alterations[0, 0, 4:6] = True
    return components, alterations, np.array([[False, False], [False, True]])


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
    components, alterations, owns = model_parts()
    widened = components.copy()
    widened[0] |= alterations[0, 0]
    refit = carried(widened, np.zeros_like(alterations), owns)
    stability = compare(components, alterations, owns, [refit])
    assert stability.patterns[0] == 1
    assert stability.alterations[0, 0] == 0
    # The shared items are there, the added ones are not added.
    np.testing.assert_array_equal(stability.entries[:6], [1, 1, 1, 1, 0, 0])


def test_half_of_an_alteration_is_enough_and_a_lost_item_is_counted():
    components, alterations, owns = model_parts()
    fewer = alterations.copy()
    fewer[0, 0, 5] = False
    smaller = components.copy()
    smaller[0, 0] = False
    stability = compare(components, alterations, owns, [carried(smaller, fewer, owns)])
    assert stability.alterations[0, 0] == 1
    np.testing.assert_array_equal(stability.entries[:6], [0, 1, 1, 1, 1, 0])


def test_a_pattern_of_one_class_is_not_back_when_it_is_shared():
    components, alterations, owns = model_parts()
    everybody = carried(components, alterations, np.zeros_like(owns))
    stability = compare(components, alterations, owns, [everybody])
    assert stability.patterns.tolist() == [1, 0]
    assert not stability.entries[6:].any()


def test_a_shared_pattern_is_not_back_when_it_belongs_to_one_class():
    components, alterations, owns = model_parts()
    nothing = np.zeros_like(alterations)
    stability = compare(components, nothing, owns, [carried(components, nothing, np.eye(2, dtype=bool))])
    assert stability.patterns.tolist() == [0, 1]


def test_rows_of_several_owners_come_back_one_by_one():
    """Two of four classes have the pattern; in the refit a third has it too, or another one in place of the second."""
    components = np.zeros((1, 6), dtype=bool)
    components[0, :4] = True
    nothing = np.zeros((4, 1, 6), dtype=bool)
    owns = np.array([[True], [True], [False], [False]])
    wider = carried(components, nothing, np.array([[True], [True], [True], [False]]))
    other = carried(components, nothing, np.array([[True], [False], [False], [False]]))
    assert compare(components, nothing, owns, [wider]).entries.tolist() == [1] * 8
    # Half of the items, class by class, is not enough for the same pattern.
    assert compare(components, nothing, owns, [other]).patterns.tolist() == [0]


def test_what_an_owner_adds_comes_back():
    components, alterations, owns = model_parts()
    alterations[1, 1, 10] = True
    same = carried(components, alterations, owns)
    assert compare(components, alterations, owns, [same]).entries.tolist() == [1] * 10


def test_an_item_that_all_classes_have_is_no_addition_any_more():
    components, alterations, _ = model_parts()
    alterations = np.concatenate([alterations, np.zeros_like(alterations[:1])])
    owns = np.zeros((3, 2), dtype=bool)
    refit = carried(components | alterations[0], np.zeros_like(alterations), owns)
    stability = compare(components, alterations, owns, [refit])
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


@pytest.mark.slow
def test_clear_patterns_come_back_in_refits(clear, tmp_path):
    planted, model = clear
    steps = []
    stability = model.assess_stability(planted.X, planted.y, refits=4, random_state=0, on_refit=steps.append)
    assert steps == [1, 2, 3, 4]
    assert (stability.patterns > 0.4).all()
    table = model.patterns()
    np.testing.assert_array_equal(table["stability"], stability.entries)
    model.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt").stability_
    assert again.refits == 4
    for name in ("patterns", "alterations", "entries"):
        np.testing.assert_array_equal(getattr(again, name), getattr(stability, name))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_stability(clear):
    planted, model = clear
    one, two = (model.assess_stability(planted.X, planted.y, 2, random_state=3).entries for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.slow
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
