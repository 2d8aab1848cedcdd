"""The examples of docstrings as tests of their own, one for each.

pytest would take those of a changed file as well, where mutmut has every function many times over.
"""

from __future__ import annotations

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.mutants.groups import GROUPS, ROOT

Example = tuple[str, str]


def examples_of(group: str) -> list[Example]:
    """Return the module and the docstring of every example of a group."""
    paths = [ROOT / path for path in GROUPS[group].python]
    files = [file for path in paths for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    return [example for file in files for example in _in_file(file)]


def _in_file(file: Path) -> list[Example]:
    module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
    kinds = ast.FunctionDef | ast.ClassDef | ast.Module
    nodes = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, kinds)]
    texts = [ast.get_docstring(node) or "" for node in nodes]
    return [(module, text) for text in dict.fromkeys(texts) if ">>>" in text]


def check(example: Example) -> None:
    """Fail where an example prints something else."""
    module, text = example
    found = doctest.DocTestParser().get_doctest(text, dict(vars(import_module(module))), module, None, None)
    assert doctest.DocTestRunner(verbose=False).run(found, out=lambda _: None).failed == 0


@pytest.mark.parametrize("example", examples_of("mdl"))
def test_mdl(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("example", examples_of("data"))
def test_data(example: Example) -> None:
    check(example)
