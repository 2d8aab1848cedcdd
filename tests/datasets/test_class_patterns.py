import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine import CSalt
from saltmine.datasets import make_class_patterns

SMALL = {"n_classes": 3, "class_size": 200, "n_features": 400}


@pytest.mark.slow
def test_the_defaults_are_those_of_the_protocol():
    made = make_class_patterns(random_state=0)
    assert made.X.shape == (2000, 5000)
    assert made.X.dtype == bool
    assert np.bincount(made.true_y).tolist() == [1000, 1000]
    assert [len(of_class) for of_class in made.patterns] == [10, 10]
    sizes = [len(items) for of_class in made.patterns for items in of_class]
    assert min(sizes) >= 5
    assert max(sizes) <= 14
    assert (made.y != made.true_y).mean() == pytest.approx(0.1, abs=0.03)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000), per_row=st.integers(0, 4), random_items=st.integers(0, 5), n_classes=st.integers(2, 4)
)
def test_without_losses_a_row_has_its_patterns_and_its_random_items(seed, per_row, random_items, n_classes):
    made = make_class_patterns(
        n_classes, 30, 100, 4, (2, 3), per_row, loss=0, random_items=random_items, random_state=seed
    )
    for row, a in zip(made.X.toarray(), made.true_y, strict=True):
        complete = [items for items in made.patterns[a] if row[items].all()]
        # Random items may complete a pattern that was not planted.
        assert len(complete) >= per_row
        explained = np.unique(np.concatenate([[], *complete]))
        assert row.sum() <= len(explained) + random_items
        assert row.sum() >= random_items


def test_every_pattern_of_a_class_is_in_its_share_of_the_rows():
    made = make_class_patterns(**SMALL, loss=0, random_items=0, wrong_labels=0, random_state=1)
    for a, of_class in enumerate(made.patterns):
        rows = made.X.toarray()[made.true_y == a]
        for items in of_class:
            assert rows[:, items].all(axis=1).mean() == pytest.approx(3 / 10, abs=0.15)


def test_items_are_lost_with_the_given_probability():
    made = make_class_patterns(2, 2000, 1000, 1, (10, 10), 1, loss=0.025, random_items=0, random_state=2)
    for a, (items,) in enumerate(made.patterns):
        lost = 1 - made.X.toarray()[made.true_y == a][:, items].mean()
        assert lost == pytest.approx(0.025, abs=0.006)


@pytest.mark.parametrize("wrong", [0.0, 0.3, 1.0])
def test_wrong_labels_are_spread_over_the_other_classes(wrong):
    made = make_class_patterns(4, 2000, 50, 2, (2, 3), 1, wrong_labels=wrong, random_state=3)
    given_as = np.zeros((4, 4))
    np.add.at(given_as, (made.true_y, made.y), 1 / 2000)
    expected = np.full((4, 4), wrong / 3)
    np.fill_diagonal(expected, 1 - wrong)
    np.testing.assert_allclose(given_as, expected, atol=0.05)


def test_labels_change_nothing_else():
    right, wrong = (make_class_patterns(**SMALL, wrong_labels=share, random_state=4) for share in (0, 0.5))
    assert (right.X != wrong.X).nnz == 0
    np.testing.assert_array_equal(right.true_y, wrong.true_y)


def test_the_same_seed_gives_the_same_data():
    one, two, other = (make_class_patterns(**SMALL, random_state=seed) for seed in (5, 5, 6))
    assert (one.X != two.X).nnz == 0
    np.testing.assert_array_equal(one.y, two.y)
    assert (one.X != other.X).nnz > 0


def test_estimators_take_the_data_as_it_is():
    made = make_class_patterns(2, 40, 30, 2, (5, 6), 1, random_items=1, random_state=7)
    assert CSalt(random_state=0).fit(made.X, made.y).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_classes": 0}, "n_classes must be a whole number of at least 1"),
        ({"n_features": 2.5}, "n_features must be a whole number"),
        ({"n_classes": 1}, "With one class no label can be wrong; set wrong_labels=0"),
        ({"patterns_per_row": 11}, "cannot have 11 different patterns, as its class has 10"),
        ({"random_items": 500}, "500 random items do not fit into 400 columns"),
        ({"pattern_size": (6, 5)}, "the fewest and the most items of a pattern"),
        ({"pattern_size": (5, 500)}, "between 1 and the 400 columns"),
        ({"pattern_size": 7}, "the fewest and the most items of a pattern"),
        ({"loss": 1.5}, "loss must be"),
        ({"wrong_labels": -0.1}, "wrong_labels must be"),
    ],
)
def test_impossible_wishes_are_refused_with_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_class_patterns(**(SMALL | arguments))
