import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltmine.datasets import C2, C3, C4, make_planted


@settings(max_examples=25, deadline=None)
@given(
    n=st.sampled_from([100, 230, 500]),
    sizes=st.lists(st.sampled_from([60, 100, 210]), min_size=1, max_size=5),
    rank=st.integers(0, 12),
    seed=st.integers(0, 1000),
)
def test_the_paper_s_constraints_hold(n, sizes, rank, seed):
    planted = make_planted(n, sizes, rank, noise=0, random_state=seed)
    X, V, Y = planted.components, planted.alterations, planted.usage
    if rank == 0:
        assert not planted.X.any()
        return
    own = (X & (X.sum(axis=0) == 1)).sum(axis=1)
    assert (own >= n / 100).all()
    assert (X.sum(axis=1) <= max(n / 10, np.ceil(n / 100))).all()
    for a, size in enumerate(sizes):
        rows = Y[planted.y == a]
        used = rows.any(axis=0)
        own = (rows & (rows.sum(axis=1) == 1)[:, None]).sum(axis=0)
        assert (own[used] >= size / 100).all()
        assert (rows.sum(axis=0) <= max(size / 10, np.ceil(size / 100))).all()
        # No alteration where nobody uses the pattern.
        assert not V[a][~used].any()
    assert not (X & V).any()
    if len(sizes) > 1:
        assert not V.all(axis=0).any()
    assert (V.sum(axis=(0, 2)) <= 2 / 3 * X.sum(axis=1)).all()


@pytest.mark.parametrize(("membership", "c"), [(C2, 2), (C3, 3), (C4, 4)])
def test_classes_use_the_patterns_that_the_membership_gives_them(membership, c):
    planted = make_planted(500, [200] * c, 2 * membership.shape[1], random_state=0)
    used = np.stack([planted.usage[planted.y == a].any(axis=0) for a in range(c)])
    np.testing.assert_array_equal(used, np.tile(membership, 2))
    # Only what several classes share is altered, and never in all of them.
    shared = membership.sum(axis=0) > 1
    np.testing.assert_array_equal(planted.alterations.any(axis=(0, 2)) & ~np.tile(shared, 2), False)
    assert planted.alterations.any()


def test_without_noise_the_data_is_the_boolean_product():
    planted = make_planted(100, [70, 80], 5, noise=0, random_state=1)
    for j, a in enumerate(planted.y):
        used = planted.usage[j]
        expected = (planted.components | planted.alterations[a])[used].any(axis=0)
        np.testing.assert_array_equal(planted.X[j], expected)


def test_noise_flips_the_given_share_of_cells():
    clean = make_planted(300, [300, 300], 6, noise=0, random_state=2)
    noisy = make_planted(300, [300, 300], 6, noise=0.1, random_state=2)
    np.testing.assert_array_equal(clean.components, noisy.components)
    assert (clean.X != noisy.X).mean() == pytest.approx(0.1, abs=0.005)


def test_the_same_seed_gives_the_same_data():
    one, two = (make_planted(100, [60, 60], 4, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": 1.5}, "noise is the probability of a flip"),
        ({"class_sizes": []}, "at least one column, one class"),
        ({"class_sizes": [5, 0]}, "one row in every class"),
        ({"rank": -1}, "rank >= 0"),
        ({"membership": [[1, 0]]}, r"one row per class \(2\)"),
        ({"class_sizes": [10, 10], "rank": 30}, "do not fit into class 0 with 10 rows; plant fewer"),
        ({"n_features": 10, "rank": 30}, "do not fit into 10 columns"),
    ],
)
def test_impossible_wishes_are_refused_with_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_planted(**({"n_features": 100, "class_sizes": [50, 50], "rank": 3} | arguments))


@pytest.mark.parametrize("wrong", [{"n_features": 100.0}, {"rank": 2.5}, {"class_sizes": 60}])
def test_sizes_are_whole_numbers(wrong):
    with pytest.raises(TypeError, match="must be whole numbers and class_sizes a list of them"):
        make_planted(**({"n_features": 100, "class_sizes": [50, 50], "rank": 3} | wrong))
