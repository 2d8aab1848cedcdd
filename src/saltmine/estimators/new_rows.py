"""New rows in the patterns of a fitted model: what they use, and which class describes them best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import TransformerMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from saltmine.arrays import Bools, Floats, Indices, Ints
from saltmine.data.labels import class_numbers, score_weights
from saltmine.data.validation import BinaryMatrix, as_array, as_bools, is_number
from saltmine.fitted.calibration import fit_temperature, log_probabilities
from saltmine.fitted.encoding import (
    DECIMALS,
    CodeTable,
    Encoder,
    Nats,
    class_prior,
    encode,
    encode_by_all,
    encode_by_own,
    lengths_left_out,
    shared_codes,
)
from saltmine.fitted.features import Altered, altered_parts, feature_names, has_most
from saltmine.mdl.row_model import MORE_LIKELY, RowModel
from saltmine.names import quoted, shorten


def _knows_classes(model: NewRows) -> bool:
    """Return whether a method describes classes, so that it can predict them."""
    return model._knows_classes


class NewRows(TransformerMixin):
    """What a fitted model does with rows; see `PatternModel` for the attributes that it needs."""

    # Whether the search knows the classes; False describes all rows as one class.
    _knows_classes: ClassVar[bool]
    # By how much code lengths are divided before they become probabilities.
    temperature_: float

    # The likelihood of rows, of methods that maximise one.
    _row_model: RowModel | None

    classes_: NDArray[Any]
    class_counts_: Ints
    n_components_: int
    n_features_in_: int
    usage_counts_: Ints
    if TYPE_CHECKING:

        @property
        def components_(self) -> Bools:
            """Shared patterns, (r, n)."""

        @property
        def alterations_(self) -> Bools:
            """Class-specific alterations, (c, r, n)."""

        @property
        def item_counts_(self) -> Ints:
            """Ones of every class and column, (c, n)."""

        @property
        def noise_counts_(self) -> Ints:
            """Cells of every class and column that the model gets wrong, (c, n)."""

        def _binary_rows(self, X: Any, reset: bool) -> BinaryMatrix:
            """Return data as 0/1, in memory."""

    @property
    def _uses_class_frequencies(self) -> bool:
        """Whether `predict` prefers frequent classes."""
        return True

    @property
    def _features(self) -> str:
        """What the columns of `transform` are: "usage", "probability" or "alterations"."""
        return "usage"

    # ------------------------------------------------------------------ patterns of rows

    def transform(self, X: Any, y: Any = None) -> Bools | Floats:
        """Return the patterns that every row uses, (m, r): those that shorten its code.

        With ``features="alterations"``, if the method has this parameter, one column per alteration follows: whether
        the row has more than half of the added items. With ``features="probability"``, the default of
        ``algorithm="likelihood"``, the columns are the probabilities of use, and the logarithms of the probabilities of
        the classes follow, (m, r + c).

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
        y : (m,) labels, optional
            Classes of the rows, which decide on the alterations; by default they are predicted. Methods without
            classes ignore them.

        Returns
        -------
        (m, r) bool, or float with ``features="probability"``
            Or a DataFrame, after ``set_output(transform="pandas")``.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> bool((model.transform(p.X, p.y) == model.usage_).all())
        True
        """
        check_is_fitted(self)
        rows = self._binary_rows(X, reset=False)
        if self._features == "probability":
            of_classes = log_probabilities(self._scores(rows)) if self._knows_classes else np.zeros((rows.shape[0], 0))
            return np.hstack([self._use_probabilities(rows, y), of_classes])
        usage = self._usage_of(rows, y)
        if self._features == "usage":
            return usage
        return np.hstack([usage, has_most(rows, self._altered().items)])

    def _use_probabilities(self, rows: BinaryMatrix, y: Any) -> Floats:
        """Return the probability that rows use every pattern, (m, r); 0 or 1 where the method has none."""
        if self._row_model is None:
            return self._usage_of(rows, y).astype(np.float64)
        if not self._knows_classes:
            of_class = np.ones((rows.shape[0], 1))
        elif y is None:
            of_class = np.exp(log_probabilities(self._scores(rows)))
        else:
            of_class = np.eye(len(self.classes_))[self._known_classes(y, rows.shape[0])]
        return self._row_model.use(rows, *self._patterns_of_rows(), of_class)

    def _patterns_of_rows(self) -> tuple[Bools, Bools]:
        """Return the patterns that the likelihood of rows has, (r, n), and what classes add, (c, r, n)."""
        return self.components_, self.alterations_ if self._knows_classes else self.alterations_[:1]

    def _usage_of(self, rows: BinaryMatrix, y: Any) -> Bools:
        if self._row_model is not None:
            return self._use_probabilities(rows, y) > MORE_LIKELY
        # As in the fit: a pattern has one code for all classes.
        codes = shared_codes(self.usage_counts_.sum(axis=0), self.noise_counts_.sum(axis=0))
        if not self._knows_classes:
            return encode(rows, CodeTable(self.components_, *codes))[0]
        numbers = self._shortest(rows) if y is None else self._known_classes(y, rows.shape[0])
        tables = [CodeTable(self.components_ | altered, *codes) for altered in self.alterations_]
        return encode_by_own(rows, Encoder(tables), numbers)[0]

    def _altered(self) -> Altered:
        return altered_parts(self.alterations_)

    def inverse_transform(self, features: Any, y: Any = None) -> Bools:
        """Return the cells that the patterns of each row cover, (m, n).

        Parameters
        ----------
        features : (m, columns of `transform`) bool
        y : (m,) labels, optional
            Classes of the rows, whose alterations are then covered as well. By default, only the columns of
            ``features="alterations"`` say which alterations are covered.

        Returns
        -------
        (m, n) bool

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> bool((model.inverse_transform(model.transform(p.X), p.y) == p.X).mean() > 0.9)
        True
        """
        check_is_fitted(self)
        given = as_array(features, "features")
        if given.ndim != 2 or given.shape[1] != self._n_features_out:
            raise ValueError(
                f"inverse_transform takes what transform returns, {self._n_features_out} columns, not data of shape "
                f"{given.shape}."
            )
        if given.dtype == object and all(map(is_number, given.flat)):
            given = given.astype(np.float64)
        if given.dtype.kind not in "biuf" or not np.isfinite(given).all():
            raise ValueError("inverse_transform takes what transform returns, truth values or 0 and 1, without gaps.")
        if self._features == "probability":
            given = given[:, : self.n_components_] > MORE_LIKELY
        given = as_bools(given)
        usage = given[:, : self.n_components_]
        cells: Bools = usage @ self.components_
        if y is not None and self._knows_classes:
            numbers = self._known_classes(y, len(usage))
            for a, altered in enumerate(self.alterations_):
                cells[numbers == a] |= usage[numbers == a] @ altered
        elif self._features == "alterations":
            altered = self._altered()
            cells |= (given[:, self.n_components_ :] & usage[:, altered.pattern]) @ altered.items
        return cells

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return names of the columns of `transform`: number and strongest items of the pattern.

        Parameters
        ----------
        input_features : ignored
            For pipelines.

        Returns
        -------
        (r,) array of text

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> len(model.get_feature_names_out()) == model.n_components_
        True
        """
        check_is_fitted(self)
        names = feature_names(self, self._altered() if self._features == "alterations" else None)
        if self._features != "probability" or not self._knows_classes:
            return names
        of_classes = [f"log-probability of {label}" for label in self.classes_.tolist()]
        return np.concatenate([names, np.array(of_classes, dtype=object)])

    @property
    def _n_features_out(self) -> int:
        more = {"usage": 0, "probability": len(self.classes_) if self._knows_classes else 0}
        added = more[self._features] if self._features in more else len(self._altered().pattern)
        return int(self.n_components_) + added

    # ------------------------------------------------------------------ classes of rows

    @available_if(_knows_classes)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict(self, X: Any) -> NDArray[Any]:
        """Return for every row the class that encodes it in the fewest nats.

        The nats are those of `code_lengths` and of the class itself: a frequent class has a short code. With
        ``fit_prior=False``, if the method has this parameter, all classes are equally likely. With
        ``algorithm="likelihood"`` this is the most probable class of `predict_proba`, where nats of the class count
        more, as they are not divided.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Rows with the columns of the fit.

        Returns
        -------
        (m,) labels

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.predict(p.X).shape
        (200,)
        """
        check_is_fitted(self)
        return self.classes_[self._shortest(self._binary_rows(X, reset=False))]

    @available_if(_knows_classes)  # type: ignore[untyped-decorator]  # as above
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class for every row, (m, c).

        The fewer nats a class needs for a row, the more probable it is. Items that go together are not independent, so
        that probabilities would be too extreme. The nats are therefore divided by ``temperature_``, which is chosen so
        that the labels of the fit are as probable as possible by models that do not know the row. Those of the class
        are divided, too, but not with ``algorithm="likelihood"``.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Rows with the columns of the fit.

        Returns
        -------
        (m, c) float
            Each row sums to 1.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> CSalt(random_state=0).fit(p.X, p.y).predict_proba(p.X[:2]).sum(axis=1).round(6).tolist()
        [1.0, 1.0]
        """
        check_is_fitted(self)
        return np.exp(log_probabilities(self._scores(self._binary_rows(X, reset=False))))

    @available_if(_knows_classes)  # type: ignore[untyped-decorator]  # as above
    def decision_function(self, X: Any) -> Floats:
        """Return scores of the classes, (m, c): the log-probabilities up to a constant per row.

        With two classes, return the log-odds of the second class, (m,).

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Rows with the columns of the fit.

        Returns
        -------
        (m, c) or (m,) float

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> bool(((model.decision_function(p.X) > 0) == (model.predict(p.X) == 1)).all())
        True
        """
        check_is_fitted(self)
        scores = self._scores(self._binary_rows(X, reset=False))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_knows_classes)  # type: ignore[untyped-decorator]  # as above
    def code_lengths(self, X: Any) -> Floats:
        """Return the length of the code of every row, in nats, with the patterns of each class.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Rows with the columns of the fit.

        Returns
        -------
        (m, c) float

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.code_lengths(p.X).shape
        (200, 2)
        """
        check_is_fitted(self)
        return self._code_lengths(self._binary_rows(X, reset=False))

    @available_if(_knows_classes)  # type: ignore[untyped-decorator]  # as above
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`: the share of rows with the right class.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Rows with the columns of the fit.
        y : (m,) labels
            The true classes.
        sample_weight : (m,) numbers, optional
            Weight of each row.

        Returns
        -------
        float
            Between 0 and 1.

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(random_state=0).fit(p.X, p.y)
        >>> model.score(p.X, p.y) > 0.5
        True
        """
        predicted = self.predict(X)
        classes, numbers = class_numbers(y, len(predicted))
        weights = None if sample_weight is None else score_weights(sample_weight, len(predicted))
        return float(accuracy_score(classes[numbers], predicted, sample_weight=weights))

    def score_samples(self, X: Any, y: Any = None) -> Floats:
        """Return the log-likelihood of every row, (m,).

        With ``algorithm="likelihood"`` this is the likelihood that the search maximises; for other methods, minus the
        length of the row's code.

        Parameters
        ----------
        X : (m, n) array-like, DataFrame or sparse, 0/1
            Rows with the columns of the fit.
        y : (m,) labels, optional
            Classes of the rows; by default, all classes are averaged by their frequency.

        Returns
        -------
        (m,) float

        Examples
        --------
        >>> from saltmine import CSalt
        >>> from saltmine.datasets import make_planted
        >>> p = make_planted(60, [100, 100], rank=3, noise=0.02, random_state=0)
        >>> model = CSalt(algorithm="likelihood").fit(p.X, p.y)
        >>> bool((model.score_samples(p.X, p.y) < 0).all())
        True
        """
        check_is_fitted(self)
        rows = self._binary_rows(X, reset=False)
        nats = -self._code_lengths(rows)
        if y is not None and self._knows_classes:
            return nats[np.arange(len(nats)), self._known_classes(y, len(nats))]
        if not self._knows_classes:
            return nats[:, 0]
        return np.asarray(logsumexp(nats + np.log(self.class_counts_ / self.class_counts_.sum()), axis=1))

    def _code_lengths(self, rows: BinaryMatrix) -> Floats:
        if self._row_model is not None:
            return -self._row_model.nats(rows, *self._patterns_of_rows())
        return encode_by_all(rows, Encoder(self._code_tables()))

    def _scores(self, rows: BinaryMatrix) -> Floats:
        """Return the logarithm of the probability of every class but for a constant per row, (m, c)."""
        if self._row_model is None:
            return -self._nats(rows) / self.temperature_
        # Classes that are frequent are so whatever the items are: only nats of items are told twice.
        return np.round(self._log_prior() - self._code_lengths(rows) / self.temperature_, DECIMALS)

    def _nats(self, rows: BinaryMatrix) -> Floats:
        """Return the nats of every row and class, with those of the class itself, (m, c)."""
        return np.round(self._code_lengths(rows) - self._log_prior(), DECIMALS)

    def _log_prior(self) -> Floats:
        """Return how much nats prefer a class before a row is seen, (c,)."""
        if not self._uses_class_frequencies:
            return np.zeros(len(self.classes_))
        prior: Floats = np.log(self.class_counts_ / self.class_counts_.sum())
        return prior

    def _shortest(self, rows: BinaryMatrix) -> Indices:
        nats = self._nats(rows) if self._row_model is None else -self._scores(rows)
        shortest: Indices = np.argmin(nats, axis=1)
        return shortest

    def _calibrate(self, rows: BinaryMatrix, numbers: Indices) -> float:
        """Return the temperature by some rows of the fit and their class numbers.

        Codes know the rows that they were made of, so the code of its own class is made without each row.
        """
        # Columns that are alike in all rows of the fit are one.
        first, weights = self._items.distinct
        rows, noise = rows[:, first], self._items.noise_counts.astype(np.int64)
        prior = class_prior(self.usage_counts_, noise, int(self.class_counts_.sum()), weights)
        # Of few classes they are made once.
        patterns = lru_cache(maxsize=4)(self._distinct_patterns)
        lengths, usage = self._encode_distinct(rows, numbers, patterns, noise, weights, prior)
        left_out = lengths_left_out(rows, usage, numbers, patterns, self.usage_counts_, noise, prior, weights)
        lengths[np.arange(len(numbers)), numbers] = left_out
        return fit_temperature(self._log_prior() - lengths, numbers)

    def _encode_distinct(
        self,
        rows: BinaryMatrix,
        numbers: Indices,
        patterns: Callable[[int], Bools],
        noise: Ints,
        weights: Ints,
        prior: Nats,
    ) -> tuple[Nats, Bools]:
        """Return the code lengths of rows, (m, c), by distinct items, and the patterns they use in their own class."""

        def table(a: int) -> CodeTable:
            counts = self.usage_counts_[a], noise[a]
            made = CodeTable.from_counts(patterns(a), *counts, weights, prior)
            return replace(made, item_nats=made.item_nats * weights)

        encoder = Encoder([table(a) for a in range(len(self.classes_))])
        return encode_by_all(rows, encoder), encode_by_own(rows, encoder, numbers)[0]

    def _distinct_patterns(self, a: int) -> Bools:
        """Return the patterns of a class by distinct items."""
        patterns: Bools = self._items.components | self._items.alterations[a]
        return patterns

    def _code_tables(self) -> list[CodeTable]:
        """Return the code table of every class, or one where the method knows no classes."""
        occurs, usage, noise = self.item_counts_.sum(axis=0) > 0, self.usage_counts_, self.noise_counts_
        if not self._knows_classes:
            return [CodeTable.from_counts(self.components_, usage.sum(axis=0), noise.sum(axis=0), occurs)]
        prior = class_prior(usage, noise, int(self.class_counts_.sum()), occurs)
        tables = [
            CodeTable.from_counts(self.components_ | self.alterations_[a], usage[a], noise[a], occurs, prior)
            for a in range(len(self.classes_))
        ]
        # What no row of the fit had says nothing about the class.
        longest = np.max([table.item_nats for table in tables], axis=0)
        return [replace(table, item_nats=np.where(occurs, table.item_nats, longest)) for table in tables]

    def _known_classes(self, y: Any, n_rows: int) -> Indices:
        given, numbers = class_numbers(y, n_rows)
        unknown = [label for label in given.tolist() if label not in set(self.classes_.tolist())]
        if unknown:
            known = shorten(", ".join(map(quoted, self.classes_.tolist())), 400)
            raise ValueError(f"y holds the label {quoted(unknown[0])}, which the model has not seen; it knows {known}.")
        return np.searchsorted(self.classes_, given)[numbers]
