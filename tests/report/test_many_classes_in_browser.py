"""The report of many classes with long names, in a real browser."""

import numpy as np
import pytest

from tests.helpers.report_models import planted_model, word_model


def many_classes(n_classes, rows=20):
    """Return a model of classes with long names, of which not all use every pattern, and with names of rows."""
    model = planted_model(6, [rows] * n_classes, 100, size=12)
    model.classes_ = np.array([f"Department of Transport and Public Works {a:02}" for a in range(n_classes)])
    model.row_labels_ = np.repeat(model.classes_, rows)
    model.row_names_ = np.array([f"file {k}" for k in range(rows * n_classes)], dtype=object)
    return model


@pytest.fixture(scope="module")
def departments():
    return many_classes(24)


# Texts that are wider or higher than the box that hides the rest of them.
CUT = """(selector) => [...document.querySelectorAll(selector)]
  .filter((node) => node.getClientRects().length && !node.closest(".unseen"))
  .filter((node) => getComputedStyle(node).display !== "inline")
  .filter((node) => node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 4)
  .map((node) => [node.className, node.textContent, node.scrollWidth, node.clientWidth])"""
HEADS = "th, h3, h4, .class-name, .legend, .legend-entry, .kind, .bar-text, .onco-class, .save, .more-line"


@pytest.mark.parametrize(("n_classes", "width"), [(5, 1300), (7, 390), (50, 1300), (50, 390)])
def test_names_of_classes_are_not_cut(visit, n_classes, width):
    page = visit(many_classes(n_classes), width=width)
    page.evaluate("drawAllCards()")
    for button in page.get_by_role("button", name="Class by class").all()[:3]:
        button.click()
    page.locator("#usage-canvas").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT, HEADS) == []
    names = page.locator("#overview .class-name").all_inner_texts()
    assert names[2] == "Department of Transport and Public Works 02"


def test_the_map_has_upright_heads_and_on_a_phone_blocks(visit, departments):
    wide = visit(departments, width=1300)
    head = wide.locator("#map-table thead .class-column").nth(3)
    assert head.inner_text().strip() == "Department of Transport and Public Works 03"
    assert wide.locator("#map-table thead th").count() == 26
    phone = visit(departments, width=390)
    assert not phone.locator("#map-table thead").is_visible()
    row = phone.locator('#map-table tr[data-pattern="0"]')
    users = int((departments.usage_counts_[:, 0] > 0).sum())
    assert row.locator(".class-name:visible").count() == users
    phone.get_by_label("Sort the map by").select_option("2")
    order = phone.locator("#map-table tbody tr").evaluate_all("rows => rows.map((row) => Number(row.dataset.pattern))")
    assert (np.diff(departments.usage_counts_[0, order]) <= 0).all()


def test_cards_name_the_classes_that_use_a_pattern_and_count_the_others(visit, departments):
    page = visit(departments)
    page.evaluate("drawAllCards()")
    for pattern, used in enumerate(departments.usage_counts_.T > 0):
        card = page.locator(f"#pattern-{pattern} .usage-bars")
        assert card.locator(".usage-bar").count() == min(8, used.sum())
        text = page.locator(f"#pattern-{pattern} .card-facts").text_content()
        idle = int((~used).sum())
        assert (f"{idle} classes that do not" in text) == (idle > 1)
        assert (f"and {used.sum() - 8} more classes" in text) == (used.sum() > 8)
    shares = page.locator("#pattern-0 .usage-bar .bar-text").all_text_contents()
    counts = [int(text.split()[0]) for text in shares]
    assert counts == sorted(counts, reverse=True)


def test_many_classes_are_gathered_in_the_lists_and_told_apart_on_demand(visit, departments):
    page = visit(departments)
    card = page.locator("#pattern-1")
    card.scroll_into_view_if_needed()
    part = page.evaluate("data.patterns[1].parts.findIndex((part) => part.kind === 'added')")
    assert part == 1
    added = card.locator(".part").nth(part)
    heads = added.locator("thead .share-head").all_text_contents()
    role = page.evaluate("data.patterns[1].parts[1].role")
    assert heads == [departments.classes_[role], "classes that add nothing"]
    used, hits = page.evaluate("[data.patterns[1].usage, data.patterns[1].parts[1].hits.map((hits) => hits[0])]")
    own = added.locator("tbody tr").first.locator("td").first.get_attribute("title")
    assert f"{hits[role]} of the {used[role]} row" in own
    elsewhere = added.locator("tbody tr").first.locator("td").nth(1).get_attribute("title")
    without = set(range(len(used))) - set(page.evaluate("data.patterns[1].altered_by"))
    assert f"{sum(hits[b] for b in without)} of the {sum(used[b] for b in without)} rows" in elsewhere
    added.get_by_role("button", name="Class by class").click()
    assert added.locator(".matrix thead .class-name").count() == sum(count > 0 for count in used)


def test_words_of_many_classes(visit):
    page = visit(word_model(24, rank=4), width=390)
    page.evaluate("drawAllCards()")
    page.wait_for_timeout(50)
    assert page.locator(".cloud .legend").first.text_content().startswith("Size: ")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


# ---------------------------------------------------------------------- rows


def test_cards_name_the_rows_that_use_the_pattern(visit, departments):
    page = visit(departments)
    card = page.locator("#pattern-0")
    card.scroll_into_view_if_needed()
    using = np.flatnonzero(departments.usage_[:, 0])
    rows = card.locator(".row-names li bdi")
    assert rows.all_text_contents() == [f"file {k}" for k in using[:6]]
    card.get_by_role("button", name=f"Show all {len(using)}").click()
    assert rows.all_text_contents() == [f"file {k}" for k in using]


def test_rows_of_large_data_are_counted(visit):
    model = planted_model(2, [8000, 8000], 30, size=8)
    page = visit(model)
    used = int(model.usage_counts_[:, 0].sum())
    text = page.locator("#pattern-0 .card-facts").text_content()
    assert f"of {used:,} rows; usage.csv of “saltmine fit” has all" in text
    assert "counted from 0" in text


# ---------------------------------------------------------------------- fewer patterns, first paint


def test_patterns_that_are_left_out_are_counted(visit, departments):
    page = visit(departments, max_patterns=2)
    assert page.locator("article.card").count() == page.locator("#map-table tbody tr").count() == 2
    assert page.locator(".onco-names li").count() == 2
    for place in ("#map-lead", "#patterns", "#download-note"):
        assert "4 more patterns are left out of this page; patterns.csv" in page.locator(place).text_content()
    assert "1 more pattern is left out" in visit(departments, max_patterns=5).locator("#map-lead").text_content()


def test_nothing_is_empty_at_first(visit, departments):
    page = visit(departments)
    assert page.locator(".card-body:empty").count() == 0
    assert page.locator("article.card .trust:visible").count() == 6
    page = visit(planted_model(40, [20] * 24, 100, size=12))
    assert page.locator(".card:visible .card-body:empty").count() == 0
    page.get_by_role("button", name="Patterns of findings").click()
    heights = page.locator(".card").evaluate_all("cards => cards.map((card) => card.getBoundingClientRect().height)")
    assert page.locator(".card-body:empty").count() > 0
    assert min(heights) > 300, "cards that are not drawn yet keep their place"
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    seen = page.evaluate(
        """() => cards.filter(({ node }) => {
          const box = node.getBoundingClientRect();
          return box.bottom > 0 && box.top < innerHeight;
        }).every((card) => card.drawn)"""
    )
    assert seen


def test_paper_shows_all_of_the_maps_and_no_buttons(visit, departments):
    page = visit(departments, width=720)
    page.emulate_media(media="print")
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    for frame in (".map-frame", ".onco-frame"):
        assert page.locator(frame).evaluate("node => node.scrollHeight <= node.clientHeight + 1")
    assert page.locator("button:not(.term):visible").count() == 0
