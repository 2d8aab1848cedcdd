"""Patterns by likelihood: the search of `core/likelihood` on stacked rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from saltmine import _core
from saltmine.arrays import Bools, Floats, Indices
from saltmine.data.binary_model import BinaryModel
from saltmine.data.bits import BitMatrix
from saltmine.mdl.class_tests import size_strata, use_log_p
from saltmine.mdl.row_model import MORE_LIKELY, RowModel
from saltmine.solver.contrasts import Contrast, find_contrasts
from saltmine.solver.group_tests import failed_alterations
from saltmine.solver.kernels import make_data
from saltmine.solver.scoring import description_length, score_model
from saltmine.solver.solution import SearchSettings, Solution, Task, without_patterns

# Rows of all classes that count for a class beside its own where it has its own rates of items.
CLASS_PRIOR = 2.0
MOST_PATTERNS = 1000
# Share of the time, where it is limited, for looking for patterns.
LOOKING = 0.8
# Sets of items that classes have differently.
MOST_CONTRASTS = 30
# Nats that an item has to gain beside its odds to be one of the pattern.
MORE_FOR_ITEM = 0.3


def likelihood_search(task: Task, settings: SearchSettings) -> Solution:
    """Return the patterns that raise the likelihood of the rows by more than they cost, and pass their test.

    Rows and items of the task stand for one of the input each.
    """
    (m, n), n_classes = task.bits.shape, len(task.bits.blocks)
    labels = np.repeat(np.arange(n_classes), [rows.stop - rows.start for rows in task.bits.blocks])
    # One block: a bit for every row, in their order.
    columns = BitMatrix(task.matrix, [slice(0, m)]).columns
    most = MOST_PATTERNS if settings.max_rank is None else settings.max_rank
    observed = np.zeros((0, 0), dtype=np.uint64)
    least, n_threads = -float(np.log(settings.alpha)), settings.team.n_threads or 1
    # What comes after the search takes time as well.
    seconds = LOOKING * settings.deadline.left() if settings.deadline.is_set else -1.0
    options = settings.alterations, CLASS_PRIOR, least, most, n_threads, seconds
    found = _core.LikelihoodSearch(columns, observed, labels, *options)
    found.run()
    settings.deadline.was_over |= found.was_short()
    solution = _solution(task.bits, found, n, n_classes)
    if settings.alterations:
        solution = _with_contrasts(task.bits, solution, least, most, n_threads)
    solution = replace(solution, finished=not found.was_short())
    if not solution.rank:
        return solution
    assert solution.within is not None
    users = _users(task, labels, solution)
    solution = _without_unshown_alterations(task.bits, solution, users, settings.alpha)
    # Rows are those of the posterior, as `transform` gives them.
    assert solution.within is not None
    row_model = RowModel.estimate(task.matrix, labels, solution.model, solution.within)
    X, V = solution.model.X, solution.model.V
    use = row_model.use(task.matrix, X.T, V.transpose(0, 2, 1), np.eye(n_classes)[labels])
    model = BinaryModel(X, V, use > MORE_LIKELY)
    return replace(solution, model=model, length=description_length(task.bits, model), carriers=users)


def _users(task: Task, labels: Indices, solution: Solution) -> Bools:
    """Return which rows use a pattern, (m, r), by its shared items, whatever their class.

    Tests of classes must not know the class of a row when they decide what it uses.
    """
    assert solution.within is not None
    X, V = solution.model.X, np.zeros_like(solution.model.V)
    row_model = RowModel.estimate(task.matrix, labels, replace(solution.model, V=V), solution.within)
    patterns = X.T, V.transpose(0, 2, 1)
    of_class = softmax(row_model.nats(task.matrix, *patterns) + np.log(np.bincount(labels) / len(labels)), axis=1)
    users: Bools = row_model.use(task.matrix, *patterns, of_class) > MORE_LIKELY
    return users


def _with_contrasts(bits: BitMatrix, solution: Solution, least: float, most: int, n_threads: int) -> Solution:
    """Add sets of items that classes have differently by more than any of the items explains.

    Such sets need not go together within classes: of three crosses in a line, two are as frequent without the third.
    """
    c = len(bits.blocks)
    enough = least + float(np.log(c))
    within: Bools = np.zeros(0, dtype=bool) if solution.within is None else solution.within
    taken, numbers = list(solution.model.X[:, within].T), _class_numbers(bits)
    whole = solution.model.X[:, within] | solution.model.V[:, :, within].any(axis=0)
    used = solution.model.Y[:, within]
    # Rows of which a set says already that they are of the class, (m, c).
    told = np.zeros((bits.shape[0], c), dtype=bool)
    for rows_of_one in used.T:
        told[rows_of_one, _class_that_has_most(rows_of_one, numbers, c)] = True
    added, rows, evidence = list[Bools](), list[Bools](), list[float]()
    for found in find_contrasts(make_data(bits), bits.columns, enough, n_threads):
        if len(taken) >= min(most, solution.rank + MOST_CONTRASTS):
            break
        # What has half of all items in common with another set says the same.
        if any(2 * (items & found.items).sum() >= (items | found.items).sum() for items in taken):
            continue
        having = bits.layout.unpack(np.bitwise_and.reduce(bits.columns[found.items], axis=0)[None])[0]
        # So does a part of a pattern that most of these rows use.
        parts = 2 * (whole & found.items[:, None]).sum(axis=0) >= found.items.sum()
        if (2 * (used & having[:, None]).sum(axis=0) >= having.sum())[parts].any():
            continue
        a = _class_that_has_most(having, numbers, c)
        new = ~told[:, a]
        hits, left = (np.bincount(numbers[some], minlength=c) for some in (having & new, new))
        if _core.class_difference(hits, left, a) >= enough and _differs(bits, found, having, enough):
            told[having, a] = True
            taken.append(found.items)
            added.append(found.items)
            rows.append(having)
            evidence.append(found.evidence)
    if not added:
        return solution
    # What goes together only as classes differ is said by these sets where they have half of its items.
    X, anywhere = solution.model.X, np.any(added, axis=0)
    stays = within | (2 * (X & anywhere[:, None]).sum(axis=0) < X.sum(axis=0))
    kept = solution.model.keep(stays)
    model = BinaryModel(
        np.column_stack([kept.X, *added]),
        np.concatenate([kept.V, np.zeros((c, bits.shape[1], len(added)), dtype=bool)], axis=2),
        np.column_stack([kept.Y, *rows]),
    )
    before = np.zeros(0) if solution.evidence is None else solution.evidence[stays]
    shown = np.concatenate([before, evidence])
    within = np.concatenate([within[stays], np.zeros(len(added), dtype=bool)])
    return Solution(model, description_length(bits, model), -float(shown.sum()), evidence=shown, within=within)


def _differs(bits: BitMatrix, found: Contrast, rows: Bools, enough: float) -> bool:
    """Return whether classes have a set differently among rows of a size, and among those with one of its items."""
    sizes, items = np.array(bits.class_sizes), np.flatnonzero(found.items)
    having = np.array([rows[block].sum() for block in bits.blocks])
    differences = [_core.class_difference(having, sizes, a) for a in range(len(sizes))]
    a = int(np.argmax(differences))
    price = differences[a] - found.evidence
    among = [_core.class_difference(having, np.ascontiguousarray(bits.class_counts[:, i]), a) for i in items]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    strata = size_strata(bits.row_sizes, np.ones(len(rows), dtype=np.int64))
    by_size = -float(use_log_p(rows[:, None], labels, len(sizes), strata)[a, 0])
    return min(*among, by_size) - price >= enough


def _class_numbers(bits: BitMatrix) -> Indices:
    """Return the class of every stacked row."""
    return np.repeat(np.arange(len(bits.blocks)), [block.stop - block.start for block in bits.blocks])


def _class_that_has_most(rows: Bools, numbers: Indices, n_classes: int) -> int:
    """Return the class with the largest share of its rows among these."""
    sizes = np.bincount(numbers, minlength=n_classes)
    return int(np.argmax(np.bincount(numbers[rows], minlength=n_classes) / sizes))


def _without_unshown_alterations(bits: BitMatrix, solution: Solution, users: Bools, alpha: float) -> Solution:
    """Take away what classes add where its test does not show it: items are shared then, if that pays.

    Classes have the same items unless the data shows that they differ.
    """
    assert solution.evidence is not None
    assert solution.within is not None
    model = solution.model
    if not model.V.any():
        return solution
    scores = score_model(bits, model, None, alpha, (), (solution.evidence, solution.within), users)
    failed = failed_alterations(scores, (), alpha)[: len(model.V)]
    X, V = model.X.copy(), model.V & ~failed[:, None]
    for s in np.flatnonzero(failed.any(axis=0)):
        lost = np.flatnonzero(model.V[:, :, s].any(axis=0) & ~V[:, :, s].any(axis=0))
        size = int(X[:, s].sum())
        price = np.log(max(bits.shape[1] - size, 1) / max(size, 1)) + MORE_FOR_ITEM
        X[lost, s] = _gain_if_shared(bits, lost, users[:, s]) > price
    return replace(solution, model=BinaryModel(X, V, model.Y))


def _gain_if_shared(bits: BitMatrix, items: Indices, users: Bools) -> Floats:
    """Return what the likelihood gains, (k,), if rows that use a pattern have items more often than others."""
    columns = bits.layout.unpack(bits.columns[items])
    ones, rest = columns[:, users].sum(axis=1), columns[:, ~users].sum(axis=1)
    n_users, n_rest = int(users.sum()), int((~users).sum())
    share, base = (ones + 0.5) / (n_users + 1), (rest + 0.5) / (n_rest + 1)
    gain: Floats = ones * np.log(share / base) + (n_users - ones) * np.log((1 - share) / (1 - base))
    return np.where(share > base, gain, 0.0)


def _solution(bits: BitMatrix, found: _core.LikelihoodSearch, n_items: int, n_classes: int) -> Solution:
    rank = int(found.n_patterns())
    if not rank:
        return without_patterns(bits)
    X = np.zeros((n_items, rank), dtype=bool)
    V, Y = np.zeros((n_classes, n_items, rank), dtype=bool), np.zeros((bits.shape[0], rank), dtype=bool)
    within: Bools = np.zeros(rank, dtype=bool)
    for s in range(rank):
        items, in_class, rows, _, _, within[s] = found.pattern(s)
        of_classes = in_class.reshape(len(items), n_classes).astype(bool)
        is_shared = of_classes.all(axis=1)
        X[items[is_shared], s] = True
        V[:, items[~is_shared], s] = of_classes[~is_shared].T
        Y[rows, s] = True
    model = BinaryModel(X, V, Y)
    length = description_length(bits, model)
    # The more evidence, the better a restart.
    evidence = np.array(found.evidence())
    return Solution(model, length, -float(evidence.sum()), evidence=evidence, within=within)
