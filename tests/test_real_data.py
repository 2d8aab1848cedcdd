"""Real tables and texts, where they lie beside the project."""

import numpy as np
import pytest
import scipy.sparse as sp

from saltmine import CSalt
from saltmine.metrics import residual
from tests.helpers.paths import shared_path


@pytest.fixture
def vote():
    folder = shared_path("data/tables/vote")
    return sp.load_npz(folder / "X.npz"), np.loadtxt(folder / "y.txt", dtype=str)


@pytest.fixture
def space_rel():
    path = shared_path("data/text/space_rel_matched.npz")
    rows = np.loadtxt(path.with_name("space_rel_matched_rows.tsv"), dtype=str, delimiter="\t", comments=None)
    return sp.load_npz(path), rows[:, 0]


@pytest.mark.slow
def test_votes_tell_the_parties_apart(vote):
    X, y = vote
    model = CSalt(random_state=0, max_iter=2000).fit(X, y)
    assert model.description_length_ < 0.8 * model.null_description_length_
    assert model.score(X, y) > 0.85


@pytest.mark.slow
def test_a_text_corpus_stays_sparse_and_gets_shorter(space_rel):
    X, y = space_rel
    model = CSalt(random_state=0, max_iter=300, max_rank=10).fit(X, y)
    assert model.components_.shape[1] == X.shape[1]
    assert residual(model, X, y) <= X.nnz
    assert model.n_components_ > 0
