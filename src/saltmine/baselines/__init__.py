"""The methods that C-Salt is compared with: a search and an estimator for each."""

from saltmine.baselines.asso import Asso
from saltmine.baselines.dbssl import Dbssl, MdlDbssl
from saltmine.baselines.diffnorm import DiffNorm
from saltmine.baselines.joint_nmf import JointNMF

__all__ = ["Asso", "Dbssl", "DiffNorm", "JointNMF", "MdlDbssl"]
