import numpy as np
import pytest

from saltmine import CSalt, Primp
from saltmine.datasets import make_planted
from saltmine.metrics import description_length


@pytest.fixture(scope="module", params=[[150, 150], [100, 140, 120]], ids=["two classes", "three classes"])
def case(request):
    planted = make_planted(
        100,
        request.param,
        rank=4,
        membership=np.ones((len(request.param), 1)),
        noise=0.02,
        random_state=2,
        largest=True,
    )
    return planted, CSalt(random_state=0).fit(planted.X, planted.y)


def test_the_gain_of_a_pattern_is_what_f_loses_without_it(case):
    planted, model = case
    assert model.n_components_ > 2
    for s in range(model.n_components_):
        rest = np.arange(model.n_components_) != s
        parts = model.components_[rest], model.alterations_[:, rest], model.usage_[:, rest]
        without = description_length(planted.X, planted.y, *parts)
        assert model.pattern_gain_[s] == pytest.approx(without - model.description_length_, abs=1e-6)


def test_the_gain_of_an_alteration_is_what_f_loses_without_it(case):
    planted, model = case
    altered = np.argwhere(model.alterations_.any(axis=2))
    assert len(altered)
    for a, s in altered:
        alterations = model.alterations_.copy()
        alterations[a, s] = False
        without = description_length(planted.X, planted.y, model.components_, alterations, model.usage_)
        assert model.alteration_gain_[a, s] == pytest.approx(without - model.description_length_, abs=1e-6)
    assert (np.isnan(model.alteration_gain_) == ~model.alterations_.any(axis=2)).all()


@pytest.mark.slow
def test_patterns_without_classes_have_gains_too(planted):
    model = Primp(random_state=0).fit(planted.X, planted.y)
    one_class = np.zeros(len(planted.X))
    nothing = np.zeros((1, model.n_components_ - 1, 100), dtype=bool)
    without = description_length(planted.X, one_class, model.components_[1:], nothing, model.usage_[:, 1:])
    assert model.pattern_gain_[0] == pytest.approx(without - model.description_length_, abs=1e-6)
    assert np.isnan(model.alteration_gain_).all()


def test_a_model_without_patterns_has_no_gains():
    model = CSalt().fit(np.eye(4), ["a", "a", "b", "b"])
    assert model.pattern_gain_.shape == (0,)
    assert model.alteration_gain_.shape == (2, 0)
