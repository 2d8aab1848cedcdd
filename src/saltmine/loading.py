"""Load model files."""

from __future__ import annotations

from os import PathLike
from typing import Any

from saltmine.baselines.asso import Asso
from saltmine.baselines.dbssl import Dbssl, MdlDbssl
from saltmine.baselines.diffnorm import DiffNorm
from saltmine.baselines.joint_nmf import JointNMF
from saltmine.estimators.csalt import CSalt
from saltmine.estimators.primp import Primp
from saltmine.fitted.model_file import read_model


def load(path: str | PathLike[str]) -> Any:
    """Return the fitted estimator of a file that ``save`` wrote.

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
    kinds = (CSalt, Primp, Asso, Dbssl, MdlDbssl, DiffNorm, JointNMF)
    return read_model(path, {kind._kind: kind for kind in kinds})
