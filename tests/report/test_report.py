import base64
import hashlib
import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from saltmine import CSalt, Primp
from saltmine.fitted.summary import Summary
from saltmine.report import model_html, render, write_report
from saltmine.report.layout import kind_of_items, layout_of
from saltmine.report.page import findings_html, outline
from saltmine.report.payload import LIMITS, payload, share_of_ones_covered
from saltmine.report.rows import MAX_LINES, MAX_NAMED, ROW_LIMITS, named_rows, usage_lines
from tests.helpers.report_models import NASTY, baskets, baskets_model, nasty_model, planted_model


@pytest.fixture(scope="module")
def shop_model():
    return baskets_model()


def embedded(page):
    """Return the data in a page as a browser reads them."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


# ---------------------------------------------------------------------- patterns


def test_the_page_holds_the_table(shop_model):
    data = payload(shop_model)
    table = shop_model.patterns()
    names = data["items"]["names"]
    for pattern in data["patterns"]:
        for part in pattern["parts"]:
            role = "common" if part["role"] < 0 else data["classes"][part["role"]]["label"]
            rows = table[(table.pattern == pattern["number"]) & (table.role == role) & (table.kind == part["kind"])]
            assert part["size"] == len(rows) == len(part["items"])
            for k, item in enumerate(part["items"]):
                row = rows[rows.item == names[item]].iloc[0]
                for a, label in enumerate(("Mainz", "Trier")):
                    used, hits = pattern["usage"][a], part["hits"][a][k]
                    assert used == row[f"usage_{label}"]
                    assert hits == 0 if not used else hits / used == row[f"support_{label}"]
                    assert data["items"]["counts"][a][item] / 200 == row[f"share_{label}"]
    assert sum(part["size"] for pattern in data["patterns"] for part in pattern["parts"]) == len(table)


def test_kinds_of_patterns(shop_model):
    patterns = {frozenset(_names(pattern, shop_model)): pattern for pattern in payload(shop_model)["patterns"]}
    found = {items: (pattern["kind"], pattern["owners"], pattern["altered_by"]) for items, pattern in patterns.items()}
    assert found[frozenset(["bread", "butter", "jam", "milk", "coffee", "sugar"])] == ("shared", [], [1])
    assert found[frozenset(["pasta", "tomato", "basil"])] == ("shared", [], [])
    assert found[frozenset(["beer", "chips", "nuts"])] == ("only", [(0, "only")], [])


def _names(pattern, model):
    names = payload(model)["items"]["names"]
    return [names[k] for part in pattern["parts"] for k in part["items"]]


def test_what_a_class_adds_comes_last(shop_model):
    for pattern in payload(shop_model)["patterns"]:
        roles = [part["role"] for part in pattern["parts"]]
        places = [(part["kind"] == "added", part["role"]) for part in pattern["parts"]]
        assert places == sorted(places)
        assert pattern["heading"] == [[item, roles[0]] for item in pattern["parts"][0]["items"][:5]]


def test_a_pattern_with_few_common_items_is_named_by_those_of_its_classes_too():
    data = payload(planted_model(6, [30, 30, 30, 30], 40, size=2))
    altered = [pattern for pattern in data["patterns"] if pattern["altered_by"] and not pattern["owners"]]
    assert altered
    for pattern in altered:
        named = [item for item, _ in pattern["heading"]]
        assert len(named) == len(set(named))
        assert [role for _, role in pattern["heading"]][:3] == [-1, -1, 0]
        assert len({role for _, role in pattern["heading"]}) == 1 + len({p["items"][0] for p in pattern["parts"][1:]})


def test_an_item_that_every_row_has_is_the_weakest():
    """Most rows have a receipt, stamps and a card as well: what they have together is the typical row."""
    X, shop = baskets()
    often = np.random.default_rng(0).random((400, 3)) < 0.85
    more = dict(zip(["receipt", "stamps", "card"], often.T, strict=True))
    data = payload(CSalt(random_state=0).fit(X.assign(bag=True, **more), shop))
    bag = data["items"]["names"].index("bag")
    (typical,) = [pattern for pattern in data["patterns"] if pattern["typical"]]
    (part,) = typical["parts"]
    assert typical["kind"] == part["kind"] == "typical"
    assert {data["items"]["names"][item] for item in part["items"]} == {"bag", *more}
    # Before it are the items that rows with the typical row have more often than others, after it those they lack.
    hits, counts = np.sum(part["hits"], axis=0), np.sum(data["items"]["counts"], axis=0)[part["items"]]
    used = sum(typical["usage"])
    is_typical = hits / used > counts / 400
    place = part["items"].index(bag)
    assert is_typical[:place].all()
    assert not is_typical[place:].any()
    assert sum(pattern["kind"] == "typical" for pattern in data["patterns"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "n_classes", "size"), [(300, 3, 40), (300, 20, 60), (3, 2, 4000)])
def test_pages_of_large_models_are_small_and_count_what_is_left_out(rank, n_classes, size):
    model = planted_model(rank, [40] * n_classes, 2 * size + 1000, size)
    page = render(model)
    assert len(page.encode()) < 5_000_000
    data = embedded(page)
    assert len(data["patterns"]) == rank
    assert data["limit"] in LIMITS
    total = shown = 0
    for part in (part for pattern in data["patterns"] for part in pattern["parts"]):
        assert len(part["items"]) == min(part["size"], data["limit"])
        assert all(len(hits) == len(part["items"]) for hits in part["hits"])
        total, shown = total + part["size"], shown + len(part["items"])
    assert total == len(model.patterns())
    assert (shown == total) == (size <= data["limit"])


def test_without_patterns_the_items_that_differ_are_shown():
    X = np.zeros((40, 6), dtype=bool)
    X[:10, 2] = True
    X[:30, 4] = True
    X[10, 5] = X[30, 5] = True
    model = CSalt(random_state=0).fit(X, np.repeat(["a", "b"], 20))
    data = payload(model)
    assert data["patterns"] == []
    assert data["usage"] is None
    assert data["answer"].startswith("No pattern")
    assert data["frequent"] == []
    table = re.search(r'<section id="items".*?</section>', render(model), re.DOTALL)[0]
    assert re.findall(r'<tr( class="unsure")?><th scope="row" dir="auto">(\d)</th><td>(.)</td>', table) == [
        ("", "2", "a"),
        ("", "4", "a"),
    ]
    without_classes = payload(Primp(random_state=0).fit(X))
    expected = [] if without_classes["patterns"] else [(4, 30), (2, 10), (5, 2)]
    assert [(entry["name"], entry["count"]) for entry in without_classes["frequent"]] == expected


def test_data_without_ones_have_a_report():
    data = embedded(render(CSalt().fit(np.zeros((4, 3)), [0, 0, 1, 1])))
    assert data["density"] == data["covered"] == 0
    assert data["frequent"] == []


@pytest.mark.slow
def test_data_without_classes(shop_model):
    X, shop = baskets()
    model = Primp(random_state=0).fit(X)
    data = payload(model)
    assert [entry["name"] for entry in data["classes"]] == ["all rows"]
    assert {pattern["kind"] for pattern in data["patterns"]} == {"shared"}
    assert "class" not in data["answer"]
    split = payload(Primp(random_state=0).fit(X, shop))
    assert [entry["name"] for entry in split["classes"]] == ["Mainz", "Trier"]
    assert [sum(pattern["usage"]) for pattern in split["patterns"]] == model.usage_counts_.sum(axis=0).tolist()


@pytest.mark.slow
def test_stability_is_shown_where_it_was_assessed(planted, fitted):
    assert payload(fitted)["refits"] is None
    model = CSalt(random_state=0).fit(planted.X, planted.y)
    model.assess_stability(planted.X, planted.y, refits=2, random_state=0)
    data = payload(model)
    assert data["refits"] == 2
    assert [pattern["stability"] for pattern in data["patterns"]] == model.stability_.patterns.round(4).tolist()
    shares = [share for pattern in data["patterns"] for part in pattern["parts"] for share in part["item_stability"]]
    assert sorted(shares) == sorted(model.stability_.entries.tolist())


def test_every_number_fits_into_json(shop_model):
    json.dumps(payload(shop_model), allow_nan=False)
    missing = CSalt(random_state=0).fit(*baskets())
    missing.pattern_gain_[:] = np.nan
    missing.pattern_evidence_[0] = np.inf
    data = embedded(render(missing))
    assert data["patterns"][0]["evidence"] is None
    assert data["patterns"][0]["gain"] is None


@pytest.mark.slow
def test_the_share_of_ones_that_patterns_cover(planted, fitted):
    for model, rows, labels in [(fitted, planted.X, planted.y), (baskets_model(), *baskets())]:
        rows = np.asarray(rows)
        numbers = np.searchsorted(model.classes_, labels)
        covered = np.zeros(rows.shape, dtype=bool)
        for a in range(2):
            product = model.usage_.astype(int) @ (model.components_ | model.alterations_[a]).astype(int)
            covered |= (product > 0) & (numbers == a)[:, None]
        assert share_of_ones_covered(model, numbers) == pytest.approx((covered & rows).sum() / rows.sum())


# ---------------------------------------------------------------------- words


def test_facts_say_what_was_analysed(shop_model):
    shop_model.about_ = {"source": "baskets.csv"}
    data = payload(shop_model)
    shop_model.about_ = {}
    assert data["title"] == "Patterns in baskets.csv"
    assert data["facts"][:3] == ["baskets.csv", "400 rows (200 Mainz, 200 Trier)", "23 columns"]
    assert data["method"] == "CSalt(random_state=0)"


def test_the_outline_names_items_and_who_adds_them(shop_model):
    lines = outline(Summary(shop_model))
    assert len(lines) == 4
    breakfast = next(line for line in lines if "bread" in line)
    assert re.search(r"Trier adds: (coffee, sugar|sugar, coffee)", breakfast)
    assert any("only Mainz: " in line for line in lines)
    many = outline(Summary(planted_model(25, [30, 30], 60, size=12)))
    assert many[-1] == "and 5 more patterns"
    assert "and 4 more" in many[0]


# ---------------------------------------------------------------------- usage


def _cells(lines, rank):
    return np.frombuffer(base64.b64decode(lines["cells"]), dtype=np.uint8).reshape(-1, rank)


def test_usage_lines_are_the_usage_in_another_order(shop_model):
    model = shop_model
    numbers = np.searchsorted(model.classes_, model.row_labels_)
    lines = usage_lines(model.usage_, numbers, model.usage_counts_, np.array([f"r{k}" for k in range(400)]))
    cells = _cells(lines, 4)
    np.testing.assert_array_equal(cells == 255, model.usage_[lines["rows"]][:, lines["patterns"]])
    assert (np.diff(numbers[lines["rows"]]) >= 0).all()
    assert lines["lines"] == [200, 200]
    assert lines["names"] == [f"r{k}" for k in lines["rows"]]
    # Rows with the same patterns stand together: no class has more runs than kinds of rows.
    runs = 1 + (np.diff(cells[:200].astype(int), axis=0) != 0).any(axis=1).sum()
    assert runs == len(np.unique(cells[:200], axis=0))


def test_many_rows_are_gathered_within_their_class():
    rng = np.random.default_rng(0)
    numbers = np.repeat([0, 1], [70_003, 11])
    usage = rng.random((len(numbers), 3)) < [0.1, 0.5, 0.9]
    counts = np.stack([usage[numbers == a].sum(axis=0) for a in range(2)])
    lines = usage_lines(usage, numbers, counts, None)
    cells = _cells(lines, 3)
    assert sum(lines["lines"]) == len(cells) <= MAX_LINES + 2
    assert lines["lines"][1] == 1
    assert lines["rows"] is None
    sizes = np.full(lines["lines"][0], lines["rows_per_line"])
    sizes[-1] = 70_003 - sizes[:-1].sum()
    shares = sizes @ cells[: len(sizes)] / 255 / 70_003
    np.testing.assert_allclose(shares, counts[0][lines["patterns"]] / 70_003, atol=0.003)


def test_shared_patterns_stand_first_then_those_of_every_class(shop_model):
    data = payload(shop_model)
    order = [data["patterns"][number] for number in data["usage"]["patterns"]]
    owners = [pattern["owners"][0][0] if pattern["owners"] else -1 for pattern in order]
    assert owners == [-1, -1, 0, 1]
    assert sum(order[0]["usage"]) >= sum(order[1]["usage"])


def test_rows_that_use_a_pattern_are_named(shop_model):
    data = payload(shop_model)
    for pattern in data["patterns"]:
        rows = [data["rows"]["names"][k] for k in pattern["rows"]]
        assert rows == np.flatnonzero(shop_model.usage_[:, pattern["number"]]).tolist()[: ROW_LIMITS[0]]
        labels = [data["classes"][data["rows"]["classes"][k]]["label"] for k in pattern["rows"]]
        assert labels == shop_model.row_labels_[rows].tolist()
    assert data["rows"]["numbered"]


def test_many_patterns_name_fewer_rows():
    usage = np.ones((500, 1000), dtype=bool)
    named = named_rows(usage, list(range(1000)))
    assert sum(map(len, named)) <= MAX_NAMED
    assert named[0].tolist() == list(range(20))
    assert [len(rows) for rows in named_rows(usage, [3, 5])] == [200, 200]


# ---------------------------------------------------------------------- fewer patterns


def test_a_page_of_the_first_patterns(shop_model):
    whole, data = payload(shop_model), payload(shop_model, max_patterns=2)
    assert [pattern["number"] for pattern in data["patterns"]] == [0, 1]
    assert data["left_out"] == 2
    assert sorted(data["usage"]["patterns"]) == [0, 1]
    assert data["answer"] == whole["answer"]
    assert whole["left_out"] == payload(shop_model, max_patterns=9)["left_out"] == 0
    with pytest.raises(ValueError, match="max_patterns has to be at least 1 or None, not 0"):
        render(shop_model, max_patterns=0)


def test_a_notebook_names_the_classes_that_use_a_pattern_where_there_are_many():
    model = planted_model(11, [20] * 24, 60, size=8)
    html = model_html(model)
    assert html.count("<th ") == 3
    assert "of 20 class " in html
    assert "1 more pattern: model.patterns()" in html
    assert model_html(planted_model(3, [20] * 3, 60, size=8)).count("<th ") == 5


# ---------------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("names", "about", "kind"),
    [
        (["pixel_0_0", "pixel_0_1"], {}, "pixels"),
        (["a", "b", "c", "d"], {"image": [2, 2]}, "pixels"),
        (["chr1:100 A>G", "chrX:5 C>T"], {}, "loci"),
        (["1:100:A:G", "22:7:C:CT"], {}, "loci"),
        (["scaffold_12:100:A:G"], {}, "loci"),
        (["age:30", "age:40"], {}, "items"),
        (["bread", "butter"], {}, "items"),
        ([f"{a}{b}{c}" for a in "abcdefghi" for b in "aeiou" for c in "klmnprstvwxyz"], {}, "words"),
        (["bread", "butter"], {"kind": "words"}, "words"),
        (["chr1:100 A>G"], {"kind": "items"}, "loci"),
        (None, {}, "items"),
    ],
)
def test_kinds_of_items(names, about, kind):
    assert kind_of_items(names, about) == kind


def test_pixels_lie_where_their_names_say():
    layout = layout_of("pixels", ["pixel_1_2", "pixel_0_0"], 2, {}, 100)
    assert (layout.shape["height"], layout.shape["width"]) == (2, 3)
    assert layout.place.tolist() == [5, 0]
    larger = layout_of("pixels", ["pixel_1_2", "pixel_0_0"], 2, {"image": [4, 10]}, 100)
    assert larger.place.tolist() == [12, 0]
    assert layout_of("pixels", None, 6, {"image": [2, 3]}, 100).place.tolist() == list(range(6))
    assert layout_of("pixels", None, 6, {"image": [1, 2]}, 100) is None
    assert layout_of("pixels", None, 6, {"image": [2, 3]}, 5) is None


def test_loci_lie_in_order_on_their_chromosomes():
    rng = np.random.default_rng(0)
    names = [f"chr{c}:{position} A>G" for c in ("10", "2", "X", "1") for position in rng.integers(1, 10**8, 50)]
    layout = layout_of("loci", [*names, "no locus"], 201, {}, 500)
    chromosomes = layout.shape["chromosomes"]
    assert [entry["name"] for entry in chromosomes] == ["chr1", "chr2", "chr10", "chrX"]
    first = np.cumsum([0, *[entry["bins"] for entry in chromosomes]])
    for k, entry in enumerate(chromosomes):
        here = [j for j, name in enumerate(names) if name.startswith(entry["name"] + ":")]
        places = layout.place[here]
        assert ((first[k] <= places) & (places < first[k + 1])).all()
        order = np.argsort([int(names[j].split(":")[1].split()[0]) for j in here])
        assert (np.diff(places[order]) >= 0).all()
    assert layout.place[-1] == -1
    assert layout.n_places == first[-1] <= 500 + len(chromosomes)


def test_more_contigs_than_can_be_drawn_are_counted():
    layout = layout_of("loci", [f"contig{k}:{10 * k + 1}" for k in range(60)], 60, {}, 500)
    assert len(layout.shape["chromosomes"]) + layout.shape["left_out"] == 60
    assert (layout.place >= 0).sum() == len(layout.shape["chromosomes"])


def test_pictures_show_all_items_also_those_that_are_not_listed():
    names = [f"pixel_{k // 40}_{k % 40}" for k in range(1600)]
    model = planted_model(4, [30, 30], 1600, size=400, names=names)
    data = payload(model)
    part = data["patterns"][0]["parts"][0]
    assert len(part["items"]) < part["size"]
    bits = np.unpackbits(np.frombuffer(base64.b64decode(part["places"]), dtype=np.uint8))[:1600]
    np.testing.assert_array_equal(bits.astype(bool), model.components_[0])


# ---------------------------------------------------------------------- page


def test_the_page_is_whole_and_asks_for_nothing(shop_model):
    page = render(shop_model, title="Two shops")
    assert page.startswith("<!doctype html>")
    assert "<title>Two shops</title>" in page
    assert "{{" not in page
    assert not re.search(r"\bsrc=|\burl\(|@import|\bfetch\(|XMLHttpRequest|\bimport\(", page)
    links = re.findall(r'href="([^"]*)"', page)
    assert links
    assert all(link.startswith("#") for link in links)
    assert embedded(page)["answer"] == payload(shop_model)["answer"]


def test_the_policy_knows_style_and_script_by_their_hash(shop_model):
    page = render(shop_model)
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'")
    for directive, tag in (("style-src", "style"), ("script-src", "script")):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_names_stay_text():
    page = render(nasty_model(), title="<script>window.hacked = 1</script> {{data}}")
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<img" not in page
    assert "<b>bold" not in page
    data = embedded(page)
    assert data["title"] == "<script>window.hacked = 1</script> {{data}}"
    assert set(data["items"]["names"]) <= set(NASTY)
    assert {entry["name"] for entry in data["classes"]} == set(nasty_model().classes_.tolist())


def test_without_scripts_the_page_still_tells_the_patterns(shop_model):
    page = render(shop_model)
    static = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert payload(shop_model)["answer"] in unescape(static)
    for item in ("bread", "coffee", "diapers", "beer"):
        assert item in static


def test_the_file_is_replaced_as_a_whole(shop_model, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(NotFittedError):
        write_report(CSalt(), path)
    assert path.read_text() == "old"
    write_report(shop_model, path, title="Two shops")
    assert path.read_text(encoding="utf-8") == render(shop_model, title="Two shops")
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_text_that_is_no_text_does_not_stop_the_file(shop_model, tmp_path):
    write_report(shop_model, tmp_path / "report.html", title="half \ud800 pair")
    assert "half ? pair" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_mistakes_get_one_sentence(shop_model, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        write_report(shop_model, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*make it first"):
        write_report(shop_model, tmp_path / "none" / "report.html")
    with pytest.raises(TypeError, match="A report shows a fitted estimator of saltmine such as CSalt, not 'PCA'"):
        render(PCA().fit(pd.DataFrame({"a": [0, 1], "b": [1, 0]})))


def test_findings_lead_to_their_patterns(shop_model):
    summary = Summary(shop_model)
    assert summary.findings
    page = render(summary)
    listed = re.search(r'<ol class="findings">(.*?)</ol>', page, re.DOTALL)[1].split("</li>")[:-1]
    assert len(listed) == len(summary.findings)
    for line, finding in zip(listed, summary.findings, strict=True):
        assert finding.text.split() == re.sub("<[^>]*>", "", unescape(line)).split()[: len(finding.text.split())]
        assert (f'href="#pattern-{finding.pattern}"' in line) == (finding.pattern is not None)
    few = findings_html(summary, {0})
    assert set(re.findall(r"#pattern-(\d+)", few)) <= {"0"}


def test_single_items_that_differ_are_told_without_scripts(shop_model):
    page = render(shop_model)
    section = page[page.index('<section id="items"') : page.index('<section id="map"')]
    differences = shop_model.differences()
    confirmed = differences[differences["q_value"] <= 0.05]
    assert len(confirmed) > 1
    assert f"{len(confirmed)} items differ between the classes" in section
    first = confirmed.iloc[0]
    assert f'<th scope="row" dir="auto">{first["item"]}</th><td>{first["class"]}</td>' in section
    assert f"({first['rows']})" in section
    assert section.count("<tr>") == 1 + len(confirmed)


def test_single_items_of_classes_that_do_not_differ():
    rng = np.random.default_rng(0)
    model = CSalt(random_state=0).fit(rng.random((60, 20)) < 0.3, np.repeat(["a", "b"], 30))
    assert (model.differences()["q_value"] > 0.05).all()
    section = render(model)
    assert "No single item is shown to differ between the classes" in section
    assert '<table class="plain">' not in section
    assert 'id="items"' not in render(Primp(random_state=0).fit(rng.random((60, 20)) < 0.3))


@pytest.mark.slow
def test_the_glossary_says_that_tests_count_groups_where_there_are_any(shop_model):
    X, shop = baskets()
    customers = pd.Series(np.arange(400) // 2, name="customer")
    model = CSalt(random_state=0).fit(X, shop, groups=customers)
    page = render(model)
    reading = " ".join(page[page.index('<section id="reading"') :].split())
    for entry, said in {
        "Evidence": "It counts groups (customer), not rows.",
        "q-value": "and count groups (customer), not rows; a customer with rows of several classes is compared",
        "Odds ratio of a single item": "The test counts groups (customer); shares, odds ratio and interval count rows.",
    }.items():
        assert said in reading.split(f">{entry}</dt>")[1].split("</dd>")[0]
    assert embedded(page)["groups"] == "customers"
    unnamed = render(CSalt(random_state=0).fit(X, shop, groups=customers.to_numpy()))
    assert "It counts groups, not rows." in unnamed
    without = render(shop_model)
    assert "take rows as independent" in without
    assert not re.search(r"count(s?) groups", without[without.index('<section id="reading"') :])
    assert embedded(without)["groups"] is None


def test_names_of_single_items_stay_text():
    rng = np.random.default_rng(1)
    labels = np.repeat(["<b>a</b>", "b & c"], 60)
    cells = rng.random((120, 6)) < 0.3
    cells[:60, 2] = True
    names = ["one", "two", "</table><script>alert(1)</script>", "four", "five", "six"]
    page = render(CSalt(random_state=0).fit(cells, labels, item_names=names))
    section = page[page.index('<section id="items"') : page.index('<section id="map"')]
    assert "&lt;/table&gt;&lt;script&gt;alert(1)" in section
    assert "&lt;b&gt;a&lt;/b&gt;" in section
    assert "<script>" not in section
