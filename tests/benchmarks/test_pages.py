"""Tables of the pages are those of the stored runs."""

import re

import pytest

from benchmarks import pages

COLUMNS_IN_TABLES = 6


@pytest.mark.slow
def test_the_pages_show_the_tables_of_the_stored_runs():
    assert len(pages.pages()) > 5
    # python -m benchmarks.pages writes them.
    assert [path.name for path in pages.out_of_date()] == []


def test_every_table_that_a_page_asks_for_exists_and_every_mark_is_closed():
    for path in pages.pages():
        text = path.read_text("utf-8")
        names = re.findall(r"<!-- table: (\S+) -->", text)
        assert len(names) == text.count("<!-- end -->") == len(pages.MARKED.findall(text)), path
        assert set(names) <= set(pages.TABLES), path


@pytest.mark.slow
@pytest.mark.parametrize("name", pages.TABLES)
def test_tables_are_narrow(name):
    lines = [line.replace("\\|", "") for line in pages.TABLES[name]().splitlines() if line.startswith("|")]
    assert all(line.count("|") <= COLUMNS_IN_TABLES + 1 for line in lines)


def test_what_is_between_the_marks_is_replaced():
    page = "before\n<!-- table: scaling -->\nold\n<!-- end -->\nafter\n"
    filled = pages.filled(page)
    assert "old" not in filled
    assert "| columns" in filled
    assert filled.startswith("before\n")
    assert filled.endswith("<!-- end -->\nafter\n")
    assert pages.filled(filled) == filled


def test_an_unknown_table_is_named():
    with pytest.raises(SystemExit, match="no table 'nothing'"):
        pages.filled("<!-- table: nothing -->\n<!-- end -->")


def test_tables_without_runs_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    assert pages.TABLES["speed/nmf"]() == pages.NOT_MEASURED
    assert pages.TABLES["speed/growth"]() == pages.NOT_MEASURED
    assert pages.TABLES["trust/summary"]() == pages.NOT_MEASURED
    assert pages.TABLES["mutants"]() == pages.NOT_MEASURED


def test_pages_that_are_out_of_date_are_found_and_written(tmp_path, monkeypatch, capsys):
    page = tmp_path / "docs" / "benchmarks" / "one.md"
    page.parent.mkdir(parents=True)
    page.write_text("<!-- table: scaling -->\n<!-- end -->\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(pages, "FIGURE_OF", {})
    monkeypatch.setattr("sys.argv", ["pages", "--check"])
    with pytest.raises(SystemExit) as ended:
        pages.main()
    assert ended.value.code == 1
    assert "one.md is out of date" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["pages"])
    pages.main()
    assert "| rows" in page.read_text()
    assert pages.out_of_date() == []


@pytest.mark.slow
def test_figures_are_drawn_where_they_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "FIGURE_OF", {"real_tables.png": pages.FIGURE_OF["real_tables.png"]})
    assert pages.draw_figures(tmp_path, anew=False) == [tmp_path / "real_tables.png"]
    assert pages.draw_figures(tmp_path, anew=False) == []
    assert (tmp_path / "real_tables.png").stat().st_size > 1000
