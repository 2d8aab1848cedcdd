"""Arrays that are not what they say: they give the model of the proper array, or one sentence.

`benchmarks.odd_arrays` tries many more of them, each in a process of its own.
"""

import re

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from saltmine import Asso, CSalt, Dbssl, DiffNorm, Prepare, Primp
from saltmine.data import blocks, labels, validation
from saltmine.data.labels import check_n_classes, class_numbers, group_numbers, row_counts, score_weights
from saltmine.data.lazy import open_blocks
from saltmine.data.validation import as_binary, as_bools, check_n_columns
from saltmine.datasets import make_planted
from saltmine.memory import MemoryLimitError
from saltmine.metrics import description_length, residual
from tests.helpers.models import assert_same_model


@pytest.fixture(scope="module")
def planted():
    return make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)


@pytest.fixture(scope="module")
def model(planted):
    return CSalt(random_state=0).fit(planted.X, planted.y)


def odd(cells):
    """Return truth values whose bytes are not 0 and 1, as those of masks that are read from a buffer."""
    cells = np.asarray(cells, dtype=bool)
    drawn = np.random.default_rng(1).integers(2, 256, size=cells.shape).astype(np.uint8)
    return np.where(cells, drawn, np.uint8(0)).view(bool)


# ------------------------------------------------------------------ truth values


@pytest.mark.parametrize(
    "form",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda X: np.flip(np.flip(X).copy()),
        lambda X: np.frombuffer(X.tobytes(), dtype=bool).reshape(X.shape),
        lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        pd.DataFrame,
        lambda X: da.from_array(X, chunks=(50, 20)),
    ],
    ids=["C", "Fortran", "reversed", "read-only", "strided", "DataFrame", "dask"],
)
def test_any_byte_but_zero_is_true(form, planted, model):
    assert_same_model(CSalt(random_state=0).fit(form(odd(planted.X)), planted.y), model)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_any_stored_byte_but_zero_is_true(form, planted, model):
    stored = form(planted.X)
    stored.data = odd(stored.data)
    before = stored.data.view(np.uint8).copy()
    fitted = CSalt(random_state=0).fit(stored, planted.y)
    np.testing.assert_array_equal(fitted.components_, model.components_)
    np.testing.assert_array_equal(fitted.usage_, model.usage_)
    np.testing.assert_array_equal(stored.data.view(np.uint8), before)


@pytest.mark.parametrize("kind", [Primp, Asso, Dbssl, DiffNorm])
def test_other_methods_read_any_byte_as_well(kind, planted):
    options = {"random_state": 0} if kind is Primp else {}
    assert_same_model(kind(**options).fit(odd(planted.X), planted.y), kind(**options).fit(planted.X, planted.y))


def test_new_rows_and_factors_may_have_any_byte(planted, model):
    X, y = planted.X, planted.y
    for method in (model.transform, model.predict, model.predict_proba, model.code_lengths):
        np.testing.assert_array_equal(method(odd(X)), method(X))
    assert model.score(odd(X), y) == model.score(X, y)
    back = model.inverse_transform(odd(model.usage_), y)
    np.testing.assert_array_equal(back.view(np.uint8), model.inverse_transform(model.usage_, y).view(np.uint8))
    factors = planted.components, planted.alterations, planted.usage
    assert description_length(odd(X), y, *map(odd, factors)) == description_length(X, y, *factors)
    assert residual(planted, odd(X), y) == residual(planted, X, y)


def test_labels_and_weights_may_have_any_byte():
    flags = np.arange(300) % 3 > 0
    classes, numbers = class_numbers(odd(flags))
    assert classes.view(np.uint8).tolist() == [0, 1]
    np.testing.assert_array_equal(numbers, flags)
    alternating = np.arange(300) % 2
    np.testing.assert_array_equal(row_counts(odd(flags), alternating, np.arange(2)), flags.astype(int))


def test_prepared_columns_may_have_any_byte():
    flags = np.arange(30) % 3 > 0
    proper, read = (pd.DataFrame({"member": form(flags), "new": form(~flags)}) for form in (np.asarray, odd))
    pd.testing.assert_frame_equal(Prepare().fit_transform(read), Prepare().fit_transform(proper))


def test_proper_truth_values_are_not_copied():
    proper = np.array([[True, False]])
    assert as_bools(proper) is proper
    assert as_binary(odd(proper), None).view(np.uint8).tolist() == [[1, 0]]
    # Above a threshold of 1 there is no truth value, whatever its byte.
    assert not as_binary(odd(proper), 1).any()


# ------------------------------------------------------------------ sparse matrices


def spoilt(form, name, place, value):
    stored = form(np.eye(6, 5, dtype=np.int8))
    getattr(stored, name)[place] = value
    return stored


@pytest.mark.parametrize(("form", "axis"), [(sp.csr_array, "columns"), (sp.csc_matrix, "rows"), (sp.bsr_array, "col")])
@pytest.mark.parametrize(
    ("name", "place", "value", "flaw"),
    [
        ("indices", 2, -1, "indices holds -1, but there are"),
        ("indices", 2, 2**31 - 1, "indices holds 2147483647, but there are"),
        ("indptr", 2, 0, "indptr falls from 1 to 0 at place 2"),
        ("indptr", -1, 10**8, "indptr ends with 100000000, but 5 entries are stored"),
        ("indptr", 0, 1, "indptr begins with 1, not with 0"),
    ],
)
def test_indices_out_of_bounds_are_refused(form, axis, name, place, value, flaw, model):
    stored = spoilt(form, name, place, value)
    with pytest.raises(ValueError, match=rf"^X is an invalid sparse matrix \(...\): {flaw}.*; build it again, for ex"):
        CSalt().fit(stored, [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match=flaw):
        model.transform(stored)


@pytest.mark.parametrize(
    ("name", "change", "flaw"),
    [
        ("indptr", lambda p: p[:-1], "indptr has 6 entries, but 7 are needed"),
        ("data", lambda d: d[:-1], "data has 4 entries, but indices has 5"),
        ("indices", lambda i: i.astype(float), "does not hold whole numbers"),
        ("data", lambda d: d[None], "wrong number of dimensions"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(name, change, flaw):
    stored = sp.csr_array(np.eye(6, 5, dtype=np.int8))
    setattr(stored, name, change(getattr(stored, name)))
    with pytest.raises(ValueError, match=flaw):
        Primp().fit(stored)


def test_coordinates_and_lists_out_of_bounds_are_refused():
    stored = sp.coo_array(np.eye(6, 5))
    stored.coords[0][2] = 2**30
    with pytest.raises(ValueError, match=r"\(coo\): coords\[0\] holds 1073741824, but there are 6 rows"):
        Primp().fit(stored)
    lists = sp.lil_array(np.eye(6, 5))
    lists.rows[1] = [-1]
    with pytest.raises(ValueError, match=r"\(lil\): rows holds -1, but there are 5 columns"):
        Primp().fit(lists)
    lists.rows[1] = [0, 1, 2]
    with pytest.raises(ValueError, match="rows and data have lists of different lengths"):
        Primp().fit(lists)
    with pytest.raises(ValueError, match=r"^X is a sparse matrix of 3 dimensions; two are needed"):
        Primp().fit(sp.coo_array(np.ones((2, 2, 2))))


@pytest.mark.parametrize("says", [False, True])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_flags_of_sparse_matrices_are_not_believed(form, says, planted):
    proper = as_binary(sp.csr_array(planted.X), None)
    stored = form(planted.X)
    for begin, end in zip(stored.indptr[:-1], stored.indptr[1:], strict=True):
        stored.indices[begin:end] = stored.indices[begin:end][::-1].copy()
    twice = form((np.repeat(stored.data, 2), np.repeat(stored.indices, 2), 2 * stored.indptr), shape=stored.shape)
    for given in (stored, twice):
        given.has_sorted_indices = given.has_canonical_format = says
        given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
        binary = as_binary(given.tocsr(), None)
        np.testing.assert_array_equal(binary.indices, proper.indices)
        np.testing.assert_array_equal(binary.indptr, proper.indptr)


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**62, np.int64), (2**62, np.uint64), (2**64 - 1, np.uint64), (1e308, np.float64), (10**30, object)],
)
def test_weights_whose_sum_wraps_around_are_refused(value, dtype, planted):
    weights = np.ones(200, dtype=dtype)
    weights[3:7] = value
    with pytest.raises(
        ValueError,
        match=r"^The weights add up to \S+ rows \(row 3 alone: \S+\), but 2,147,483,648 fit at most; divide all",
    ):
        CSalt().fit(planted.X, planted.y, sample_weight=weights)


def test_weights_that_memory_does_not_hold_are_refused(planted, monkeypatch):
    monkeypatch.setattr("saltmine.estimators.base.available_memory", lambda: 10**6)
    with pytest.raises(
        MemoryLimitError, match=r"^The weights add up to 20,000 rows, which take at least 1\.6 MB of mem"
    ):
        CSalt().fit(planted.X, planted.y, sample_weight=100)


def test_weights_may_be_objects():
    numbers, classes = np.array([0, 1, 1]), np.array(["a", "b"])
    assert row_counts(np.array([2, True, 3.0], dtype=object), numbers, classes).tolist() == [2, 1, 3]
    for wrong, shown in ((10**400, "1000"), ("2", "'2'"), (None, "None"), (1j, "1j")):
        with pytest.raises(ValueError, match=f"^sample_weight has {re.escape(shown)}.*; weights are whole numbers"):
            row_counts(np.array([2, wrong, 3], dtype=object), numbers, classes)
    with pytest.raises(
        ValueError, match=r"^sample_weight holds lists of different lengths; give every row one value\.$"
    ):
        row_counts([[1, 2], [1], [1]], numbers, classes)


def test_weights_of_a_score_are_checked(planted, model):
    huge = np.full(200, 2**62)
    assert model.score(planted.X, planted.y, huge) == pytest.approx(model.score(planted.X, planted.y))
    for wrong in (-1, np.nan, np.inf):
        with pytest.raises(
            ValueError, match=r"^Input sample_weight contains NaN, infinity or a negative value: \S+ in row 0"
        ):
            score_weights([wrong, 1, 1], 3)
    with pytest.raises(ValueError, match="The weight of all rows is zero"):
        score_weights(np.zeros(3), 3)


# ------------------------------------------------------------------ sizes


def test_more_columns_than_a_fit_takes_are_refused(monkeypatch):
    X = sp.csr_array(([True, True], ([0, 1], [5, 2**31 + 9])), shape=(2, 2**31 + 10))
    for model in (CSalt(), Primp(), Asso(), CSalt(algorithm="paper")):
        with pytest.raises(
            ValueError, match=r"^X has 2,147,483,658 columns, but a fit takes 2,147,483,647 at most; leave"
        ):
            model.fit(X, [0, 1])
    monkeypatch.setattr(validation, "available_memory", lambda: 10**9)
    with pytest.raises(
        MemoryLimitError, match=r"columns, which take at least 4\.7 GB of memory, but only 954 MB may be"
    ):
        check_n_columns(10**8)
    check_n_columns(10**6)


def test_rows_that_memory_does_not_hold_are_refused():
    with pytest.raises(MemoryLimitError, match=r"^X has 1,099,511,627,776 rows, which take at least 8 TB of memory"):
        Primp().fit(sp.coo_array(([True], ([5], [3])), shape=(2**40, 5)))


def test_more_classes_than_can_be_compared_are_refused(monkeypatch):
    monkeypatch.setattr(labels, "MAX_CLASSES", 3)
    check_n_classes(np.arange(3))
    with pytest.raises(
        ValueError, match=r"^y has 4 classes, such as 'a' and 'b', but 3 are the most; label groups of rows"
    ):
        CSalt().fit(np.eye(4), ["a", "b", "c", "d"])


def test_blocks_of_columns_without_ones_have_no_copies(monkeypatch):
    monkeypatch.setattr(blocks, "COLUMN_BLOCK_CELLS", 1 << 18)
    rows, columns = np.arange(80) % 20, np.arange(80) * 7
    X = sp.csr_array((np.ones(80, dtype=bool), (rows, columns)), shape=(20, 60_000))
    assert CSalt(random_state=0).fit(X, np.arange(20) % 2).n_features_in_ == 60_000


# ------------------------------------------------------------------ what is no number


@pytest.mark.parametrize("value", [[1, 2], {}, np.zeros(1), 1j, 10**400, print, np.timedelta64(1, "D")])
def test_objects_that_are_no_numbers_are_named(value):
    X = np.eye(4).astype(object)
    X[2, 1] = value
    for form in (X, pd.DataFrame(X)):
        with pytest.raises(ValueError, match=r"^Column 1 holds .* in row 2, which is not a number; .* 0/1 "):
            Primp().fit(form)


def test_records_are_no_numbers():
    X = np.zeros((4, 3), dtype=[("a", "i4"), ("b", "?")])
    with pytest.raises(ValueError, match=r"^Column 0 holds \(0, False\) in row 0, which is not a number"):
        Primp().fit(X)
    with pytest.raises(ValueError, match=r"holds void64?.*, not numbers; make it 0/1 first"):
        open_blocks(da.from_array(np.zeros((4, 3), dtype="V8"), chunks=(4, 3)))
    with pytest.raises(ValueError, match="are not supported; make them text"):
        class_numbers(np.zeros(4, dtype="V4"))
    assert group_numbers(np.array([(1,), (2,)], dtype=[("a", "i4")]), 2)[0].tolist() == ["(1,)", "(2,)"]


def test_sparse_matrices_of_text_or_objects_are_refused():
    stored = sp.csr_array(np.eye(4))
    stored.data = np.array(["1"] * 4)
    with pytest.raises(ValueError, match=r"^X is a sparse matrix of <U1, not of numbers; make it 0/1 first"):
        Primp().fit(stored)
    stored.data = np.array([1, 1, [1], 1], dtype=object)
    with pytest.raises(ValueError, match=r"^X is a sparse matrix that stores \[1\], which is not a number"):
        Primp().fit(stored)


def test_chunks_of_another_size_than_the_array_says_are_refused():
    from dask import delayed

    lying = da.from_delayed(delayed(np.ones)((4, 2)), shape=(4, 3), dtype=float)
    with pytest.raises(
        ValueError, match=r"^The chunk at row 0 and column 0 has the shape \(4, 2\), but the array says \(4"
    ):
        Primp().fit(lying)


def test_labels_of_a_score_are_those_of_a_fit(planted, model):
    mixed = planted.y.astype(object)
    mixed[3] = "x"
    with pytest.raises(ValueError, match=r"^y mixes labels of different kinds"):
        model.score(planted.X, mixed)
    with pytest.raises(ValueError, match=r"^y holds lists of different lengths"):
        CSalt().fit(np.eye(3), [[0], [1], [0, 1]])


def test_features_without_gaps_lead_back_to_cells(model):
    rows = np.ones((2, model.n_components_))
    np.testing.assert_array_equal(model.inverse_transform(rows.astype(object)), model.inverse_transform(rows))
    for wrong in (rows * np.nan, rows.astype(str), rows * np.inf):
        with pytest.raises(
            ValueError, match=r"^inverse_transform takes what transform returns, truth values or 0 and 1"
        ):
            model.inverse_transform(wrong)
    with pytest.raises(ValueError, match=r"^features holds lists of different lengths"):
        model.inverse_transform([[1, 2], [3]])
