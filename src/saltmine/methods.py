"""All methods by the names that comparisons and the command line use; load the files of their models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from saltmine.baselines import Asso, Dbssl, DiffNorm, JointNMF, MdlDbssl
from saltmine.estimators import CSalt, Primp
from saltmine.fitted.model_file import read_model
from saltmine.parameters import check_ranks, spread_ranks


@dataclass(frozen=True)
class Method:
    """A method: its title in tables, its estimator, and the parameters that are fixed."""

    title: str
    estimator: Any
    fixed: Mapping[str, Any] = field(default_factory=dict)


METHODS: dict[str, Method] = {
    "csalt": Method("C-Salt", CSalt),
    "paper": Method("C-Salt as published", CSalt, {"algorithm": "paper"}),
    "primp": Method("Primp", Primp),
    "asso": Method("Asso", Asso),
    "dbssl": Method("Dbssl", Dbssl),
    "mdldbssl": Method("MdlDbssl", MdlDbssl),
    "diffnorm": Method("DiffNorm", DiffNorm),
    **{name.lower(): Method(name, JointNMF, {"penalty": name.lower()}) for name in ("JSMF", "RJSNMF", "JNMF", "iNMF")},
}


def check_methods(methods: Iterable[str] | None) -> list[str]:
    """Return the names of methods without repetition; "all" or None stands for all of them.

    Examples
    --------
    >>> check_methods(["csalt", "Asso", "csalt"])
    ['csalt', 'asso']
    """
    given = ["all"] if methods is None else [methods] if isinstance(methods, str) else list(methods)
    names = [str(name).lower() for name in given]
    if "all" in names:
        return list(METHODS)
    for name in names:
        if name not in METHODS:
            raise ValueError(f"There is no method {name!r}; choose among {', '.join(METHODS)}.")
    if not names:
        raise ValueError(f"No method is named; choose among {', '.join(METHODS)}.")
    return list(dict.fromkeys(names))


def parameters_of(name: str) -> set[str]:
    """Return the names of the parameters of a method that are not fixed.

    Examples
    --------
    >>> "tau" in parameters_of("asso"), "tau" in parameters_of("csalt")
    (True, False)
    """
    method = METHODS[name]
    return set(method.estimator._get_param_names()) - set(method.fixed)


def make(name: str, **parameters: Any) -> Any:
    """Return the estimator of a method with the given parameters; those that it does not have are ignored.

    Examples
    --------
    >>> make("inmf", random_state=0, alpha_that_nobody_has=1)
    JointNMF(random_state=0)
    """
    method, known = METHODS[name], parameters_of(name)
    chosen = {parameter: value for parameter, value in parameters.items() if parameter in known}
    return method.estimator(**method.fixed, **chosen)


def ranks_for(name: str, ranks: Any, n_classes: int) -> dict[str, Any]:
    """Return the parameter that sets the number of patterns of a method; none for methods that find it themselves.

    Parameters
    ----------
    ranks : int or tuple
        Shared patterns and those of each class, as in `Dbssl`. Methods without this distinction get the sum.

    Examples
    --------
    >>> ranks_for("asso", (8, 4, 4), 2), ranks_for("dbssl", (8, 4), 2), ranks_for("csalt", 8, 2)
    ({'rank': 16}, {'ranks': (8, 4, 4)}, {})
    """
    check_ranks(ranks, or_none=False)
    spread = spread_ranks(ranks, n_classes)
    if name == "asso":
        if not sum(spread):
            raise ValueError("Asso needs at least one pattern to look for, but the ranks are all 0.")
        return {"rank": sum(spread)}
    if name == "inmf":
        return {"ranks": sum(spread)}
    return {"ranks": spread} if "ranks" in parameters_of(name) else {}


def load(path: str | PathLike[str]) -> Any:
    """Return the fitted estimator of a file that ``save`` wrote.

    Parameters
    ----------
    path : path
        May come from anybody: the file is loaded or refused, and nothing in it is executed.

    Returns
    -------
    CSalt, Primp or another estimator
        With all results, and with the parameters of the method. Those of a run, such as ``client``, are not stored.

    Raises
    ------
    saltmine.fitted.model_file.ModelFileError
        If the file is damaged, of another version, or not a model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from saltmine import Primp, load
    >>> model = Primp(random_state=0).fit([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.salt"
    >>> model.save(path)
    >>> bool((load(path).usage_ == model.usage_).all())
    True
    """
    return read_model(path, {method.estimator._kind: method.estimator for method in METHODS.values()})
