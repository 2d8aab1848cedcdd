"""Figures of the report as files, in a real browser."""

import re
import struct
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.helpers.report_models import NASTY, baskets_model, nasty_model, planted_model, word_model

PIXELS = [f"pixel_{k // 8}_{k % 8}" for k in range(64)]
LOCI = [f"chr{1 + k % 3}:{1000 * k + 1} A>G" for k in range(60)]
TAG = "{http://www.w3.org/2000/svg}"


def saved(page, name, form):
    """Return the bytes of a figure as they are saved."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save {name} as {form}", exact=True).click()
    assert waiting.value.suggested_filename.endswith(f".{form.lower()}")
    return waiting.value.path().read_bytes()


def svg_of(page, name):
    """Return the tree of a saved drawing, which has to be complete in itself."""
    content = saved(page, name, "SVG").decode()
    assert not re.search(r"foreignObject|var\(|color-mix|class=|style=|url\(|<script", content)
    assert set(re.findall(r'href="(.{0,20})', content)) <= {"data:image/png;base6"}
    root = ElementTree.fromstring(content)
    assert root.tag == f"{TAG}svg"
    assert "sans-serif" in root.get("font-family")
    assert float(root.get("width")) > 100
    for text in root.iter(f"{TAG}text"):
        assert re.fullmatch(r"#[0-9a-f]{6}", text.get("fill"))
        assert text.get("font-size")
    return root


def texts(root):
    return [text.text for text in root.iter(f"{TAG}text")]


def assert_png(page, name):
    """Check size and content of a saved picture."""
    content = saved(page, name, "PNG")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 200
    assert height > 50
    assert len(content) > 2000


@pytest.fixture(scope="module")
def shops():
    return baskets_model()


@pytest.mark.parametrize("name", ["the overview", "the map", "the map of rows", "the bars of pattern 0"])
def test_figures_of_every_report(visit, shops, name):
    page = visit(shops)
    words = " ".join(texts(svg_of(page, name)))
    assert "Mainz" in words
    assert "Trier" in words
    assert_png(page, name)


def test_every_figure_has_buttons(visit, shops):
    page = visit(shops)
    page.evaluate("drawAllCards()")
    figures = page.locator(".figure")
    assert figures.count() == 3 + 2 * 4
    assert figures.locator(".save button").count() == 2 * figures.count()
    names = page.locator(".save button").evaluate_all("nodes => nodes.map((node) => node.ariaLabel)")
    assert len(set(names)) == len(names)


def test_the_saved_map_is_whole_whatever_is_scrolled(visit):
    model = planted_model(40, [30] * 3, 200, size=12)
    page = visit(model)
    page.evaluate("document.querySelector('.map-frame').scrollTop = 400")
    root = svg_of(page, "the map")
    words = texts(root)
    assert {"Pattern", "Items", "class 00", "class 01", "class 02"} <= set(words)
    assert {str(k) for k in range(40)} <= set(words)
    # No text of the table lies outside of the drawing, and no row above the head.
    places = {text.text: float(text.get("y")) for text in root.iter(f"{TAG}text") if text.get("y")}
    assert places["Pattern"] < places["39"]
    assert page.evaluate("document.querySelector('.map-frame').scrollTop") == 400


def test_saved_items_and_bars(visit, shops):
    page = visit(shops)
    page.evaluate("drawAllCards()")
    number = int(shops.patterns().query("item == 'bread'").pattern.iloc[0])
    words = texts(svg_of(page, f"the items of pattern {number}"))
    assert {"bread", "butter", "coffee", "sugar"} <= set(words)
    bars = svg_of(page, f"the bars of pattern {number}")
    widths = [float(rect.get("width")) for rect in bars.iter(f"{TAG}rect")]
    track = max(width for width in widths[1:])
    for count in shops.usage_counts_[:, number]:
        assert np.isclose(widths, count / 200 * track, atol=0.5).any()


def test_saved_clouds(visit):
    page = visit(word_model())
    page.evaluate("drawAllCards()")
    page.wait_for_timeout(50)
    drawn = page.locator("#pattern-0 .word text").all_text_contents()
    root = svg_of(page, "the word cloud of pattern 0")
    assert set(drawn) <= set(texts(root))
    assert "how much the word sets the pattern apart" in texts(root)
    assert_png(page, "the word cloud of pattern 0")


@pytest.mark.parametrize(("names", "kind", "inked"), [(PIXELS, "pixels", "fill"), (LOCI, "loci", "stroke")])
def test_saved_pictures(visit, names, kind, inked):
    page = visit(planted_model(2, [30, 30], len(names), size=12, names=names))
    page.evaluate("drawAllCards()")
    root = svg_of(page, f"the {kind} of pattern 0")
    paths = [path.get("d") for path in root.iter(f"{TAG}path") if path.get(inked).startswith("#")]
    drawn = sum(path.count("h.92v" if kind == "pixels" else "v5") for path in paths)
    assert drawn == sum(page.evaluate("data.patterns[0].parts.map((part) => part.size)"))
    assert_png(page, f"the {kind} of pattern 0")


def test_saved_names_stay_text(visit):
    page = visit(nasty_model())
    page.evaluate("drawAllCards()")
    words = texts(svg_of(page, "the items of pattern 0"))
    assert any(name.split("\n")[0] in words for name in NASTY[:3])
    assert_png(page, "the items of pattern 0")
    assert page.evaluate("window.hacked") is None


def test_dark_figures_are_saved_as_they_look(visit, shops):
    page = visit(shops, color_scheme="dark")
    paper = svg_of(page, "the overview").find(f"{TAG}rect").get("fill")
    assert int(paper[1:3], 16) < 60


# ---------------------------------------------------------------------- rows by patterns


def test_rows_of_a_class_stand_in_stairs(visit, shops):
    """Within a class, no row that uses the first pattern stands after one that does not."""
    page = visit(shops)
    first = page.evaluate("range(lineCount).map((line) => cellAt(line, 0))")
    for cells in (first[:200], first[200:]):
        assert cells == sorted(cells, reverse=True)
    order = page.evaluate("data.usage.patterns")
    assert page.locator(".onco-names .number").all_text_contents() == [str(number) for number in order]
    shares = [f"{share:.0%}".replace("%", "\u202f%") for share in shops.usage_.mean(axis=0)[order]]
    assert page.locator(".onco-share").all_text_contents() == shares


def test_rows_by_patterns_of_many_rows(visit):
    model = planted_model(12, [20_000, 12_000, 9], 60, size=8)
    page = visit(model)
    page.locator("#usage-canvas").scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    inked = page.evaluate(
        """() => {
          const canvas = byId("usage-canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const colours = new Set();
          for (let k = 0; k < data.length; k += 4) colours.add(`${data[k]} ${data[k + 1]} ${data[k + 2]}`);
          return colours.size;
        }"""
    )
    assert inked > 20
    strip = page.locator(".onco-class")
    assert strip.count() == 3
    widths = strip.evaluate_all("nodes => nodes.map((node) => node.getBoundingClientRect().width)")
    assert widths[0] / widths[1] == pytest.approx(20 / 12, rel=0.02)
    assert "up to 17 rows" in page.locator("#usage-figure .legend").inner_text()
