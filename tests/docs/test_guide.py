"""Commands and code in the guide, the method and the benchmarks run as they stand and print the output shown."""

import re
import subprocess
import sys

import matplotlib as mpl
import pytest

from experiments import EXPERIMENTS
from saltmine import CSalt, load
from saltmine.parameters import RUN_PARAMETERS
from tests.helpers.documents import PAGES, code, commands, folder_of_documents, run_code, run_command, shows
from tests.helpers.paths import ROOT

FOLDERS = ("guide", "method", "benchmarks")
OURS = [page for page in PAGES if page.split("/")[1] in FOLDERS]
# Written from stored runs, by experiments.results_page.
GENERATED = "docs/benchmarks/experiment_results.md"
LONGEST_LINE = 160
COLUMNS_IN_TABLES = 6


def prose(page: str) -> str:
    """Return a page without its fenced blocks and formulas."""
    return re.sub(r"```.*?```|\$\$.*?\$\$", "", PAGES[page], flags=re.DOTALL)


@pytest.fixture
def folder():
    """Go to a folder that has what the pages need of this one."""
    with folder_of_documents() as folder:
        yield folder


def test_no_command_and_no_code_goes_untested():
    assert {page: len(commands(page)) for page in OURS if commands(page)} == {
        "docs/guide/compare.md": 1,
        "docs/guide/new_data.md": 4,
        "docs/guide/results.md": 1,
    }
    assert {page: len(code(page)) for page in OURS if code(page)} == {
        "docs/guide/compare.md": 1,
        "docs/guide/data.md": 1,
        "docs/guide/how_sure.md": 3,
        "docs/guide/large_data.md": 1,
        "docs/guide/new_data.md": 2,
        "docs/guide/patterns.md": 1,
        "docs/guide/results.md": 3,
    }


@pytest.mark.slow
def test_a_fit_prints_the_output_shown_and_writes_the_files_named(folder):
    [(line, shown)] = commands("docs/guide/results.md")
    assert shows(run_command(line), shown)
    named = re.findall(r"^\| `(\w+\.\w+)` \|", PAGES["docs/guide/results.md"], flags=re.MULTILINE)
    assert len(named) == 6
    assert all((folder / "out" / name).stat().st_size > 0 for name in named)


@pytest.mark.slow
def test_the_commands_for_new_rows_run(folder):
    for line, _ in commands("docs/guide/new_data.md"):
        run_command(line)
    assert all((folder / name).stat().st_size > 0 for name in ("classes.csv", "usage.csv", "talk.html"))


@pytest.mark.slow
@pytest.mark.usefixtures("few_thresholds")
def test_the_comparison_runs_and_prints_the_table_shown(folder):
    [(line, shown)] = commands("docs/guide/compare.md")
    found, expected = ([row for row in text.splitlines() if row.strip()] for text in (run_command(line), shown))
    assert [row.split()[:1] for row in found] == [row.split()[:1] for row in expected]
    # Times differ, and so does the last digit of factors that another machine computes: but not of saltmine's own.
    assert found[2].split()[:-1] == expected[2].split()[:-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("docs/guide/patterns.md", []),
        ("docs/guide/results.md", []),
        ("docs/guide/how_sure.md", []),
        ("docs/guide/data.md", []),
        ("docs/guide/new_data.md", ["model.salt"]),
        ("docs/guide/compare.md", ["dbssl.html", "compared.png"]),
    ],
)
def test_code_runs_and_prints_the_output_shown(page, written, folder):
    for printed, (_, shown) in zip(run_code(page), code(page), strict=True):
        assert printed.split() == shown.split()
    assert all((folder / name).stat().st_size > 0 for name in written)


@pytest.mark.slow
@pytest.mark.cluster
def test_the_script_for_a_cluster_runs(folder):
    [(script, _)] = code("docs/guide/large_data.md")
    (folder / "large.py").write_text(script)
    ran = subprocess.run([sys.executable, "large.py"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


def test_the_experiments_named_are_those_that_exist():
    page = PAGES["docs/benchmarks/experiments.md"]
    named = re.findall(r"^\| `([a-z]+)` \|", page, flags=re.MULTILINE)
    assert set(named) == {*EXPERIMENTS, "all"}


def test_the_parameters_that_a_model_file_leaves_out_are_named(tmp_path):
    named = re.search(r"only say how a fit runs\.\n  These are (.*)\.\n", PAGES["docs/guide/new_data.md"])
    assert named is not None
    names = re.findall(r"`(\w+)`", named[1])
    assert set(names) == RUN_PARAMETERS
    model = CSalt(alpha=0.05, n_jobs=2, max_time=100.0, random_state=0).fit([[1, 1, 0], [0, 0, 1]] * 4, [0, 1] * 4)
    model.save(tmp_path / "model.salt")
    again = load(tmp_path / "model.salt")
    assert again.alpha == 0.05
    assert {name: getattr(again, name) for name in names} == {name: getattr(CSalt(), name) for name in names}


@pytest.mark.parametrize("page", OURS)
def test_every_link_and_picture_resolves(page):
    labels = {label for text in PAGES.values() for label in re.findall(r"^\((\S+)\)=$", text, flags=re.MULTILINE)}
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if link.startswith("#"):
            assert link[1:] in labels, link
        elif "://" not in link:
            assert (ROOT / page).parent.joinpath(link).exists(), link


@pytest.mark.parametrize("name", FOLDERS)
def test_every_page_is_in_the_contents_of_its_folder(name):
    index = f"docs/{name}/index.md"
    contents = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", PAGES[index], flags=re.DOTALL)
    assert contents is not None
    listed = {f"docs/{name}/{page}.md" for page in contents[1].split()}
    assert listed == {page for page in OURS if page.startswith(f"docs/{name}/")} - {index}


@pytest.mark.parametrize("page", [page for page in OURS if page != GENERATED])
def test_lines_are_short_and_tables_narrow(page):
    lines = prose(page).splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE and not line.startswith("|")] == []
    bars = [line.replace("\\|", "").count("|") for line in lines if line.startswith("|")]
    assert max(bars, default=0) <= COLUMNS_IN_TABLES + 1


@pytest.mark.slow
def test_the_drawings_are_those_of_the_script(tmp_path):
    script = ROOT / "docs" / "guide" / "drawings.py"
    names = {"__name__": "drawings", "__file__": str(tmp_path / script.name)}
    exec(compile(script.read_text("utf-8"), str(script), "exec"), names)
    with mpl.rc_context():
        names["main"]()
    assert {path.name for path in tmp_path.glob("*.svg")} == {path.name for path in script.parent.glob("*.svg")}
