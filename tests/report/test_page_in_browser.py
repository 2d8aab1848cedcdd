"""The report in a real browser; skipped where there is none."""

import csv
import io
import itertools
import json

import numpy as np
import pytest

from saltmine import CSalt, Primp
from saltmine.fitted.kinds import class_kinds
from saltmine.fitted.summary import Summary
from tests.helpers.browser import wait_until
from tests.helpers.report_models import (
    NASTY,
    SCRIPT,
    baskets,
    baskets_model,
    nasty_model,
    owned_by_two,
    planted_model,
    word_model,
)


@pytest.fixture(scope="module")
def shops():
    return baskets_model()


def headings(page):
    """Return the numbers of the cards that are shown, in their order."""
    numbers = page.locator("article.card:visible").evaluate_all("cards => cards.map((card) => card.dataset.pattern)")
    return [int(number) for number in numbers]


def draw_all(page):
    page.evaluate("drawAllCards()")
    page.wait_for_timeout(50)


# ---------------------------------------------------------------------- what is there


def test_a_card_and_a_line_of_the_map_for_every_pattern(visit, shops):
    page = visit(shops, title="Two shops")
    assert page.locator("h1").inner_text() == "Two shops"
    assert headings(page) == [0, 1, 2, 3]
    assert page.locator("#map-table tbody tr").count() == 4
    page.locator("#map-table a", has_text="bread").click()
    breakfast = page.locator("article.card", has_text="bread").first
    assert breakfast.evaluate("card => card === document.activeElement")
    text = breakfast.inner_text()
    counts = shops.usage_counts_[:, headings_of(shops, "bread")]
    assert f"{counts[0]} of 200 rows" in text
    assert "Trier adds (2 items)" in " ".join(text.split())


def headings_of(model, item):
    table = model.patterns()
    return int(table[table.item == item].pattern.iloc[0])


@pytest.mark.parametrize("y", [None, baskets()[1]], ids=["without classes", "with classes"])
def test_primp(visit, y):
    model = Primp(random_state=0).fit(baskets()[0], y)
    page = visit(model)
    assert len(headings(page)) == model.n_components_
    assert page.locator("#owner").count() == (y is not None)
    assert page.get_by_text("Added by a class", exact=True).count() == (y is not None)


def test_no_pattern(visit):
    X = np.random.default_rng(1).random((100, 40)) < 0.2
    page = visit(CSalt(random_state=0).fit(X, np.repeat(["a", "b"], 50)))
    assert "No pattern" in page.locator(".answer").inner_text()
    assert page.get_by_text("Single items that differ", exact=True).is_visible()
    assert page.locator("#items tr.unsure").count() == page.locator("#items tbody tr").count() > 0
    assert page.locator("#map").count() == 0
    assert page.locator("nav a").all_inner_texts() == ["Single items", "Download", "How to read this"]


def test_twenty_classes(visit):
    page = visit(planted_model(6, [20] * 20, 100, size=12))
    draw_all(page)
    assert page.locator("#map-table thead th").count() == 22
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_one_switch_shows_the_patterns_that_no_finding_names(visit):
    model = planted_model(30, [80, 80], 90, size=8)
    named = {finding.pattern for finding in model.summary().findings} - {None}
    page = visit(model)
    switch = page.get_by_role("button", name="Patterns of findings")
    cards = page.locator("article.card:not([hidden])")
    assert switch.get_attribute("aria-pressed") == "true"
    assert {int(card.get_attribute("data-pattern")) for card in cards.all()} == named
    assert page.locator("#shown").inner_text() == f"{len(named)} of 30 patterns, those of the findings"
    # Who looks for an item finds it in all patterns.
    page.get_by_label("Search").fill("item 1")
    assert cards.count() > len(named)
    assert switch.get_attribute("aria-pressed") == "false"
    page.get_by_label("Search").fill("no such thing")
    assert page.get_by_text("No pattern fits").is_visible()
    page.get_by_label("Search").fill("")
    assert not page.get_by_text("No pattern fits").is_visible()
    switch.click()
    assert cards.count() == 30
    assert switch.get_attribute("aria-pressed") == "false"


def test_few_patterns_need_no_switch(visit, shops):
    assert visit(shops).get_by_role("button", name="Patterns of findings").count() == 0


def test_without_scripts(visit, shops):
    page = visit(shops, java_script_enabled=False)
    text = page.locator("body").inner_text()
    assert "4 patterns" in text
    assert "Trier adds: coffee, sugar" in text or "Trier adds: sugar, coffee" in text
    assert not page.locator("#toolbar").is_visible()


# ---------------------------------------------------------------------- search, filters, sorting


def test_search_shows_the_patterns_that_have_the_item(visit, shops):
    page = visit(shops)
    page.get_by_label("Search").fill("SUGA")
    assert headings(page) == [headings_of(shops, "sugar")]
    assert page.locator("#shown").inner_text() == "1 of 4 patterns"
    assert page.locator("article.card:visible mark").inner_text() == "sugar"
    page.get_by_label("Search").fill("no such item")
    assert headings(page) == []
    page.get_by_label("Search").fill("")
    assert headings(page) == [0, 1, 2, 3]


def test_filters(visit, shops):
    page = visit(shops)
    usage, kinds = shops.usage_counts_, class_kinds(shops)
    page.get_by_label("Class", exact=True).select_option("used 0")
    assert headings(page) == np.flatnonzero(usage[0]).tolist()
    page.get_by_label("Class", exact=True).select_option("own 1")
    assert headings(page) == np.flatnonzero(kinds[1] != "").tolist()
    page.get_by_label("Class", exact=True).select_option("added 1")
    assert headings(page) == [headings_of(shops, "sugar")]
    page.get_by_label("Class", exact=True).select_option("added 0")
    assert headings(page) == []
    page.get_by_label("Class", exact=True).select_option("")
    page.get_by_role("button", name="Only").click()
    assert headings(page) == np.flatnonzero((kinds == "only").any(axis=0)).tolist()
    page.get_by_role("button", name="Added").press("Enter")
    assert len(headings(page)) == 3
    assert page.get_by_role("button", name="Mostly").is_disabled()
    page.locator("#map-table a", has_text="pasta").click()
    assert len(headings(page)) == 4, "a link to a hidden card has to show it"


def test_sorting(visit, shops):
    page = visit(shops)
    sizes = (shops.components_ | shops.alterations_.any(axis=0)).sum(axis=1)
    shares = shops.usage_counts_ / 200
    keys = {
        "size": sizes,
        "usage": shops.usage_counts_.sum(axis=0),
        "gain": shops.pattern_gain_,
        "evidence": shops.pattern_evidence_,
        "difference": shares.max(axis=0) - shares.min(axis=0),
    }
    for name, key in keys.items():
        page.get_by_label("Sort by").select_option(name)
        assert (np.diff(key[headings(page)]) <= 0).all(), name
    page.locator("#map-table thead button", has_text="Trier").click()
    order = page.locator("#map-table tbody tr").evaluate_all("rows => rows.map((row) => row.dataset.pattern)")
    assert (np.diff(shares[1][[int(s) for s in order]]) <= 0).all()


def test_an_address_leads_to_its_card(visit):
    page = visit(planted_model(40, [50, 50], 200, size=12), hash="#pattern-33")
    wait_until(page, "document.activeElement.id === 'pattern-33'")
    assert page.locator("#pattern-33").is_visible()
    assert page.locator("#pattern-33 table.items").count() > 0


def test_long_lists_open(visit):
    page = visit(planted_model(2, [40, 40], 400, size=40))
    card = page.locator("#pattern-0")
    card.scroll_into_view_if_needed()
    card.locator(".part").first.wait_for()
    rows = card.locator(".part").first.locator("tbody tr")
    assert rows.count() == 8
    card.get_by_role("button", name="Show all 40").click()
    assert rows.count() == 40


def test_explanations_show_on_focus_and_hide_on_escape(visit, shops):
    page = visit(shops)
    page.get_by_role("button", name="shorter with patterns").focus()
    assert page.get_by_role("tooltip").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("tooltip").is_visible()


def point_at(page, element, x, y):
    """Text of the tooltip at a point; cards that are drawn meanwhile may move the element, so the mouse follows it."""
    tooltip = page.get_by_role("tooltip")
    for _ in range(50):
        element.hover(position={"x": x, "y": y})
        page.wait_for_timeout(100)
        if tooltip.is_visible():
            return tooltip.inner_text()
        page.mouse.move(0, 0)
    raise AssertionError("no tooltip after fifty tries")


def test_pointing_at_the_usage_names_row_and_pattern(visit, shops):
    page = visit(shops)
    canvas = page.locator("#usage-canvas")
    tip = point_at(page, canvas, x=1, y=8)
    first = page.evaluate("[data.usage.rows[0], data.usage.patterns[0]]")
    assert f"row {first[0]} (Mainz) {'uses' if shops.usage_[*first] else 'does not use'}" in tip
    assert f"pattern {first[1]}:" in tip


# ---------------------------------------------------------------------- names are text


def test_scripts_in_names_are_shown_and_never_run(visit):
    page = visit(nasty_model(), title=SCRIPT)
    draw_all(page)
    more = page.get_by_role("button", name="Show all")
    while more.count():
        more.first.click()
    assert page.locator("h1").inner_text() == SCRIPT
    shown = set(page.locator("table.items tbody th").all_text_contents())
    assert shown <= set(NASTY)
    assert SCRIPT in shown
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b, i:not(.reading i)").count() == 0
    for query in NASTY:
        page.get_by_label("Search").fill(query.replace("\n", " ").strip()[:20])
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


# ---------------------------------------------------------------------- downloads


def download(page, label):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label).click()
    return waiting.value.path().read_text(encoding="utf-8-sig")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_patterns_as_csv_are_the_table(visit, shops):
    rows = rows_of(download(visit(shops), "Patterns (csv)"))
    table = shops.patterns()
    assert list(rows[0]) == list(table.columns)
    assert len(rows) == len(table)
    expected = {(row.pattern, row.item, row.role): row for row in table.itertuples()}
    for row in rows:
        wanted = expected.pop((int(row["pattern"]), row["item"], row["role"]))
        for name in table.columns[3:]:
            value = getattr(wanted, name)
            if isinstance(value, str):
                assert row[name] == value
            else:
                got = float(row[name]) if row[name] else np.nan
                assert got == pytest.approx(value, rel=1e-2, nan_ok=True), name
    assert not expected


def test_usage_as_csv_is_the_usage(visit, shops):
    rows = rows_of(download(visit(shops), "Usage (csv)"))
    assert [int(row["row"]) for row in rows] == list(range(400))
    got = np.array([[int(row[f"pattern_{s}"]) for s in range(4)] for row in rows])
    np.testing.assert_array_equal(got.astype(bool), shops.usage_)
    assert [row["class"] for row in rows] == shops.row_labels_.tolist()


def test_usage_of_many_rows_is_counted_in_groups(visit):
    model = planted_model(3, [4003, 2000], 40, size=8)
    page = visit(model)
    rows = rows_of(download(page, "Usage (csv)"))
    assert sum(int(row["rows"]) for row in rows) == 6003
    first = [row for row in rows if row["class"] == "class 00"]
    uses = sum(int(row["rows"]) * float(row["pattern_0"]) for row in first)
    assert uses == pytest.approx(model.usage_counts_[0, 0], rel=0.02)
    assert "groups of up to 4 rows" in page.locator("#download-note").inner_text()


def test_a_page_that_holds_less_says_so(visit):
    page = visit(planted_model(2, [40, 40], 1000, size=400))
    note = page.locator("#download-note").inner_text()
    assert "patterns.csv" in note
    assert len(rows_of(download(page, "Patterns (csv)"))) < len(page.evaluate("data.items.names")) + 1000
    page.locator("#pattern-0").scroll_into_view_if_needed()
    assert "250 of them only in patterns.csv of “saltmine fit”" in page.locator("#pattern-0 .more").first.inner_text()


def test_csv_cells_are_no_formulas(visit):
    page = visit(nasty_model())
    assert rows_of(download(page, "Usage (csv)"))[1]["row"] == "<i>1</i>"
    items = {row["item"] for row in rows_of(download(page, "Patterns (csv)"))}
    assert items <= {f"'{name}" if name[0] in "=+-@" else name for name in NASTY}
    assert "'=HYPERLINK(1)" in items


def test_the_data_as_json(visit, shops):
    data = json.loads(download(visit(shops), "Everything on this page"))
    assert len(data["patterns"]) == 4


# ---------------------------------------------------------------------- pictures

INK_BOXES = """() => [...document.querySelectorAll(".cloud .figure > svg")].map((picture) => {
  const pen = document.createElement("canvas").getContext("2d");
  return [...picture.querySelectorAll("text")].map((text) => {
    pen.font = `600 ${text.getAttribute("font-size")}px ${getComputedStyle(text).fontFamily}`;
    const box = pen.measureText(text.textContent);
    const [x, y] = ["x", "y"].map((name) => Number(text.getAttribute(name)));
    return [x, y - box.actualBoundingBoxAscent, x + box.width, y + box.actualBoundingBoxDescent];
  });
})"""


@pytest.mark.parametrize("width", [1280, 390])
def test_words_of_a_cloud_do_not_overlap(visit, width):
    page = visit(word_model(), width=width)
    draw_all(page)
    clouds = page.evaluate(INK_BOXES)
    assert len(clouds) == 3
    for boxes in clouds:
        assert len(boxes) >= 10
        for one, two in itertools.combinations(boxes, 2):
            apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
            assert apart, (one, two)


def test_larger_words_set_the_pattern_apart_more_and_the_table_is_a_click_away(visit):
    page = visit(word_model())
    draw_all(page)
    card = page.locator("#pattern-0")
    words = card.locator(".cloud .figure > svg g").evaluate_all(
        "words => words.map((g) => [g.lastChild.textContent, g.lastChild.getAttribute('font-size')])"
    )
    parts = Summary(word_model()).patterns[0].parts
    names = page.evaluate("data.items.names")
    strength = {names.index(str(name)): 0.0 for name, _ in words}
    for part in page.evaluate("data.patterns[0].parts"):
        for item, value in zip(part["items"], part["strength"], strict=True):
            strength[item] = max(value, strength.get(item, 0.0))
    assert max(strength.values()) == pytest.approx(max(part.strength.max() for part in parts), rel=1e-2)
    sizes = np.array([float(size) for _, size in words])
    order = np.argsort([strength[names.index(name)] for name, _ in words])
    assert (np.diff(sizes[order]) >= 0).all()
    assert sizes.max() > sizes.min()
    assert not card.locator("table.items").first.is_visible()
    card.get_by_role("button", name="Table").click()
    assert card.locator("table.items").first.is_visible()


def test_pixels_are_drawn_at_their_places(visit):
    names = [f"pixel_{k // 8}_{k % 8}" for k in range(64)]
    model = planted_model(2, [30, 30], 64, size=12, names=names)
    page = visit(model)
    draw_all(page)
    drawn = page.locator("#pattern-0 .pixels path.role").first.get_attribute("d")
    corners = {tuple(int(float(x)) for x in square.split("h")[0].split()) for square in drawn.split("M")[1:]}
    assert corners == {(int(k) % 8, int(k) // 8) for k in np.flatnonzero(model.components_[0])}


def test_loci_are_drawn_on_their_chromosomes(visit):
    names = [f"chr{1 + k % 3}:{1000 * k + 1} A>G" for k in range(60)]
    page = visit(planted_model(2, [30, 30], 60, size=12, names=names))
    draw_all(page)
    card = page.locator("#pattern-0")
    assert card.locator(".strip-name").all_inner_texts() == ["chr1", "chr2", "chr3"]
    ticks = card.locator(".tick").evaluate_all(
        "paths => paths.map((path) => path.getAttribute('d').split('M').length - 1)"
    )
    sizes = page.evaluate("data.patterns[0].parts.map((part) => part.size)")
    assert sum(ticks) == sum(sizes)


# ---------------------------------------------------------------------- screens and paper


@pytest.mark.parametrize("model", [baskets_model, nasty_model, word_model], ids=["shops", "nasty", "words"])
def test_a_phone_needs_no_scrolling_to_the_side(visit, model):
    page = visit(model(), width=360)
    draw_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_light_and_dark(visit, shops):
    page = visit(shops, color_scheme="light")
    colours = "() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    light = page.evaluate(colours)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(colours)
    assert dark[0] != light[0]
    assert dark[1] != light[1]
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(colours) == light
    assert visit(shops, color_scheme="dark").evaluate(colours) == dark


# Contrast of every text with the paper behind it, as in the accessibility guidelines; returns what is below 4.5.
FAINT = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return pen.getImageData(0, 0, 1, 1).data;
  };
  const light = (colour) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [...colour].map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paperOf = (node) => {
    for (; node; node = node.parentElement) {
      const colour = read(getComputedStyle(node).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return read("white");
  };
  const faint = [];
  let seen = 0;
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.getClientRects().length || node.closest("noscript, :disabled")) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(read(node instanceof SVGElement ? style.fill : style.color)), light(paperOf(node))];
    seen += 1;
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.push([node.tagName, node.textContent]);
  }
  return [seen, faint];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("model", "n_classes"), [(word_model, 8), (word_model, 20), (planted_model, 20)])
def test_texts_stand_out_from_their_paper(visit, theme, model, n_classes):
    made = word_model(n_classes, rank=6) if model is word_model else planted_model(6, [20] * n_classes, 100, size=12)
    page = visit(made, color_scheme=theme)
    draw_all(page)
    seen, faint = page.evaluate(FAINT)
    assert seen > 100
    assert faint == []


def test_controls_have_names(visit, shops):
    page = visit(shops)
    draw_all(page)
    unnamed = page.locator("button, input, select, a").evaluate_all(
        "nodes => nodes.filter((node) => !node.textContent.trim() && !node.labels?.length).map((node) => node.id)"
    )
    assert unnamed == []
    levels = page.locator("h1, h2, h3, h4").evaluate_all("nodes => nodes.map((node) => Number(node.tagName[1]))")
    assert levels[0] == 1
    assert (np.diff(levels) <= 1).all()


def test_paper_shows_every_card_and_no_controls(visit):
    page = visit(planted_model(30, [40, 40], 200, size=12))
    page.get_by_label("Search").fill("item 1")
    page.emulate_media(media="print")
    page.wait_for_timeout(200)
    assert len(headings(page)) == 30
    assert page.locator("article.card .trust:visible").count() == 30
    assert not page.locator("#toolbar").is_visible()
    assert not page.locator("#download-buttons").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_three_hundred_patterns(visit, tmp_path):
    page = visit(planted_model(300, [500, 500], 3000, size=40))
    size = (tmp_path / "report.html").stat().st_size
    print(f"300 patterns: {size / 1e6:.2f} MB, ready after {page.evaluate('window.saltmineReady'):.0f} ms")
    assert size < 5_000_000
    page.get_by_role("button", name="Patterns of findings").click()
    assert len(headings(page)) == 300
    page.get_by_label("Search").fill("item 1234")
    found = headings(page)
    assert 0 < len(found) < 300
    drawn = page.evaluate("cards.filter((card) => card.drawn).length")
    assert drawn < 300, "cards far from the screen wait"


def test_kinds_are_named_on_cards(visit, shops):
    page = visit(shops)
    words = {
        item: page.locator(f"#pattern-{headings_of(shops, item)} .kind").text_content() for item in ("beer", "bread")
    }
    assert " ".join(words["beer"].split()) == "only Mainz"
    assert " ".join(words["bread"].split()) == "shared; Trier adds items"
    card = page.locator(f"#pattern-{headings_of(shops, 'beer')}")
    card.scroll_into_view_if_needed()
    card.locator(".part-head").first.wait_for()
    text = " ".join(card.locator(".part-head").text_content().split())
    assert text.startswith("Only Mainz (3 items)q ")


def test_items_of_several_classes_are_drawn_once(visit):
    model = owned_by_two()
    page = visit(model)
    card = page.locator(f"#pattern-{headings_of(model, 'item 0')}")
    card.scroll_into_view_if_needed()
    assert " ".join(card.locator(".kind").text_content().split()) == "mostly a, b"
    card.locator(".part").first.wait_for()
    assert card.locator(".part").count() == 1
    assert " ".join(card.locator(".part h4").last.text_content().split()) == "Mostly a, b (6 items)"


def test_a_shared_pattern_that_one_class_uses_is_explained(visit):
    model = baskets_model()
    dinner, breakfast = headings_of(model, "pasta"), headings_of(model, "bread")
    model.usage_[200:, dinner] = False
    model.usage_counts_[1, dinner] = 0
    page = visit(model)
    kind = page.locator(f"#pattern-{dinner} .kind").text_content()
    assert " ".join(kind.split()) == "shared: carried by both classes, used mainly by Mainz"
    assert " ".join(page.locator(f"#pattern-{breakfast} .kind").text_content().split()) == "shared; Trier adds items"


def test_patterns_of_single_groups_are_named_after_them(visit):
    rng = np.random.default_rng(0)
    patients = np.repeat([f"DS{k}" for k in range(60)], 4)
    rows = rng.random((240, 120)) < 0.03
    rows[np.ix_(patients == "DS7", range(10))] = True
    rows[np.ix_((rng.random(60) < 0.4)[np.arange(240) // 4], range(20, 28))] = True
    model = CSalt(random_state=0).fit(rows, np.arange(240) // 4 % 2, groups=patients)
    (own,) = np.flatnonzero(model.of_few_groups_)
    page = visit(model)
    assert "DS7" in page.locator(f"#pattern-{own} .kind").text_content()
    page.get_by_role("button", name="Single groups").click()
    assert headings(page) == [own]
    assert page.get_by_text("Of single groups", exact=True).is_visible()
    assert page.evaluate("EXPLAINED.q").endswith("Tests count groups, not rows.")
    assert page.evaluate("EXPLAINED.evidence").endswith("It counts groups, not rows.")
