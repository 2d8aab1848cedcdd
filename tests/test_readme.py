"""The commands and code in README and docs run as they stand and print the output shown; links and paths resolve."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from click.testing import CliRunner

from experiments import EXPERIMENTS
from saltmine.cli.main import cli

ROOT = Path(__file__).parents[1]
DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
}
WORDS_IN_README = 800
LONGEST_LINE = 160
COLUMNS_IN_TABLES = 6


def fences(document: str) -> Iterator[tuple[str, str, str]]:
    """Give language, content and expected output (the `text` block right after it) of every fenced block."""
    found = re.findall(r"```(\w+)\n(.*?)```\n(?:\n```text\n(.*?)```)?", DOCUMENTS[document], flags=re.DOTALL)
    yield from (block for block in found if block[0] != "text")


def commands(document: str) -> list[tuple[str, str]]:
    """Return the saltmine commands of a document, each with the output shown."""
    blocks = [(content.splitlines(), shown) for language, content, shown in fences(document) if language == "sh"]
    return [(line, shown) for lines, shown in blocks for line in lines if line.startswith("saltmine ")]


def code(document: str) -> list[tuple[str, str]]:
    """Return the Python blocks of a document, each with the output shown."""
    return [(content, shown) for language, content, shown in fences(document) if language == "python"]


def prose(document: str) -> list[str]:
    """Return the lines of a document that are neither in a fenced block nor in a table."""
    text = re.sub(r"```.*?```", "", DOCUMENTS[document], flags=re.DOTALL)
    return [line for line in text.splitlines() if not line.startswith("|")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder that has what the documents need of this one."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> str:
    """Run a command as a shell would, and return what it prints."""
    command, _, target = line.partition(" > ")
    result = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    if target:
        Path(target).write_text(result.stdout)
    return result.stdout


def shows(output: str, shown: str) -> bool:
    """Say whether a document shows what a command printed; lines of three dots stand for what is left out."""
    printed, begin = f" {' '.join(output.split())} ", 0
    parts = [" ".join(part.split()) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    if not printed.startswith(f" {parts[0]} ") or not printed.endswith(f" {parts[-1]} "):
        return False
    for part in parts:
        begin = printed.find(f" {part} ", begin)
        if begin < 0:
            return False
        begin += len(part)
    return True


def test_what_documents_show_is_compared_in_order():
    assert shows("one two\nthree four", "one two\n...\nfour")
    assert shows("one  two", "one two")
    assert not shows("one two three", "one\n...\ntwo")
    assert not shows("one two three", "two\n...\nthree")
    assert not shows("one two three four", "one\n...\nthree\n...\ntwo\n...\nfour")


def test_no_command_and_no_code_goes_untested():
    assert {name: len(commands(name)) for name in DOCUMENTS if commands(name)} == {
        "README.md": 1,
        "docs/quickstart.md": 4,
        "docs/methods.md": 1,
    }
    assert {name: len(code(name)) for name in DOCUMENTS if code(name)} == {
        "README.md": 1,
        "docs/python.md": 2,
        "docs/methods.md": 1,
        "docs/scaling.md": 1,
    }


@pytest.mark.parametrize("document", ["README.md", "docs/quickstart.md"])
def test_commands_run_and_print_the_output_shown(document, folder):
    outputs = [(run(line), shown) for line, shown in commands(document)]
    assert shows(*outputs[0])
    written = ["out/report.html", "out/patterns.csv", "out/usage.csv", "out/summary.json", "out/model.salt"]
    if document != "README.md":
        written += ["classes.csv", "usage.csv", "talk.html"]
    assert all((folder / name).stat().st_size > 0 for name in written)


@pytest.mark.slow
def test_the_comparison_runs_and_prints_the_table_shown(folder):
    [(line, shown)] = commands("docs/methods.md")
    found, expected = ([row for row in text.splitlines() if row.strip()] for text in (run(line), shown))
    assert [row.split()[:1] for row in found] == [row.split()[:1] for row in expected]
    # Times differ, and so does the last digit of factors that another machine computes: but not of saltmine's own.
    assert found[2].split()[:-1] == expected[2].split()[:-1]
    assert (folder / "out/compare/comparison.png").stat().st_size > 0
    assert (folder / "out/compare/dbssl.salt").stat().st_size > 0


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("README.md", []),
        ("docs/python.md", ["model.salt", "report.html"]),
        pytest.param("docs/methods.md", ["dbssl.html", "compared.png"], marks=pytest.mark.slow),
    ],
)
def test_code_runs_and_prints_the_output_shown(document, written, folder):
    mpl.use("Agg")
    names: dict[str, object] = {}
    for content, shown in code(document):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(content, document, "exec"), names)
        assert printed.getvalue().split() == shown.split()
    assert all((folder / name).stat().st_size > 0 for name in written)


@pytest.mark.slow
@pytest.mark.cluster
def test_the_script_for_a_cluster_runs(folder):
    [(script, _)] = code("docs/scaling.md")
    (folder / "large.py").write_text(script)
    ran = subprocess.run([sys.executable, "large.py"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


def test_the_experiments_named_are_those_that_exist():
    # Experiments take minutes; their own tests run them.
    named = re.findall(r"(?:python -m experiments |EXPERIMENT=)([a-z]+)", DOCUMENTS["docs/reproduce.md"])
    assert set(named) == {*EXPERIMENTS, "all"}


def slugs(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_resolves(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", DOCUMENTS[document]):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        assert not anchor or anchor in slugs(target), link


def test_the_paths_in_the_map_of_the_code_exist():
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|/))`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert len(named) > 40
    assert {
        path for path in named if not any((top / path).exists() for top in (ROOT, ROOT / "src" / "saltmine"))
    } == set()


def test_every_document_is_linked_from_the_readme():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)\)", DOCUMENTS["README.md"]))
    assert linked == set(DOCUMENTS) - {"README.md"}


def test_the_readme_is_short():
    assert len(DOCUMENTS["README.md"].split()) <= WORDS_IN_README


@pytest.mark.parametrize("document", DOCUMENTS)
def test_lines_are_short(document):
    assert [line for line in prose(document) if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_are_narrow(document):
    lines = [line.replace("\\|", "") for line in DOCUMENTS[document].splitlines() if line.startswith("|")]
    assert [line for line in lines if line.count("|") > COLUMNS_IN_TABLES + 1] == []
