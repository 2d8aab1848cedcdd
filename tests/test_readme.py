"""The commands and code in README and docs run as they stand and print the output shown; links and paths resolve.

After a change of the search, ``make shown-outputs`` puts what they print into the documents.
"""

import re
from pathlib import Path

import pytest

import saltmine
from tests.helpers.documents import DOCUMENTS, code, commands, folder_of_documents, run_code, run_command, show, shows
from tests.helpers.paths import ROOT

WORDS_IN_README = 700
LONGEST_LINE = 160
COLUMNS_IN_TABLES = 6


def prose(document: str) -> list[str]:
    """Return the lines of a document that are neither in a fenced block nor in a table."""
    text = re.sub(r"```.*?```", "", DOCUMENTS[document], flags=re.DOTALL)
    return [line for line in text.splitlines() if not line.startswith("|")]


@pytest.fixture
def folder():
    """Go to a folder that has what the documents need of this one."""
    with folder_of_documents() as folder:
        yield folder


def test_what_documents_show_is_compared_in_order():
    assert shows("one two\nthree four", "one two\n...\nfour")
    assert shows("one  two", "one two")
    assert not shows("one two three", "one\n...\ntwo")
    assert not shows("one two three", "two\n...\nthree")
    assert not shows("one two three four", "one\n...\nthree\n...\ntwo\n...\nfour")


def test_what_is_left_out_stays_left_out():
    output = "Found 3.\nSo it is.\n\n1. one\n2. two,\n   too\n3. three\n\nNext\n\n # item\n 0 milk\n\nEnd\n"
    shown = "Found 2.\n\n1. old\n2. one\n...\n\n # item\n 0 tea\n\n...\n\nEnd\n"
    now = "Found 3.\nSo it is.\n\n1. one\n2. two,\n   too\n...\n\n # item\n 0 milk\n\n...\n\nEnd\n"
    assert show(output, shown) == now
    assert shows(output, now)
    assert show(output, "anything\n") == output


def test_no_command_and_no_code_goes_untested():
    # tests/docs/test_guide.py runs those of the other folders.
    ours = [name for name in DOCUMENTS if name.split("/")[1:2] not in (["guide"], ["method"], ["benchmarks"])]
    assert {name: len(commands(name)) for name in ours if commands(name)} == {
        "README.md": 1,
        "docs/start/five_minutes.md": 4,
        "docs/start/install.md": 1,
    }
    assert {name: len(code(name)) for name in ours if code(name)} == {
        "README.md": 1,
        "docs/start/five_minutes.md": 3,
    }


@pytest.mark.slow
@pytest.mark.parametrize("document", ["README.md", "docs/start/five_minutes.md"])
def test_commands_run_and_print_the_output_shown(document, folder):
    outputs = [(run_command(line), shown) for line, shown in commands(document)]
    assert shows(*outputs[0])
    written = ["out/report.html", "out/patterns.csv", "out/usage.csv", "out/summary.json", "out/model.salt"]
    if document != "README.md":
        written += ["classes.csv", "usage.csv", "talk.html"]
    assert all((folder / name).stat().st_size > 0 for name in written)


@pytest.mark.slow
def test_the_first_command_after_the_installation_runs(folder):
    [(line, _)] = commands("docs/start/install.md")
    run_command(line)
    assert (folder / "demo" / "report.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("README.md", []),
        ("docs/start/five_minutes.md", ["model.salt", "report.html"]),
    ],
)
def test_code_runs_and_prints_the_output_shown(document, written, folder):
    for printed, (_, shown) in zip(run_code(document), code(document), strict=True):
        assert printed.split() == shown.split()
    assert all((folder / name).stat().st_size > 0 for name in written)


def slugs(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def marks() -> set[str]:
    """Return the names that pages give to places, which every page of the site can link to."""
    return {name for text in DOCUMENTS.values() for name in re.findall(r"^\((\S+)\)=$", text, flags=re.MULTILINE)}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_resolves(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", DOCUMENTS[document]):
        # Pages of tutorials are made by the build, which checks links to them.
        if "://" in link or "gallery/" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        assert not anchor or anchor in slugs(target) | marks(), link


def test_the_paths_in_the_map_of_the_code_exist():
    pages = "".join(text for name, text in DOCUMENTS.items() if name.startswith("docs/contributing/"))
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|/))`", pages))
    assert len(named) > 40
    # The package may be installed rather than beside the documents.
    package = Path(saltmine.__file__).parent
    assert [
        path
        for path in sorted(named)
        if not (ROOT / path).exists() and not (package / path.removeprefix("src/saltmine/")).exists()
    ] == []


def test_the_readme_links_every_part_of_the_site():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)\)", DOCUMENTS["README.md"]))
    assert {link.split("/")[1] for link in linked} >= {name.split("/")[1] for name in DOCUMENTS if name.count("/") > 1}


def test_the_readme_is_short():
    assert len(DOCUMENTS["README.md"].split()) <= WORDS_IN_README


def test_the_demo_runs_in_the_environment_that_was_installed():
    """``make demo`` would replace the installation in .venv by an editable one, so it comes first or not at all."""
    before, found, _ = DOCUMENTS["docs/start/install.md"].partition("saltmine demo -o demo/")
    assert found
    assert "pip install '.[all]'" in before
    assert "make demo" not in before
    for command in ("make demo", "make test"):
        before, found, _ = DOCUMENTS["README.md"].partition(f"```sh\n{command}\n```")
        assert found
        assert "pip install" not in before


@pytest.mark.parametrize("document", DOCUMENTS)
def test_lines_are_short(document):
    assert [line for line in prose(document) if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_are_narrow(document):
    lines = [line.replace("\\|", "") for line in DOCUMENTS[document].splitlines() if line.startswith("|")]
    assert [line for line in lines if line.count("|") > COLUMNS_IN_TABLES + 1] == []
