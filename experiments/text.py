"""The paper's experiment on texts: its Table 1, and the word clouds of its topic figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments.experiment import Experiment, Row, SkipTask, Task
from experiments.measuring import timed
from experiments.text_corpora import CORPORA, corpus_table, require_documents
from experiments.text_page import write
from experiments.text_products import (
    COMMON,
    TRUNCATED,
    Claim,
    Factors,
    Product,
    claims_of,
    count_owners,
    errors_of,
    item_owners,
    largest_patterns,
    products_of,
)
from saltmine.comparison import load_compiled
from saltmine.methods import make

#: Methods as `saltmine.methods` knows them, and what they are told: 30 patterns at most, or 30 and 15 of each kind.
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "csalt": ("csalt", {"max_rank": 30}),
    "primp": ("primp", {"max_rank": 30}),
    "paper": ("paper", {"max_rank": 30}),
    "dbssl1": ("dbssl", {"ranks": (30, 30, 30)}),
    "dbssl2": ("dbssl", {"ranks": (15, 15, 15)}),
}
# These take less than a minute each; the others minutes, and many of them on the larger corpora.
FAST, SMALLEST = ("csalt", "primp"), "space"
SEED = 5000
CLOUDS, CLOUD_WORDS, CLAIM_WORDS = 4, 30, 8


def tasks(quick: bool) -> list[Task]:
    """Return all methods on all corpora, or the slow methods on the smallest corpus only."""
    found = [{"corpus": corpus, "method": method} for method in SETTINGS for corpus in CORPORA]
    return [task for task in found if not quick or task["method"] in FAST or task["corpus"] == SMALLEST]


def measure(task: Task, data: Path | None) -> Row:
    """Fit a method to a corpus; count patterns and errors, and list what belongs to which class and where it occurs."""
    corpus = CORPORA[task["corpus"]]
    if data is None and not corpus.is_news:
        raise SkipTask(
            f"{corpus.title} is left out: scikit-learn has no documents for it; name the folder that has "
            f"text/{corpus.file} (--data)."
        )
    table = corpus_table(task["corpus"], data)
    method, told = SETTINGS[task["method"]]
    load_compiled(method)
    model = make(method, random_state=SEED, **told)
    _, seconds = timed(lambda: model.fit(table.X, table.y))
    return {
        **describe(Factors.of(model, np.asarray(table.y)), table.X, np.asarray(table.item_names)),
        "seconds": round(seconds, 2),
    }


def describe(factors: Factors, X: sp.csr_array, words: NDArray[Any]) -> Row:
    """Return what the table, the lists and the clouds need of a model, as plain values."""
    whole, truncated = products_of(factors), products_of(factors, TRUNCATED)
    hits = factors.hits(X)
    return {
        "rows": factors.class_sizes.tolist(),
        "columns": int(X.shape[1]),
        "ones": int(X.nnz),
        "patterns": len(factors.components),
        "whole": _figures(factors, whole, X),
        "truncated": _figures(factors, truncated, X),
        "claims": [_claim(claim, factors, X, hits, words, truncated) for claim in claims_of(factors, whole)],
        "clouds": [_cloud(s, factors, hits, words) for s in largest_patterns(factors, CLOUDS)],
    }


def _figures(factors: Factors, products: Sequence[Product], X: sp.csr_array) -> Row:
    return {"owners": count_owners(products, factors.n_classes), "rss": errors_of(factors, products, X)}


def _claim(
    claim: Claim,
    factors: Factors,
    X: sp.csr_array,
    hits: NDArray[np.int64],
    words: NDArray[Any],
    truncated: Sequence[Product],
) -> Row:
    """Return what belongs to a class, and how often its words occur: shares of rows, the mean over the words."""
    s, items = claim.product.pattern, claim.items
    by_hits = items[np.argsort(-hits[claim.owner, s, items], kind="stable")]
    of_classes = [X[factors.y == a][:, items] for a in range(factors.n_classes)]
    used = factors.used[:, s].tolist()
    return {
        "owner": claim.owner,
        "pattern": s,
        "alteration": claim.is_alteration,
        "truncated": claim.product not in truncated,
        "words": [str(word) for word in words[by_hits[:CLAIM_WORDS]]],
        "n_words": len(items),
        "used": used,
        "in_users": [_mean_share(hits[a, s, items].mean(), rows) for a, rows in enumerate(used)],
        "in_all": [_mean_share(part.sum() / len(items), part.shape[0]) for part in of_classes],
        "carriers": [int((2 * part.sum(axis=1) > len(items)).sum()) for part in of_classes],
    }


def _mean_share(mean_count: float, rows: int) -> float | None:
    return round(float(mean_count) / rows, 4) if rows else None


def _cloud(s: int, factors: Factors, hits: NDArray[np.int64], words: NDArray[Any]) -> Row:
    """Return the words of a pattern, each with its occurrences in the rows that use it and its owner."""
    sizes, used, owners = hits[:, s].sum(axis=0), factors.used[:, s], item_owners(factors, s)

    def share(item: int) -> float:
        # Of the documents that have the word in the model; by sizes alone, what a small class adds would be left out.
        owner = owners[item]
        return float(sizes[item] / used.sum() if owner == COMMON else hits[owner, s, item] / used[owner])

    chosen = sorted(owners, key=share, reverse=True)[:CLOUD_WORDS]
    return {"pattern": s, "used": used.tolist(), "words": [[str(words[k]), int(sizes[k]), owners[k]] for k in chosen]}


TEXT = Experiment("text", "Texts", tasks, measure, write, require_documents)
