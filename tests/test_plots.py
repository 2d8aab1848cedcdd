import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from saltmine import CSalt, Primp
from saltmine.colours import SHARED, class_colours
from saltmine.datasets import make_planted
from saltmine.fitted.summary import Summary
from saltmine.io import Table


@pytest.fixture(scope="module")
def model():
    planted = make_planted(60, [80, 80], rank=3, noise=0.01, largest=True, random_state=4)
    names = [f"<b>item & {i}</b>" for i in range(60)]
    return CSalt(random_state=0).fit(pd.DataFrame(planted.X, columns=names), np.array(["a", "b"])[planted.y])


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", ["usage", "patterns", "history"])
def test_a_plot_draws_on_the_axes_it_is_given_or_makes_some(model, name):
    _, ax = plt.subplots()
    assert getattr(model.plot, name)(ax=ax) is ax
    assert ax.has_data()
    assert getattr(model.plot, name)() is not ax


def test_the_usage_picture_has_every_row_of_every_class(model):
    picture = model.plot.usage().images[0].get_array()
    assert picture.shape == model.usage_.shape
    for a, rows in enumerate((slice(0, 80), slice(80, 160))):
        assert set(np.unique(picture[rows])) <= {0, a + 1}
        assert (picture[rows] > 0).sum() == model.usage_counts_[a].sum()


def test_the_map_has_shares_and_marks_alterations(model):
    ax = model.plot.patterns()
    np.testing.assert_allclose(ax.images[0].get_array(), (model.usage_counts_ / 80).T)
    assert len(ax.collections[0].get_offsets()) == model.alterations_.any(axis=2).sum()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == model.n_components_
    assert all(name.startswith(f"{s}: <b>item") for s, name in enumerate(names))


@pytest.mark.slow
def test_labels_of_the_map_tell_what_is_added_and_where_they_are_cut():
    names = ["oat", "rye", "tea", "ham", "egg", "jam", "a name that is much too long for the label of a pattern"]
    labels = np.repeat(["North", "South"], 60)
    X = np.zeros((120, 7), dtype=bool)
    X[:6, [0, 1]], X[60:100, :4], X[6:40, 4:] = True, True, True
    model = CSalt(random_state=0).fit(pd.DataFrame(X, columns=names), labels)
    texts = [label.get_text() for label in model.plot.patterns().get_yticklabels()]
    titles = [f"{s}: {title}" for s, title in enumerate(model.summary().table["strongest"])]
    assert any("; South adds: " in text for text in texts)
    assert any(text.endswith("…") for text in texts)
    assert texts == [title if len(title) <= 60 else f"{title[:59]}…" for title in titles]


def test_words_have_the_colour_of_their_role(model):
    classes = class_colours(2)
    for s in range(model.n_components_):
        sizes, colours = model.plot._words(s, max_words=1000)
        assert len(sizes) == (model.components_[s] | model.alterations_[:, s].any(axis=0)).sum()
        table = model.patterns().query("pattern == @s").set_index("item")
        for item, row in table.iterrows():
            if row.role == "common":
                assert colours[item] == SHARED
            else:
                assert colours[item] in classes


def test_words_that_set_the_pattern_apart_are_larger(model):
    summary = Summary(model)
    for pattern in summary.patterns:
        sizes, _ = model.plot._words(pattern.number, max_words=1000)
        for part in pattern.parts:
            drawn = [sizes[str(summary.item_names[item])] for item in part.items]
            np.testing.assert_allclose(drawn, np.maximum(part.strength, min(sizes.values())))


def test_the_word_cloud_is_an_image(model):
    _, ax = plt.subplots()
    assert model.plot.wordcloud(0, ax=ax) is ax
    assert ax.images[0].get_array().std() > 0
    assert ax.get_title().startswith("pattern 0 (a: ")


def test_a_pattern_that_is_not_there_is_named(model):
    with pytest.raises(ValueError, match=r"There is no pattern 99; the model has patterns 0 to"):
        model.plot.wordcloud(99)


def test_a_fitted_model_shows_what_it_found_with_names_escaped(model):
    html = model._repr_html_()
    assert "patterns:" in html
    assert "&lt;b&gt;item &amp; " in html
    assert "<b>item" not in html
    assert model._repr_mimebundle_()["text/html"] == html


def test_an_unfitted_estimator_shows_its_parameters():
    html = Primp(max_rank=7)._repr_html_()
    assert "max_rank" in html
    with config_context(display="text"):
        assert "text/html" not in CSalt()._repr_mimebundle_()


def test_a_model_without_patterns_says_so():
    model = CSalt().fit(np.eye(4), ["a", "a", "b", "b"])
    assert "No pattern" in model._repr_html_()


def test_a_table_shows_size_and_classes():
    table = Table(np.eye(3), y=np.array(["<i>", "b", "b"]), item_names=np.array(["x", "y", "z"]))
    html = table._repr_html_()
    assert "3 rows" in html
    assert "&lt;i&gt; (1), b (2)" in html
