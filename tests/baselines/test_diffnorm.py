"""DiffNorm: covers, lengths and the search against plain versions of them, and the estimator."""

import re
from math import log, log2

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import DiffNorm, metrics
from saltmine.baselines.diffnorm import class_subsets
from saltmine.baselines.diffnorm_coding import INITIAL_SLOTS, CodingSets, integer_code
from saltmine.baselines.diffnorm_search import Candidates, Timer, add_patterns, diffnorm, prune
from saltmine.data.bits import BitMatrix
from saltmine.deadline import Deadline

# ---------------------------------------------------------------- plain versions


def plain_cover(row, patterns, rows):
    """Cover one row by patterns, given as tuples; the order is by length, support in all rows, and items."""
    ordered = sorted(patterns, key=lambda items: (-len(items), -int(rows[:, items].all(axis=1).sum()), items))
    left, used = set(np.flatnonzero(row).tolist()), []
    for items in ordered:
        if left.issuperset(items):
            used.append(items)
            left -= set(items)
    return used + [(item,) for item in sorted(left)]


def plain_number(number):
    length, term = log2(2.865064), log2(number)
    while term > 0:
        length, term = length + term, log2(term)
    return length * log(2)


def plain_length(rows, blocks, subsets, sets):
    """Encode code after code with the counts so far; ``sets`` has a list of patterns for every subset."""
    n, ones = rows.shape[1], rows.sum()
    total = 0.0
    for held in sets:
        total += plain_number(1 + len(held))
        for items in held:
            total += plain_number(len(items)) - sum(log(rows[:, item].sum() / ones) for item in items)
    for a, block in enumerate(blocks):
        patterns = [items for classes, held in zip(subsets, sets, strict=True) if classes[a] for items in held]
        counts = dict.fromkeys(patterns + [(item,) for item in range(n)], 0.5)
        for row in rows[block]:
            for items in plain_cover(row, patterns, rows):
                total -= log(counts[items] / sum(counts.values()))
                counts[items] += 1
    return total


def sets_of(coding):
    return [
        [items for slot, items in coding.patterns.items() if coding.set_of[slot] == home]
        for home in range(len(coding.subsets))
    ]


def assert_as_from_scratch(coding, rows, blocks):
    """Compare covers, counts and length with plain ones."""
    assert coding.length == pytest.approx(plain_length(rows, blocks, coding.subsets, sets_of(coding)), rel=1e-10)
    bits = BitMatrix(rows, blocks)
    usage = bits.layout.unpack(coding.cover.usage.T)
    slots = [*range(coding.n_items), *coding.patterns]
    assert not np.delete(usage, slots, axis=0).any()
    for a, block in enumerate(blocks):
        own = {slot: items for slot, items in coding.patterns.items() if coding.subsets[coding.set_of[slot], a]}
        assert len(set(own.values())) == len(own)
        slot_of = {items: slot for slot, items in own.items()} | {(item,): item for item in range(coding.n_items)}
        for k, row in enumerate(rows[block], start=block.start):
            expected = {slot_of[items] for items in plain_cover(row, list(own.values()), rows)}
            assert set(np.flatnonzero(usage[:, k]).tolist()) == expected
        np.testing.assert_array_equal(coding.cover.counts[a], usage[:, block].sum(axis=1))


def correlated(seed, m=40, n=9):
    """Rows that several overlapping patterns and some noise put together."""
    rng = np.random.default_rng(seed)
    patterns = rng.random((4, n)) < 0.4
    rows = (rng.random((m, 4)) < 0.4) @ patterns
    rows ^= rng.random((m, n)) < 0.05
    rows[0] = True
    return rows


BLOCKS = [slice(0, 18), slice(18, 30), slice(30, 40)]
SUBSETS = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], dtype=bool)
DEFAULT = np.array([[1, 1], [1, 0], [0, 1]], dtype=bool)


def ignore(rank, length, done):
    """Take a report of progress, and do nothing."""


# ---------------------------------------------------------------- codes, covers, steps


def test_the_code_of_integers_is_one_of_a_complete_code():
    numbers = range(1, 200)
    lengths = [integer_code(k) for k in numbers]
    assert lengths == pytest.approx([plain_number(k) for k in numbers])
    assert np.all(np.diff(lengths) > 0)
    # Kraft's inequality, which a decodable code has to satisfy.
    assert np.exp(-np.array(lengths)).sum() < 1


@pytest.mark.parametrize("seed", range(4))
def test_every_step_leaves_the_state_that_would_be_built_from_scratch(seed):
    rows = correlated(seed)
    coding = CodingSets(BitMatrix(rows, BLOCKS), SUBSETS)
    timer = Timer(coding, Deadline(), ignore)
    candidates = Candidates(coding, timer)
    assert_as_from_scratch(coding, rows, BLOCKS)
    kept = 0
    while (pair := candidates.best()) is not None:
        addition = coding.try_adding(coding.union(*pair))
        if addition is None:
            candidates.reject(*pair)
            continue
        before, uses = coding.length, coding.cover.counts.sum(axis=0)
        changed = coding.add(addition)
        assert_as_from_scratch(coding, rows, BLOCKS)
        added = coding.length
        changed |= prune(coding, uses, timer)
        assert_as_from_scratch(coding, rows, BLOCKS)
        assert coding.length <= added < before
        candidates.update(changed)
        kept += 1
    assert kept > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_pattern_is_added_to_the_set_where_the_total_is_shortest(seed):
    rows = correlated(seed)
    coding = CodingSets(BitMatrix(rows, BLOCKS), SUBSETS)
    rng = np.random.default_rng(seed)
    answers = set()
    for _ in range(40):
        items = tuple(sorted(rng.choice(rows.shape[1], rng.integers(2, 5), replace=False).tolist()))
        if items in coding.patterns.values():
            continue
        # A pattern that no row needs any longer goes with the addition.
        lengths = [_shortest_without_idle(rows, sets_of(coding), home, items) for home in range(len(SUBSETS))]
        addition = coding.try_adding(items)
        answers.add(addition is None)
        assert (addition is None) == (min(lengths) > coding.length - 1e-9)
        if addition is not None:
            assert addition.change.length == pytest.approx(min(lengths), rel=1e-10)
            coding.add(addition)
            assert_as_from_scratch(coding, rows, BLOCKS)
    assert answers == {True, False}


def _shortest_without_idle(rows, sets, home, items):
    sets = [held + [items] * (j == home) for j, held in enumerate(sets)]
    used = [set() for _ in sets]
    for a, block in enumerate(BLOCKS):
        patterns = [items for j, held in enumerate(sets) if SUBSETS[j, a] for items in held]
        for row in rows[block]:
            for found in plain_cover(row, patterns, rows):
                for j, held in enumerate(sets):
                    if SUBSETS[j, a] and found in held:
                        used[j].add(found)
    kept = [[found for found in held if found in used[j]] for j, held in enumerate(sets)]
    return plain_length(rows, BLOCKS, SUBSETS, kept)


@pytest.mark.parametrize("seed", range(4))
def test_a_pattern_is_dropped_just_where_the_total_falls(seed):
    rows = correlated(seed)
    blocks, subsets = [slice(0, 25), slice(25, 40)], DEFAULT
    coding = CodingSets(BitMatrix(rows, blocks), subsets)
    for first in range(rows.shape[1]):
        for second in range(first + 1, rows.shape[1]):
            addition = coding.try_adding((first, second))
            if addition is not None:
                coding.add(addition)
    for slot in list(coding.patterns):
        sets = sets_of(coding)
        sets[coding.set_of[slot]].remove(coding.patterns[slot])
        without = plain_length(rows, blocks, subsets, sets)
        change = coding.try_removing(slot)
        assert (change is not None) == (without < coding.length - 1e-9)
        if change is not None:
            assert change.length == pytest.approx(without, rel=1e-10)
            coding.remove(slot, change)
            assert_as_from_scratch(coding, rows, blocks)


def test_a_pattern_of_one_class_moves_to_the_shared_set_when_another_class_needs_it():
    rows = np.zeros((70, 5), dtype=bool)
    rows[:20, :2] = True
    rows[20:40] = True
    rows[40:, 2:] = True
    blocks = [slice(0, 20), slice(20, 70)]
    coding = CodingSets(BitMatrix(rows, blocks), DEFAULT)
    # The third pattern takes item 2 away from the first, so that the second class has a use for the second.
    for items, home in [((0, 1, 2), 2), ((0, 1), 1), ((2, 3, 4), 2), ((0, 1), 0)]:
        addition = coding.try_adding(items)
        assert addition.set_index == home
        coding.add(addition)
        assert_as_from_scratch(coding, rows, blocks)
    assert sets_of(coding) == [[(0, 1)], [], [(2, 3, 4)]]
    assert coding.try_adding((0, 1)) is None


# ---------------------------------------------------------------- the search


def without_overlap(uses, seed=0, width=5, m=60):
    """Plant patterns of items of their own; ``uses[s, a]`` says whether class a uses pattern s."""
    rng = np.random.default_rng(seed)
    n_patterns, c = uses.shape
    y = np.repeat(np.arange(c), m)
    usage = (rng.random((len(y), n_patterns)) < 0.5) & uses.T[y]
    components = np.kron(np.eye(n_patterns, dtype=bool), np.ones((1, width), dtype=bool))
    return usage @ components, y, components, usage


def tiles(components, usage):
    pairs = zip(components, usage.T, strict=True)
    return {(tuple(np.flatnonzero(items)), tuple(np.flatnonzero(rows))) for items, rows in pairs}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("subsets", "homes"),
    [
        ([[1, 1], [1, 0], [0, 1]], [0, 1, 2, 0]),
        ([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 3, 1, 2, 0]),
        ([[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]], [0, 1, 2, 3]),
    ],
)
def test_patterns_that_do_not_overlap_come_back_in_their_sets(subsets, homes, seed):
    subsets = np.array(subsets, dtype=bool)
    X, y, components, usage = without_overlap(subsets[homes], seed)
    blocks = [slice(60 * a, 60 * (a + 1)) for a in range(subsets.shape[1])]
    coding = CodingSets(BitMatrix(X, blocks), subsets)
    add_patterns(coding, Timer(coding, Deadline(), ignore))
    found = {(items, coding.set_of[slot]) for slot, items in coding.patterns.items()}
    assert found == {
        (tuple(np.flatnonzero(items).tolist()), home) for items, home in zip(components, homes, strict=True)
    }
    model = DiffNorm(subsets=[np.flatnonzero(classes).tolist() for classes in subsets]).fit(X, y)
    assert tiles(model.components_, model.usage_) == tiles(components, usage)
    assert not model.alterations_.any()


def test_the_length_falls_with_every_step_and_ends_at_what_the_patterns_cost():
    rows = correlated(5, m=80)
    blocks = [slice(0, 50), slice(50, 80)]
    reports = []
    coding = CodingSets(BitMatrix(rows, blocks), DEFAULT)

    def on_step(rank, length, done):
        assert_as_from_scratch(coding, rows, blocks)
        reports.append((rank, length, done))

    timer = Timer(coding, Deadline(), on_step)
    history = add_patterns(coding, timer)
    assert len(history) > 3
    assert np.all(np.diff(history) < 0)
    assert set(history) <= {length for _, length, _ in reports}
    shares = [done for *_, done in reports]
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] <= 1
    solution = diffnorm(BitMatrix(rows, blocks), DEFAULT, Deadline(), lambda rank, length, done: None)
    assert solution.history == history
    assert solution.n_iter == len(history) - 1
    assert history[-1] == pytest.approx(plain_length(rows, blocks, DEFAULT, sets_of(coding)), rel=1e-10)


def test_no_pair_is_left_whose_union_shortens_the_total_though_its_estimate_says_so():
    rows = correlated(6)
    coding = CodingSets(BitMatrix(rows, BLOCKS), SUBSETS)
    timer = Timer(coding, Deadline(), ignore)
    add_patterns(coding, timer)
    afresh = Candidates(coding, timer)
    while (pair := afresh.best()) is not None:
        assert coding.try_adding(coding.union(*pair)) is None
        afresh.reject(*pair)
    assert coding.patterns


def test_the_best_candidate_is_the_pair_that_gains_most_among_single_items():
    # Without longer patterns in the way, the union replaces both items wherever they meet: the estimate is the gain.
    rows = correlated(2, m=200)
    blocks = [slice(0, 120), slice(120, 200)]
    coding = CodingSets(BitMatrix(rows, blocks), DEFAULT)
    x, y = Candidates(coding, Timer(coding, Deadline(), ignore)).best()
    additions = [coding.try_adding((a, b)) for a in range(rows.shape[1]) for b in range(a + 1, rows.shape[1])]
    shortest = min(addition.change.length for addition in additions if addition is not None)
    assert coding.try_adding(coding.union(x, y)).change.length == pytest.approx(shortest, rel=1e-3)


def test_sparse_noise_has_no_patterns():
    rng = np.random.default_rng(0)
    bits = BitMatrix(rng.random((200, 40)) < 0.04, [slice(0, 90), slice(90, 200)])
    solution = diffnorm(bits, DEFAULT, Deadline(), lambda rank, length, done: None)
    assert solution.model.rank == 0
    assert len(solution.history) == 1


def test_there_is_room_for_more_patterns_than_at_first():
    rng = np.random.default_rng(1)
    # Codes know no zeros: in dense noise, items that meet by chance pay.
    rows, blocks = rng.random((150, 50)) < 0.4, [slice(0, 70), slice(70, 150)]
    coding = CodingSets(BitMatrix(rows, blocks), DEFAULT)
    add_patterns(coding, Timer(coding, Deadline(), ignore))
    assert len(coding.patterns) > INITIAL_SLOTS
    assert_as_from_scratch(coding, rows, blocks)


# ---------------------------------------------------------------- the estimator


def test_lengths_of_the_estimator_are_f_and_its_own(planted):
    model = DiffNorm().fit(planted.X, planted.y)
    f = metrics.description_length(planted.X, planted.y, model.components_, model.alterations_, model.usage_)
    assert model.description_length_ == pytest.approx(f)
    assert model.encoded_length_ == model.history_[-1] < model.history_[0]
    assert model.n_iter_ == len(model.history_) - 1
    # Covers have no item that the row lacks, and none twice.
    covered = model.usage_.astype(int) @ model.components_
    assert np.all(covered <= planted.X)
    assert model.n_components_ > 0


def test_data_without_ones_costs_nothing():
    model = DiffNorm().fit(np.zeros((4, 3)), [0, 0, 1, 1])
    assert model.n_components_ == 0
    assert model.encoded_length_ == 0


def test_sparse_input_order_of_rows_and_labels_change_nothing(planted):
    model = DiffNorm().fit(planted.X, planted.y)
    sparse = DiffNorm().fit(sp.csr_array(planted.X), planted.y)
    np.testing.assert_array_equal(sparse.usage_, model.usage_)
    order = np.random.default_rng(0).permutation(len(planted.y))
    shuffled = DiffNorm().fit(planted.X[order], np.array(["a", "b"])[planted.y[order]])
    assert shuffled.encoded_length_ == pytest.approx(model.encoded_length_)
    assert tiles(shuffled.components_, shuffled.usage_) == tiles(model.components_, model.usage_[order])


def test_patterns_of_a_subset_are_used_by_its_classes_only():
    X, y, components, usage = without_overlap(np.ones((2, 3), dtype=bool))
    labels = np.array(["x", "y", "z"])[y]
    model = DiffNorm(subsets=[["z", "x"]]).fit(X, labels)
    assert tiles(model.components_, model.usage_) == tiles(components, usage & (labels != "y")[:, None])


def test_the_default_subsets_are_all_classes_and_each_alone():
    np.testing.assert_array_equal(class_subsets(None, ["a", "b"]), DEFAULT)
    np.testing.assert_array_equal(class_subsets(None, ["a"]), [[True]])


def test_the_time_can_end_before_the_first_pattern(planted):
    model = DiffNorm(max_time=1e-9).fit(planted.X, planted.y)
    assert model.n_components_ == 0
    assert not model.finished_
    assert model.description_length_ == model.null_description_length_


def test_an_interrupted_fit_leaves_the_estimator_as_it_was(planted):
    calls = []

    def stop(now):
        calls.append(now)
        if len(calls) > 3:
            raise KeyboardInterrupt

    model = DiffNorm().fit(planted.X, planted.y)
    before = dict(vars(model.set_params(callback=stop, subsets=[[0], [1]])))
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted.X[:, ::-1], planted.y)
    assert vars(model) == before
    assert [now.rank for now in calls] != [0] * len(calls)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_time": 0}, "max_time must be a number of seconds above 0, or None, not 0"),
        ({"max_time": -1.0}, "max_time must be a number of seconds above 0"),
        ({"max_time": float("nan")}, "max_time must be a number of seconds above 0"),
        ({"max_time": "long"}, "max_time must be a number of seconds above 0, or None, not 'long'"),
        ({"max_time": True}, "max_time must be a number of seconds above 0, or None, not True"),
        ({"subsets": []}, "subsets must be a list of lists of labels"),
        ({"subsets": "ab"}, "subsets must be a list of lists of labels"),
        ({"subsets": 3}, "subsets must be a list of lists of labels"),
        ({"subsets": ["a"]}, "subsets must be a list of lists of labels"),
        ({"subsets": [["a"], []]}, "subsets holds an empty list; give every subset the label of a class at least"),
        ({"subsets": [["a"], ["c"]]}, "subsets holds the label 'c', which y has not; y has 'a', 'b'"),
        ({"subsets": [["a", "a"]]}, "subsets holds the label 'a' twice in ['a', 'a']"),
        ({"subsets": [["a", "b"], ["b", "a"]]}, "subsets holds the classes ['b', 'a'] twice"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        DiffNorm(**parameters).fit(np.eye(4), ["a", "a", "b", "b"])
