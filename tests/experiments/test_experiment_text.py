"""The experiment on texts: where documents come from, how patterns are counted, and what is written."""

import codecs
import json
import lzma
import pickle
from itertools import product as pairs

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils import Bunch

from experiments import text_page
from experiments.experiment import SkipTask
from experiments.text import SETTINGS, TEXT, describe
from experiments.text_corpora import CORPORA, STOP_WORDS, corpus_table, distinct_rows, fetched_news
from experiments.text_products import (
    COMMON,
    TRUNCATED,
    Factors,
    claims_of,
    count_owners,
    errors_of,
    item_owners,
    largest_patterns,
    products_of,
)
from saltmine.io import ReadError
from tests.helpers.paths import ROOT

DATA = ROOT.parent / "shared" / "data"
COMMON_WORDS = ["letter", "mountain", "river", "garden", "winter", "table"]
WORDS = {
    "talk.religion.misc": ["church", "prayer", "faith", "bible", "priest", "angel"],
    "sci.space": ["orbit", "rocket", "moon", "planet", "shuttle", "comet"],
    "talk.politics.mideast": ["border", "army", "village", "desert", "treaty", "harbour"],
    "talk.politics.misc": ["tax", "court", "senate", "vote", "budget", "lawyer"],
    "neg": ["boredom", "flaw", "cliche", "nonsense", "mess", "failure"],
    "pos": ["wonder", "delight", "beauty", "triumph", "charm", "wit"],
}


def documents_of(label, rng, count=40):
    """Make documents of words of their class and common ones; posts have the first word in their subject."""
    for k in range(count):
        words = [word for word in WORDS[label] + COMMON_WORDS if rng.random() < 0.8] or ["letter"]
        header = f"From: someone\nSubject: {words[0]}\nOrganization: university\n\n"
        text = " ".join(words) if label in ("neg", "pos") else header + " ".join(words[1:])
        yield {"label": label, "id": f"{label}/{k}", "text": text}


def store(path, documents):
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(document) + "\n" for document in documents)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder like the real one, with made documents."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for file in {corpus.file for corpus in CORPORA.values()}:
        labels = [label for corpus in CORPORA.values() if corpus.file == file for label in corpus.classes]
        store(folder / "text" / file, [document for label in labels for document in documents_of(label, rng)])
    return folder


def random_model(rng, n_classes=2, rank=6, rows=30, items=25):
    """Return factors that obey the definition of alterations, of all sizes, some patterns unused by some classes."""
    y = rng.permutation(np.arange(rows) % n_classes)
    components = rng.random((rank, items)) < rng.choice([0.03, 0.1, 0.3], size=(rank, 1))
    alterations = rng.random((n_classes, rank, items)) < rng.choice([0.0, 0.1, 0.3], size=(n_classes, rank, 1))
    alterations &= ~(components | alterations.all(axis=0))
    usage = rng.random((rows, rank)) < rng.choice([0.0, 0.15, 0.5], size=(n_classes, rank))[y]
    X = sp.csr_array((rng.random((rows, items)) < 0.3).astype(np.int8))
    return Factors(components, alterations, usage, y), X


# Documents


@pytest.mark.parametrize("name", CORPORA)
def test_documents_are_found_in_the_folder_and_in_the_one_above_it(folder, name):
    table, same = corpus_table(name, folder), corpus_table(name, folder / "text")
    assert table.shape == same.shape
    assert (table.X != same.X).nnz == 0
    # The paper's first class has the number 0; words of the classes occur in their rows only.
    for a, label in enumerate(CORPORA[name].classes):
        columns = np.flatnonzero(np.isin(table.item_names, WORDS[label]))
        assert len(columns) == len(WORDS[label])
        assert table.X[table.y != a][:, columns].nnz == 0
        assert table.X[table.y == a][:, columns].nnz > 0


def test_of_a_post_the_subject_is_read_and_no_other_header(folder):
    table = corpus_table("space", folder)
    assert not {"university", "someone", "subject"} & set(table.item_names)
    assert {"church", "orbit"} <= set(table.item_names)


def test_a_list_of_stop_words_beside_the_documents_is_used(tmp_path):
    store(
        tmp_path / "movie.jsonl.xz",
        [d for label in ("neg", "pos") for d in documents_of(label, np.random.default_rng(1))],
    )
    (tmp_path / STOP_WORDS).write_text("river\n")
    assert set(COMMON_WORDS) - set(corpus_table("movie", tmp_path).item_names) == {"river"}


def test_empty_and_repeated_rows_are_left_out():
    rng = np.random.default_rng(2)
    X = rng.random((60, 4)) < 0.4
    rows = distinct_rows(sp.csr_array(X.astype(np.int8)))
    assert rows == [k for k in range(60) if X[k].any() and not (X[:k] == X[k]).all(axis=1).any()]
    assert len(rows) < 60


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ReadError, match=r"nowhere is not there; name the folder that has text/movie.jsonl.xz"):
        corpus_table("movie", tmp_path / "nowhere")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ReadError, match=r"has neither text/news4.jsonl.xz nor news4.jsonl.xz; name the folder"):
        corpus_table("space", tmp_path)


def test_a_missing_class_is_named(tmp_path):
    store(tmp_path / "movie.jsonl.xz", documents_of("neg", np.random.default_rng(3)))
    with pytest.raises(
        ReadError, match=r"movie.jsonl.xz has no documents with the label 'pos', which Movie consists of"
    ):
        corpus_table("movie", tmp_path)


def test_news_that_cannot_be_fetched_are_one_sentence(tmp_path):
    with pytest.raises(ReadError, match=r"scikit-learn could not fetch the 20 newsgroups \(.*\); name a folder"):
        fetched_news(CORPORA["space"].classes, data_home=tmp_path, download=False)


def test_news_come_from_what_scikit_learn_has_stored(tmp_path, monkeypatch, folder):
    content = lzma.decompress((folder / "text" / "news4.jsonl.xz").read_bytes())
    posts = [json.loads(line) for line in content.splitlines()]
    names = sorted({post["label"] for post in posts})

    def part(chosen):
        target = np.array([names.index(post["label"]) for post in chosen])
        files = np.array([post["id"] for post in chosen])
        return Bunch(data=[post["text"] for post in chosen], target=target, target_names=names, filenames=files)

    stored = pickle.dumps({"train": part(posts[::2]), "test": part(posts[1::2])})
    (tmp_path / "20news-bydate_py3.pkz").write_bytes(codecs.encode(stored, "zlib_codec"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    corpus_table.cache_clear()
    fetched, read = corpus_table("politics", None), corpus_table("politics", folder)
    assert fetched.item_names.tolist() == read.item_names.tolist()
    assert sorted(map(tuple, fetched.X.toarray())) == sorted(map(tuple, read.X.toarray()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_the_real_corpora_come_near_to_the_sizes_of_the_paper(name):
    corpus = CORPORA[name]
    if not (DATA / "text" / corpus.file).exists():
        pytest.skip(f"the corpus is not here: ../shared/data/text/{corpus.file}")
    pytest.importorskip("simplemma")
    table = corpus_table(name, DATA)
    assert table.shape[1] == pytest.approx(corpus.paper_columns, rel=0.03)
    np.testing.assert_allclose(np.bincount(table.y), corpus.paper_rows, rtol=0.01)


# Counting


def classified(factors):
    """Classify as the paper says it, with sets: (owner, {(row, item)}) of every product that is no singleton."""
    found = []
    for s in range(len(factors.components)):
        shared = set(np.flatnonzero(factors.components[s]))
        rows = {a: set(np.flatnonzero(factors.usage[:, s] & (factors.y == a))) for a in range(factors.n_classes)}
        items = {a: shared | set(np.flatnonzero(factors.alterations[a, s])) for a in rows}
        users = {a for a in rows if rows[a]}
        own = {a for a in users if len(items[a]) - len(shared) > len(shared)}
        groups = [{a} for a in sorted(own)] + ([users - own] if users - own else [])
        for group in groups:
            n_items = len(set.union(*(items[a] for a in group)))
            n_rows = sum(len(rows[a]) for a in group)
            cells = {cell for a in group for cell in pairs(rows[a], items[a])}
            found.append((min(group) if len(group) == 1 else COMMON, min(n_items, n_rows), cells))
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("least", [2, TRUNCATED])
def test_products_and_errors_are_those_of_the_definition(n_classes, least):
    rng, seen = np.random.default_rng(4), set()
    for _ in range(20):
        factors, X = random_model(rng, n_classes)
        expected = [(owner, cells) for owner, size, cells in classified(factors) if size >= least]
        found = products_of(factors, least)
        assert [one.owner for one in found] == [owner for owner, _ in expected]
        covered = np.zeros(X.shape, dtype=bool)
        for _, cells in expected:
            for row, item in cells:
                covered[row, item] = True
        assert errors_of(factors, found, X) == (covered != X.toarray().astype(bool)).sum()
        owners = [owner for owner, _ in expected]
        assert count_owners(found, n_classes) == [owners.count(owner) for owner in (COMMON, *range(n_classes))]
        seen |= set(owners)
    assert seen == {COMMON, *range(n_classes)}


def hand_made(shared, added, used):
    """Return one pattern: numbers of shared items, of those that either class adds, and of rows of either class."""
    components = np.zeros((1, 20), dtype=bool)
    components[0, :shared] = True
    alterations = np.zeros((2, 1, 20), dtype=bool)
    alterations[0, 0, shared : shared + added[0]] = True
    alterations[1, 0, shared + added[0] : shared + sum(added)] = True
    y = np.repeat([0, 1], 10)
    usage = np.concatenate([np.arange(10) < count for count in used])[:, None]
    return Factors(components, alterations, usage, y)


@pytest.mark.parametrize(
    ("shared", "added", "used", "owners", "truncated"),
    [
        (5, (0, 0), (4, 4), [1, 0, 0], [1, 0, 0]),
        (5, (5, 5), (4, 4), [1, 0, 0], [1, 0, 0]),
        # More is added than shared: one of the first class, and what is left is the other's.
        (5, (6, 0), (4, 4), [0, 1, 1], [0, 1, 1]),
        (3, (6, 0), (4, 4), [0, 1, 1], [0, 1, 0]),
        (5, (6, 6), (4, 3), [0, 1, 1], [0, 1, 0]),
        # What only one class uses is its own; a single row or item is nothing.
        (5, (2, 0), (4, 0), [0, 1, 0], [0, 1, 0]),
        (5, (0, 0), (0, 3), [0, 0, 1], [0, 0, 0]),
        (5, (0, 0), (1, 0), [0, 0, 0], [0, 0, 0]),
        (1, (0, 0), (5, 5), [0, 0, 0], [0, 0, 0]),
        # Three rows of one class and two of the other are enough together.
        (4, (0, 0), (3, 2), [1, 0, 0], [1, 0, 0]),
    ],
)
def test_patterns_are_counted_as_in_table_1(shared, added, used, owners, truncated):
    factors = hand_made(shared, added, used)
    assert count_owners(products_of(factors), 2) == owners
    assert count_owners(products_of(factors, TRUNCATED), 2) == truncated


def test_claims_are_all_that_is_not_common():
    altered = hand_made(5, (2, 3), (4, 4))
    claims = claims_of(altered, products_of(altered))
    assert [(claim.owner, claim.is_alteration, claim.items.tolist()) for claim in claims] == [
        (0, True, [5, 6]),
        (1, True, [7, 8, 9]),
    ]
    split = hand_made(2, (3, 0), (4, 4))
    claims = claims_of(split, products_of(split))
    assert [(claim.owner, claim.is_alteration, len(claim.items)) for claim in claims] == [(0, False, 5), (1, False, 2)]
    common = hand_made(5, (0, 0), (4, 4))
    assert claims_of(common, products_of(common)) == []


def test_what_a_model_says_is_counted_in_the_data():
    rng = np.random.default_rng(5)
    claims = 0
    for _ in range(10):
        factors, X = random_model(rng)
        dense, words = X.toarray(), np.array([f"word{k}" for k in range(X.shape[1])])
        found = describe(factors, X, words)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert found["ones"] == dense.sum()
        for claim in found["claims"]:
            s, a = claim["pattern"], claim["owner"]
            items = factors.alterations[a, s] | (factors.components[s] & (not claim["alteration"]))
            assert claim["n_words"] == items.sum()
            assert set(claim["words"]) <= set(words[items])
            for b in (0, 1):
                rows, users = dense[factors.y == b][:, items], factors.usage[factors.y == b, s]
                assert claim["used"][b] == users.sum()
                assert claim["in_all"][b] == pytest.approx(rows.mean(), abs=1e-4)
                assert claim["in_users"][b] == (pytest.approx(rows[users].mean(), abs=1e-4) if users.any() else None)
                assert claim["carriers"][b] == (rows.mean(axis=1) > 0.5).sum()
            claims += 1
        for cloud in found["clouds"]:
            s = cloud["pattern"]
            assert {word for word, _, _ in cloud["words"]} <= set(words)
            for word, size, owner in cloud["words"]:
                item = int(word.removeprefix("word"))
                assert size == factors.usage[:, s] @ dense[:, item]
                assert owner == item_owners(factors, s)[item]
    assert claims > 10


def test_words_of_a_pattern_have_owners_and_the_largest_patterns_come_first():
    factors = hand_made(5, (2, 3), (4, 4))
    owners = item_owners(factors, 0)
    assert [owners[item] for item in range(10)] == [COMMON] * 5 + [0] * 2 + [1] * 3
    alone = item_owners(hand_made(5, (2, 3), (0, 4)), 0)
    # Nobody uses what the first class would add.
    assert alone == dict.fromkeys([0, 1, 2, 3, 4, 7, 8, 9], 1)
    many, _ = random_model(np.random.default_rng(6), rank=8)
    areas = [sum(len(cells) for cells in _cells_by_class(many, s)) for s in range(8)]
    largest = largest_patterns(many, 4)
    assert [areas[s] for s in largest] == sorted(areas, reverse=True)[:4]
    assert largest_patterns(hand_made(5, (0, 0), (0, 0)), 4) == []


def _cells_by_class(factors, s):
    for a in range(factors.n_classes):
        rows = np.flatnonzero(factors.usage[:, s] & (factors.y == a))
        items = np.flatnonzero(factors.components[s] | factors.alterations[a, s])
        yield list(pairs(rows, items))


# The experiment


def test_the_quick_tasks_are_some_of_all():
    everything = TEXT.tasks(False)
    assert len(everything) == len(CORPORA) * len(SETTINGS)
    quick = TEXT.tasks(True)
    assert quick
    assert all(task in everything for task in quick)
    assert {task["corpus"] for task in quick} == set(CORPORA)


@pytest.fixture(scope="module")
def rows(folder):
    """Measure some methods on the made documents; what comes back went through a file."""
    tasks = [{"corpus": name, "method": "csalt"} for name in CORPORA]
    tasks += [{"corpus": "movie", "method": method} for method in ("primp", "dbssl2")]
    code = {"version": "1", "commit": "abc"}
    return [json.loads(json.dumps({**task, **TEXT.measure(task, folder), **code}, allow_nan=False)) for task in tasks]


def test_made_classes_are_told_apart(rows):
    for row in rows[:3]:
        named = [set(claim["words"]) for claim in row["claims"]]
        classes = CORPORA[row["corpus"]].classes
        for a, label in enumerate(classes):
            own = [words for words, claim in zip(named, row["claims"], strict=True) if claim["owner"] == a]
            assert own, row["claims"]
            assert all(not words & set(WORDS[classes[1 - a]]) for words in own)
            assert set.union(*own) & set(WORDS[label])


@pytest.fixture(scope="module")
def written(rows, tmp_path_factory):
    """Write what is made of the rows; return the page and the folder."""
    folder = tmp_path_factory.mktemp("written")
    return TEXT.write(rows, folder), folder


def test_figure_tables_and_page_come_from_the_rows(rows, written):
    page, folder = written
    assert (folder / "text.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(folder / "text.csv")
    ours = table[table["source"] == "here"].set_index(["corpus", "method", "truncated"])
    for row in rows:
        for which, truncated in (("whole", False), ("truncated", True)):
            line = ours.loc[(row["corpus"], row["method"], truncated)]
            assert line["rss"] == row[which]["rss"]
            assert [line["r0"], line["r1"], line["r2"]] == row[which]["owners"]
            assert line["r"] == sum(row[which]["owners"])
            assert line["rss_per_one"] == pytest.approx(row[which]["rss"] / row["ones"])
    claims = pd.read_csv(folder / "text_patterns.csv")
    assert len(claims) == sum(len(row["claims"]) for row in rows)
    assert page.startswith("# Texts\n")
    assert "![" in page
    assert "5 fits with saltmine 1 (commit abc): C-Salt, Primp, Dbssl2 on Space-Rel, Politics, Movie." in page
    for row in rows:
        assert f"| {row['columns']} ({CORPORA[row['corpus']].paper_columns})" in page
        assert f"{row['whole']['rss'] / row['ones']:.3f} ({row['truncated']['rss'] / row['ones']:.3f})" in page
    for claim in rows[0]["claims"]:
        assert ", ".join(claim["words"]) in page


def test_the_page_has_the_whole_of_the_papers_table(written):
    page, _ = written
    # Numbers of patterns as the paper prints them, in its order: C-Salt, Primp and both settings of Dbssl.
    printed = {
        "space": ["29 (28)", "30 (30)", "40 (7)", "18 (6)"],
        "politics": ["41 (40)", "30 (30)", "57 (20)", "42 (15)"],
        "movie": ["26 (25)", "30 (27)", "27 (4)", "12 (4)"],
    }
    for name, counts in printed.items():
        lines = [f"{whole.r} ({truncated.r})" for whole, truncated in text_page.PAPER[name].values()]
        assert lines == counts
        assert all(f" {count} " in page for count in counts)


def test_reviews_are_left_out_where_there_is_no_folder(rows, tmp_path):
    with pytest.raises(SkipTask, match=r"Movie is left out: scikit-learn has no documents for it; name the folder"):
        TEXT.measure({"corpus": "movie", "method": "csalt"}, None)
    TEXT.write([row for row in rows if row["corpus"] != "movie"], tmp_path)
    assert "movie" not in set(pd.read_csv(tmp_path / "text.csv")["corpus"])


def test_runs_of_different_documents_are_not_put_side_by_side(rows, tmp_path):
    other = {**rows[0], "ones": rows[0]["ones"] + 1, "method": "primp"}
    with pytest.raises(ValueError, match=r"the runs of .* are of different documents; begin anew \(--force\)"):
        TEXT.write([rows[0], other], tmp_path)


@pytest.mark.parametrize(
    ("factor", "said"),
    [(0.9, ", below the paper's"), (1.1, ", above the paper's"), (1.0, ", level with, to the paper's")],
)
def test_the_verdict_compares_errors_per_one(rows, factor, said):
    line = text_page.PAPER["movie"]["csalt"][0]
    ours = {"rss": factor * line.rss, "owners": [25, 1, 0]}
    row = {**rows[2], "ones": CORPORA["movie"].paper_ones, "whole": ours, "truncated": ours}
    assert text_page.verdict("movie", row).count(said) == 2


def test_methods_with_fewer_errors_are_named(rows):
    def row(rss, truncated):
        return {
            "ones": 1000,
            "whole": {"rss": rss, "owners": [1, 2, 3]},
            "truncated": {"rss": truncated, "owners": [1, 0, 0]},
        }

    said = text_page.baselines({"csalt": row(500, 600), "primp": row(500, 601), "dbssl2": row(400, 600)})
    assert "Dbssl2 (0.400 with 6) has fewer errors than C-Salt (0.500 with 6 patterns).\n- No other method" in said
    assert "Primp" not in said


def test_the_verdict_counts_what_belongs_to_single_classes(rows):
    nothing = text_page.verdict("movie", {**rows[2], "claims": []})
    assert "0 alterations of common ones.\n  Together these are fewer than the 1 (0) patterns" in nothing
    alteration = {**rows[2]["claims"][0], "alteration": True}
    assert "1 alterations of common ones.\n  Together these are at least as many as the 1 (0)" in text_page.verdict(
        "movie", {**rows[2], "claims": [alteration]}
    )


def test_a_model_that_says_nothing_of_classes_is_told_so(rows, tmp_path):
    page = TEXT.write([{**rows[2], "claims": [], "clouds": []}], tmp_path)
    assert "**Movie**: nothing." in page
    assert len(pd.read_csv(tmp_path / "text_patterns.csv")) == 0
