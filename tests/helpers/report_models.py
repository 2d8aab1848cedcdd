"""Models whose reports the tests look at."""

import numpy as np
import pandas as pd

# The benchmark of the report makes models with as many patterns as one likes, without a search.
from benchmarks.report import planted_model
from saltmine import CSalt

__all__ = [
    "NASTY",
    "SCRIPT",
    "baskets",
    "baskets_model",
    "nasty_model",
    "owned_by_two",
    "planted_model",
    "word_model",
]

SCRIPT = "<script>window.hacked = 1</script>"
NASTY = [
    SCRIPT,
    "</script><img src=x onerror='window.hacked = 1'>",
    "\"double\" & 'single'",
    "x" * 500,
    "שלום עולם",
    "👩‍👩‍👧‍👦 family",
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@cmd",
    "comma, separated",
    "two\nlines",
    "{{css}}",
    "&lt;b&gt;",
    "\u2028 separator",
    "plain",
]


def baskets():
    """Return baskets of two shops: breakfast and dinner in both, Trier's breakfast with coffee and sugar."""
    rng = np.random.default_rng(0)
    breakfast, dinner = ["bread", "butter", "jam", "milk"], ["pasta", "tomato", "basil"]
    party, baby = ["beer", "chips", "nuts"], ["diapers", "wipes", "formula", "soap"]
    other = ["apples", "pears", "plums", "rice", "beans", "corn", "tea"]
    items = [*breakfast, "coffee", "sugar", *dinner, *party, *baby, *other]
    shop = np.repeat(["Mainz", "Trier"], 200)
    X = pd.DataFrame(rng.random((400, len(items))) < 0.03, columns=items)
    often = rng.random((400, 4)) < [0.25, 0.2, 0.3, 0.3]
    X.loc[often[:, 0], breakfast] = True
    X.loc[often[:, 0] & (shop == "Trier"), ["coffee", "sugar"]] = True
    X.loc[often[:, 1], dinner] = True
    X.loc[often[:, 2] & (shop == "Mainz"), party] = True
    X.loc[often[:, 3] & (shop == "Trier"), baby] = True
    return X, shop


def nasty_model():
    """Return a model in which every name tries to be more than a name."""
    model = planted_model(3, [20, 20], len(NASTY), size=10, names=NASTY)
    model.classes_ = np.array(["<b>bold</b>", SCRIPT + "c" * 300])
    model.row_labels_ = np.repeat(model.classes_, 20)
    model.row_names_ = np.array([f"<i>{k}</i>" for k in range(40)], dtype=object)
    return model


def word_model(n_classes=2, rank=3):
    """Return a model of documents whose words have different lengths."""
    endings = ("", "ra", "sito", "tavelu", "wm")
    words = [first + second for first in ("ba", "ke", "lo", "mi", "nu") for second in endings]
    model = planted_model(rank, [30] * n_classes, len(words), size=14, names=words)
    model.about_ = {"kind": "words"}
    return model


def baskets_model():
    X, shop = baskets()
    return CSalt(random_state=0).fit(X, shop)


def owned_by_two():
    """Return a model of four classes, two of which have a pattern that the others lack, and all share another."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c", "d"], 100)
    X = rng.random((400, 30)) < 0.02
    X[np.ix_((labels < "c") & (rng.random(400) < 0.4), range(6))] = True
    X[np.ix_(rng.random(400) < 0.3, range(8, 14))] = True
    return CSalt(random_state=0).fit(pd.DataFrame(X, columns=[f"item {k}" for k in range(30)]), labels)
