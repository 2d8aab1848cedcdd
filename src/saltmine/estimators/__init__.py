"""Estimators with scikit-learn's manners: they check the input, run a search and keep what it found."""

from saltmine.estimators.asso import Asso
from saltmine.estimators.csalt import CSalt
from saltmine.estimators.dbssl import Dbssl, MdlDbssl
from saltmine.estimators.diffnorm import DiffNorm
from saltmine.estimators.joint_nmf import JointNMF
from saltmine.estimators.loading import load
from saltmine.estimators.primp import Primp

__all__ = ["Asso", "CSalt", "Dbssl", "DiffNorm", "JointNMF", "MdlDbssl", "Primp", "load"]
