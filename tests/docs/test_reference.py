"""Every public name has a page with parameters, returns and an example; pages name what the code has."""

import doctest
import importlib
import inspect
import json
import re

import pytest

import saltmine
from saltmine.io.registry import _BY_SUFFIX, formats
from tests.helpers.documents import folder_of_documents, run_command
from tests.helpers.paths import ROOT

REFERENCE = ROOT / "docs" / "reference"
PYTHON = (REFERENCE / "python.md").read_text()
#: Modules whose `__all__` is public.
MODULES = ("saltmine", "saltmine.datasets", "saltmine.metrics")


def listed_names():
    """Return the names on the page by their whole path."""
    names, module = [], ""
    for line in PYTHON.splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.fullmatch(r"   ([\w.]+)", line):
            names.append(f"{module}.{found[1]}")
    return names


def public_names():
    """Return all public names but modules and constants by their whole path."""
    found = [f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__]
    return [name for name in found if callable(object_of(name))]


def object_of(name):
    """Return the object with a path such as saltmine.fitted.summary.Summary."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def methods_of(kind):
    """Return the public methods and properties of a class that are ours and no fitted attributes."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or name.endswith("_") or isinstance(member, dict):
            continue
        function = inspect.unwrap(member.fget if isinstance(member, property) else member) if member else None
        if inspect.isroutine(function) and getattr(function, "__module__", "").startswith("saltmine"):
            yield f"{kind.__name__}.{name}", member


def documented():
    """Give every function, class and method of the reference, once."""
    found = {}
    for name in listed_names():
        thing = object_of(name)
        found[name] = thing
        # What methods return is described by its attributes.
        if inspect.isclass(thing) and not name.startswith(("saltmine.fitted.summary", "saltmine.fitted.stability")):
            found |= dict(methods_of(thing))
    return found


DOCUMENTED = documented()


def test_no_public_name_goes_without_a_page():
    assert set(public_names()) - set(listed_names()) == set()


def test_the_page_lists_nothing_twice():
    assert len(listed_names()) == len(set(listed_names()))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_name_has_an_example_that_the_tests_run(name):
    thing = DOCUMENTED[name]
    document = inspect.getdoc(thing) or ""
    assert "Examples\n--------" in document
    assert doctest.DocTestParser().get_examples(document)


@pytest.mark.parametrize("name", [name for name, thing in DOCUMENTED.items() if inspect.isroutine(thing)])
def test_every_function_says_what_it_takes_and_returns(name):
    function = DOCUMENTED[name]
    document = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    taken = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    if [parameter.name for parameter in taken] not in ([], ["self"]):
        section = document.partition("Parameters\n----------\n")[2]
        assert [parameter.name for parameter in taken if parameter.name not in {"self", *words(section)}] == []
    if signature.return_annotation not in (None, "None"):
        assert "Returns\n-------" in document


def words(text):
    """Return the words of a text."""
    return set(re.findall(r"\w+", text))


def test_every_parameter_of_an_estimator_is_described():
    for name, thing in DOCUMENTED.items():
        if hasattr(thing, "get_params"):
            section = (
                (inspect.getdoc(thing) or "").partition("Parameters\n----------\n")[2].partition("Attributes\n")[0]
            )
            assert set(thing._get_param_names()) - words(section) == set(), name


def test_constants_are_in_an_example_that_runs():
    examples = re.findall(r"```pycon\n(.*?)```", PYTHON, flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest("".join(examples), {}, "python.md", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
    names = {name for module in MODULES for name in importlib.import_module(module).__all__}
    constants = {name for name in names if name.isupper() or name == "__version__"}
    assert constants <= words("".join(examples))


# ---------------------------------------------------------------------- files and columns


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the folder of results of the example."""
    folder = tmp_path_factory.mktemp("results") / "out"
    with folder_of_documents():
        run_command(f"saltmine fit examples/baskets.csv --target shop --row-names receipt --stability 1 -o {folder}")
    return folder


def first_column(page, heading):
    """Return the code in the first column of the table below a heading."""
    section = re.split(r"^## ", (REFERENCE / page).read_text(), flags=re.MULTILINE)
    (table,) = [part for part in section if part.startswith(f"{heading}\n")]
    return re.findall(r"^\| `([^`]+)` \|", table.partition("\n### ")[0], flags=re.MULTILINE)


@pytest.mark.parametrize("file", ["patterns.csv", "differences.csv", "usage.csv"])
def test_the_page_has_the_columns_of_every_file(results, file):
    columns = (results / file).read_text().splitlines()[0].split(",")
    general = [re.sub(r"_(Mainz|Trier)$", "_<class>", re.sub(r"^pattern_\d+$", "pattern_<number>", c)) for c in columns]
    assert first_column("columns.md", file) == list(dict.fromkeys(general))


def test_the_page_has_the_keys_of_the_summary(results):
    assert first_column("columns.md", "summary.json") == list(json.loads((results / "summary.json").read_text()))


def test_the_page_has_all_files_of_a_fit(results):
    page = (REFERENCE / "columns.md").read_text()
    assert {path.name for path in results.iterdir()} == set(
        re.findall(r"^\| `([\w.]+)` \|", page.partition("## ")[0], re.M)
    )


def test_every_format_has_a_section():
    headings = re.findall(r"^## .*?: (.*)$", (REFERENCE / "formats.md").read_text(), flags=re.MULTILINE)
    told = set(re.findall(r"\w+", " ".join(headings)))
    assert {name for name in formats() if name not in told and f".{name}" in _BY_SUFFIX} == set()
    assert saltmine.read.__doc__
