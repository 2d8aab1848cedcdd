"""Fits with groups: what one group has is no finding, and claims about classes count groups."""

import re

import numpy as np
import pandas as pd
import pytest

import saltmine
from saltmine import CSalt, Primp

GROUPS, ROWS_EACH, ITEMS = 60, 4, 120


def make_rows(seed, by_pairs, altered):
    """Return rows of groups: six have patterns of their own, two in five share one that class 1 may alter."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(GROUPS), ROWS_EACH)
    y = np.arange(len(groups)) % 2 if by_pairs else groups % 2
    rows = rng.random((len(groups), ITEMS)) < 0.03
    for g in range(6):
        rows[np.ix_(groups == g, rng.choice(ITEMS, 8, replace=False))] |= rng.random((ROWS_EACH, 8)) < 0.95
    using = (rng.random(GROUPS) < 0.4)[groups]
    items = rng.permutation(ITEMS)[:14]
    rows[np.ix_(using, items[:8])] |= rng.random((using.sum(), 8)) < 0.9
    # Without alteration, half of the groups that share the pattern have more of it, whatever their class.
    more = using & ((y == 1) if altered else (rng.random(GROUPS) < 0.5)[groups])
    rows[np.ix_(more, items[8:])] |= rng.random((more.sum(), 6)) < 0.9
    return rows.astype(int), y, groups, items


def kinds_of(model):
    return model.patterns().groupby("pattern")["kind"].agg(set).tolist()


@pytest.mark.parametrize("by_pairs", [False, True])
def test_groups_and_alterations_are_told_apart(by_pairs):
    X, y, groups, items = make_rows(0, by_pairs, altered=True)
    model = CSalt(random_state=0).fit(X, y, groups=groups)
    kinds = kinds_of(model)
    assert kinds[0] == {"shared", "added"}
    assert set(np.flatnonzero(model.components_[0])) == set(items[:8])
    assert set(np.flatnonzero(model.alterations_[1, 0])) == set(items[8:])
    assert kinds[1:] == [{"group"}] * (len(kinds) - 1)
    assert len(kinds) >= 6
    assert model.of_few_groups_.sum() == len(kinds) - 1


@pytest.mark.slow
@pytest.mark.parametrize("by_pairs", [False, True])
def test_what_groups_have_says_nothing_of_classes(by_pairs):
    for seed in range(5000, 5004):
        X, y, groups, _ = make_rows(seed, by_pairs, altered=False)
        model = CSalt(random_state=0).fit(X, y, groups=groups)
        assert not {"added", "mostly", "only"} & set(model.patterns()["kind"])
        assert (model.differences()["q_value"] > 0.05).all()


@pytest.mark.slow
def test_copies_of_rows_are_no_evidence():
    rng = np.random.default_rng(0)
    X = (rng.random((40, 30)) < 0.2).astype(int)
    again = np.repeat(np.arange(40), 6)
    y = np.repeat(["a", "b"], 20)[again]
    by_rows = CSalt(random_state=0).fit(X[again], y)
    assert by_rows.n_components_ > 0
    by_groups = CSalt(random_state=0).fit(X[again], y, groups=again)
    assert set(by_groups.patterns()["kind"]) <= {"group", "typical"}
    # Also a pattern of several groups is of the kind "group": it is not significant when groups are counted.
    of_groups = [pattern for pattern in by_groups.summary().patterns if pattern.kind == "group"]
    assert max(len(pattern.groups) for pattern in of_groups) > 1
    assert all(pattern.evidence < -np.log(0.01) for pattern in of_groups)


@pytest.mark.slow
def test_usage_is_what_transform_gives_after_alterations_were_taken_away():
    X, y, groups, _ = make_rows(3, False, altered=True)
    # Groups of fifteen rows are too few to say anything of classes.
    model = CSalt(random_state=0).fit(X, y, groups=groups // 15)
    assert not model.alterations_.any()
    same = model.transform(X, y) == model.usage_
    assert same.mean() > 0.99


@pytest.mark.slow
def test_every_row_a_group_is_no_groups():
    X, y, _, _ = make_rows(1, False, altered=True)
    model, alone = CSalt(random_state=0).fit(X, y), CSalt(random_state=0).fit(X, y, groups=np.arange(len(y)))
    assert alone.groups_ is None
    pd.testing.assert_frame_equal(model.patterns(), alone.patterns())


@pytest.mark.slow
def test_groups_are_saved_with_their_name(tmp_path):
    X, y, groups, _ = make_rows(2, True, altered=True)
    patients = pd.Series([f"P{g:02}" for g in groups], name="patient")
    model = CSalt(random_state=0).fit(X, y, groups=patients)
    model.save(tmp_path / "model.salt")
    again = saltmine.load(tmp_path / "model.salt")
    assert again.group_name_ == "patient"
    np.testing.assert_array_equal(again.groups_, patients)
    pd.testing.assert_frame_equal(again.patterns(), model.patterns())
    pd.testing.assert_frame_equal(again.differences(), model.differences())


def test_methods_without_classes_take_groups_too():
    X, _, groups, _ = make_rows(0, False, altered=True)
    kinds = kinds_of(Primp(random_state=0).fit(X, groups=groups))
    assert {"shared"} in kinds
    assert {"group"} in kinds


@pytest.mark.parametrize(("groups_with_it", "agree"), [(6, False), (7, True)])
def test_an_item_that_rows_and_groups_tell_differently_differs_in_nothing(groups_with_it, agree):
    """One of ten groups of class 0 has it, in 32 of 50 rows, and six or seven of class 1, with two rows each."""
    rows_of = [32, *[2] * 19]
    groups = np.repeat(np.arange(20), rows_of)
    has_it = np.isin(np.arange(20), [0, *range(10, 10 + groups_with_it)])
    rows = np.column_stack([has_it[groups], np.random.default_rng(0).random((len(groups), 8)) < 0.3])
    table = CSalt(random_state=0).fit(rows, groups >= 10, groups=groups).differences(max_p=1)
    (found,) = table[table["item"] == 0].to_dict("records")
    assert (found["class"], found["p_value"] < 0.05) == (agree, agree)
    assert agree or found["p_value"] == 1


@pytest.mark.slow
def test_stability_draws_the_groups_of_the_fit():
    X, y, groups, _ = make_rows(0, False, altered=True)
    model = CSalt(random_state=0).fit(X, y, groups=groups)
    with_fit = model.assess_stability(X, refits=2, random_state=0).patterns
    given = model.assess_stability(X, refits=2, random_state=0, groups=groups).patterns
    np.testing.assert_array_equal(with_fit, given)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "X has 4 rows, but groups has 2 names; give every row one group."),
        (["a", None, "b", "b"], "groups has no name for row 1 (None); give it one, or a group of its own."),
        (["a", "b", "b", float("nan")], "groups has no name for row 3 (nan)"),
        (["a"] * 4, "All rows are in one group, 'a', so nothing can be said; leave groups out."),
        ([["a"], ["b"], ["c"], ["d"]], "groups must be one name per row, not an array of 2 dimensions."),
        (np.ma.array(["a", "b", "c", "c"], mask=[0, 0, 1, 0]), "groups has no name for row 2 (masked)"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        CSalt().fit([[0, 1], [1, 0], [1, 1], [0, 1]], [0, 0, 1, 1], groups=groups)


@pytest.mark.slow
def test_the_noun_is_the_name_of_the_column():
    X, y, groups, _ = make_rows(0, False, altered=True)
    frame = pd.DataFrame({"patient": groups})
    assert CSalt(random_state=0).fit(X, y, groups=frame).group_name_ == "patient"
    assert CSalt(random_state=0).fit(X, y, groups=pd.Series(groups, name=3)).group_name_ == "group"


@pytest.mark.slow
def test_stability_with_few_groups():
    X, y, groups, _ = make_rows(0, True, altered=True)
    model = CSalt(random_state=0).fit(X, y, groups=groups % 3)
    assert model.assess_stability(X, refits=3, random_state=0).patterns.shape == (model.n_components_,)


@pytest.mark.slow
def test_groups_whose_rows_do_not_occur_do_not_count():
    X, y, groups, _ = make_rows(0, False, altered=True)
    weights = (groups != 1).astype(int)
    weighted = CSalt(random_state=0).fit(X, y, groups=groups, sample_weight=weights).summary()
    without = CSalt(random_state=0).fit(X[groups != 1], y[groups != 1], groups=groups[groups != 1]).summary()
    assert weighted.headline == without.headline
    assert weighted.n_groups == without.n_groups == GROUPS - 1
    assert [pattern.groups for pattern in weighted.patterns] == [pattern.groups for pattern in without.patterns]
