import json
import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import claims
from benchmarks.claim_checks import Claim, claims_of, half_of, has_most, is_confirmed, lines_of_three, soft_scores
from benchmarks.parts import tasks_of
from saltmine import CSalt
from saltmine.datasets import make_class_patterns


def make_table(*rows):
    return pd.DataFrame(rows, columns=["pattern", "item", "role", "kind", "q_value"])


def make_claim(kind, items, base=()):
    return Claim(0, "a", kind, frozenset(items), frozenset(base), 0.0)


def test_a_claim_is_what_a_table_says_of_a_pattern_and_a_class():
    table = make_table(
        (0, 1, "common", "shared", np.nan),
        (0, 2, "common", "shared", np.nan),
        (0, 3, "a", "added", 0.2),
        (0, 4, "a", "added", 0.01),
        (0, 5, "b", "added", 0.3),
        (1, 6, "a", "mostly", 0.04),
        (1, 6, "b", "mostly", 0.06),
        (1, 7, "a", "added", 0.5),
    )
    found = {(claim.pattern, claim.role, claim.kind): claim for claim in claims_of(table)}
    assert {key: set(claim.items) for key, claim in found.items()} == {
        (0, "a", "added"): {3, 4},
        (0, "b", "added"): {5},
        (1, "a", "mostly"): {6},
        (1, "b", "mostly"): {6},
        (1, "a", "added"): {7},
    }
    assert found[0, "a", "added"].q_value == 0.01
    assert found[0, "a", "added"].whole == {1, 2, 3, 4}
    assert found[1, "a", "mostly"].whole == {6}
    assert found[1, "a", "added"].whole == {6, 7}


def test_tables_of_models_can_be_read():
    made = make_class_patterns(2, 100, 60, 3, (6, 8), 1, random_items=2, wrong_labels=0, random_state=0)
    model = CSalt(random_state=0).fit(made.X, made.y)
    table = model.patterns()
    found = claims_of(table)
    assert sum(len(claim.items) for claim in found) == (table["kind"] != "shared").sum()
    assert {claim.role for claim in found} <= {"0", "1"}


def test_soft_scores():
    planted = [frozenset({1, 2}), frozenset({3, 4})]
    assert soft_scores(planted, planted) == (1, 1, 1)
    assert soft_scores([], planted) == (0, 0, 0)
    assert soft_scores([frozenset({9})], planted) == (0, 0, 0)
    precision, recall, f1 = soft_scores([frozenset({1, 2, 3})], planted)
    assert precision == pytest.approx(2 / 3)
    assert recall == pytest.approx((2 / 3 + 1 / 4) / 2)
    assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))


def test_there_are_eight_lines():
    items = [f"square {k}={player}" for k in range(9) for player in "box"]
    lines = lines_of_three(items, "x")
    assert len(lines) == 8
    assert {frozenset(k // 3 for k in line) for line in lines} >= {frozenset({0, 1, 2}), frozenset({2, 4, 6})}
    assert {items[k][-1] for line in lines for k in line} == {"x"}


def test_halves_have_half_of_every_class():
    y = np.repeat(["a", "b", "c"], [10, 7, 1])
    for seed in range(10):
        chosen = half_of(y, seed)
        assert chosen[y == "a"].sum() == 5
        assert chosen[y == "b"].sum() in (3, 4)


def test_most_is_more_than_half():
    X = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)
    assert has_most(X, [0, 1, 2, 3]).tolist() == [False, True]
    assert has_most(X, []).tolist() == [True, True]


def test_true_claims_are_confirmed_and_false_ones_are_not():
    y = np.repeat(["a", "b"], 20)
    X = np.zeros((40, 4), dtype=bool)
    X[:10, :2] = True  # of class a only
    X[::2, 2] = True  # in half of both classes
    X[:20:2, 3] = True  # of these, in class a only
    assert is_confirmed(make_claim("only", [0, 1]), X, y)
    assert not is_confirmed(make_claim("mostly", [2]), X, y)
    assert is_confirmed(make_claim("added", [3], base=[2]), X, y)
    assert not is_confirmed(make_claim("added", [2], base=[3]), X, y)
    nobody = np.zeros(40, dtype=bool)
    assert not is_confirmed(make_claim("only", [0, 1]), X, y, uses=nobody)


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["claims", *map(str, arguments)])
    claims.main()


@pytest.mark.slow
def test_every_run_is_stored_and_shown(monkeypatch, tmp_path, capsys):
    run(monkeypatch, "planted", "--tables", "pure noise", "--repeats", 1, "--tune", "-o", tmp_path)
    line = json.loads((tmp_path / "planted" / "runs.jsonl").read_text())
    assert (line["case"], line["seed"], line["patterns"]) == ("pure noise", 0, 0)
    first = capsys.readouterr().out
    assert "pure noise" in first
    run(monkeypatch, "planted", "--show", "-o", tmp_path)
    assert capsys.readouterr().out == first
    run(monkeypatch, "planted", "--show", "--markdown", "-o", tmp_path)
    assert "| pure noise" in capsys.readouterr().out


def test_data_that_is_not_there_is_skipped_with_a_sentence(monkeypatch, tmp_path, capsys):
    run(monkeypatch, "real", "text", "genome", "--quick", "--data", tmp_path / "none", "-o", tmp_path)
    said = capsys.readouterr()
    assert "vote is skipped: data/tables/vote is not here; name the folder that has it with --data." in said.err
    assert "genome/small is not here" in said.err
    assert "real: no runs." in said.out


def test_quick_runs_are_fewer():
    for part in claims.PARTS.values():
        quick, full = (tasks_of(part, quick, None, None, 5000) for quick in (True, False))
        assert len(quick) < len(full)
        assert all(task in full for task in quick)
        assert set(part.quick) <= set(part.repeats)
