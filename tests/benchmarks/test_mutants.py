"""Mutants: small changes of sources, and the table of what became of them."""

import json

import pytest

from tests.helpers.paths import ROOT as HERE

if not (HERE / "src").is_dir():
    pytest.skip("mutants are made of the sources, which are not here", allow_module_level=True)

from benchmarks.mutants import __main__ as command
from benchmarks.mutants.cpp import mutants_of
from benchmarks.mutants.examples import examples_of
from benchmarks.mutants.groups import GROUPS, ROOT, interval


def test_a_mutant_changes_one_place_of_one_line_and_no_text():
    source = 'Int f(Int n) {\n    if (n < 2) return log("n < 2");  // n < 2\n    return n + f(n - 1);\n}'
    found = [mutant.apply(source) for mutant in mutants_of("f.cpp", source)]
    assert len(set(found)) == len(found) == 6
    for changed in found:
        lines = zip(source.split("\n"), changed.split("\n"), strict=True)
        assert sum(before != after for before, after in lines) == 1
        assert 'log("n < 2");  // n < 2' in changed
    assert any("if (!(n < 2))" in changed for changed in found)


def test_all_groups_have_sources_and_tests():
    for group in GROUPS.values():
        paths = [
            *group.python,
            *(f"core/{name}" for name in group.cpp),
            *(test.split("::")[0] for test in group.tests),
        ]
        assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(examples_of("mdl")) > 10


def test_intervals_hold_the_share_and_shrink():
    for killed, tried in ((0, 10), (7, 10), (10, 10), (70, 100)):
        low, high = interval(killed, tried)
        assert 0 <= low <= killed / tried <= high + 1e-12
        assert high <= 1
    assert interval(70, 100)[1] - interval(70, 100)[0] < interval(7, 10)[1] - interval(7, 10)[0]
    assert interval(0, 0) == (0.0, 1.0)


@pytest.fixture
def stored(tmp_path):
    ends = {"a": "killed", "b": "survived", "c": "survived", "d": "not compiled", "e": "killed"}
    rows = [
        {"group": "mdl", "language": "c++", "end": end, "mutant": name, "change": "", "of": 1234}
        for name, end in ends.items()
    ]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_the_table_counts_what_was_tried_and_what_cannot_be_noticed(stored):
    line = ["mdl", "c++", "1,234", "4", "50% (15% to 85%)", "0 of 2"]
    assert command.table_of(command.load(stored))[1] == [line]
    (stored / "read.json").write_text(json.dumps({"b": "speed", "c": "a result", "a": "nothing"}))
    line[-1] = "1 of 2"
    assert command.table_of(command.load(stored))[1] == [line]


def test_without_runs_there_is_nothing(tmp_path):
    assert command.load(tmp_path) == []
