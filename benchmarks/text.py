"""The paper's text data at no more than 30 patterns: cells in error per one in the data.

    python -m benchmarks.text FOLDER

FOLDER holds ``space_rel_matched.npz``, ``politics_matched.npz`` and ``movie_matched.npz`` (scipy sparse, posts by
words) with the labels beside them in ``..._matched_rows.tsv``. The paper's C-Salt column is 0.931, 0.883 and 0.981 on
its own matrices.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from experiments.measuring import timed
from experiments.planted import FIRST_SEED
from saltmine import CSalt
from saltmine.metrics import residual

PAPER = {"space_rel": 0.931, "politics": 0.883, "movie": 0.981}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure C-Salt on the text matrices of the paper.")
    parser.add_argument("folder", type=Path, help="where the matrices are")
    parser.add_argument("--max-rank", type=int, default=30, help="most patterns; 0 for no limit")
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    args = parser.parse_args()
    for name, paper in PAPER.items():
        X = sp.csr_array(sp.load_npz(args.folder / f"{name}_matched.npz") != 0)
        y = pd.read_csv(args.folder / f"{name}_matched_rows.tsv", sep="\t", header=None)[0].to_numpy()
        model = CSalt(max_rank=args.max_rank or None, random_state=args.seed)
        _, seconds = timed(partial(model.fit, X, y))
        kinds = np.count_nonzero((model.usage_counts_ > 0).sum(axis=0) > 1)
        error = residual(model, X, y) / X.sum()
        print(
            f"{name}: RSS per one {error:.3f} (paper {paper}), {model.n_components_} patterns, "
            f"{kinds} of them in several classes, {seconds:.1f} s"
        )


if __name__ == "__main__":
    main()
