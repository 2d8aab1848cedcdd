"""`CSalt(algorithm="paper")` on a device against NumPy: the relaxed objective on the way, and the binary models.

    python -m benchmarks.devices                      # torch on the CPU, a few minutes on two cores
    python -m benchmarks.devices cuda --max-iter 10000
    python -m benchmarks.devices --single             # torch on the CPU in single precision, as on devices like mps

Data are the paper's planted matrices, two of every shape with 24 patterns in two classes and 10 % noise. The exit code
is 1 if the objective differs by more than 1e-6 of its value within 200 iterations, or if any binary model differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from saltmine import CSalt
from saltmine.data.stacking import StackedMatrix
from saltmine.data.threads import ThreadTeam
from saltmine.datasets import Planted, make_planted
from saltmine.estimators import fitting
from saltmine.solver.paper import palm
from saltmine.solver.relaxed.device import Device, open_device
from saltmine.solver.relaxed.device_operator import DeviceOperator
from saltmine.solver.relaxed.objective import Factors, RelaxedObjective
from saltmine.solver.relaxed.operator import make_operator

SHAPES = ((500, 1600), (1600, 500), (800, 1000), (1000, 800))
RANK, N_ITER, TOLERANCE = 30, 200, 1e-6
FITTED = ("components_", "alterations_", "usage_")


def planted(n_items: int, n_rows: int, seed: int) -> Planted:
    return make_planted(n_items, [n_rows // 2, n_rows - n_rows // 2], 24, noise=0.1, random_state=seed)


def largest_difference(data: Planted, device: Device, rank: int = RANK, n_iter: int = N_ITER) -> float:
    """Return the largest relative difference of the relaxed objective over the iterations, device against NumPy."""
    stacked = StackedMatrix.from_rows(data.X, data.y, 2)
    (m, n), rng = stacked.matrix.shape, np.random.default_rng(0)
    start = Factors(rng.random((n, rank)), np.zeros((2, n, rank)), rng.random((m, rank)))
    with ThreadTeam() as team:
        here = RelaxedObjective(make_operator(stacked.matrix, stacked.blocks, team))
        expected = np.array(palm(here, start, n_iter, check_every=1).history)
    there = RelaxedObjective(DeviceOperator(stacked.matrix, stacked.blocks, device))
    found = np.array(palm(there, start, n_iter, check_every=1).history)
    return float(np.max(np.abs(found - expected) / np.abs(expected)))


def fit(data: Planted, max_iter: int, device: str | None) -> tuple[CSalt, float]:
    """Return a fitted model and the seconds that it took."""
    begin = time.perf_counter()
    model = CSalt(algorithm="paper", max_iter=max_iter, random_state=0, device=device).fit(data.X, data.y)
    return model, time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare a device with NumPy.")
    parser.add_argument("device", nargs="?", default="cpu", help="a device of torch, or cupy; by default torch's cpu")
    parser.add_argument("--max-iter", type=int, default=1000, help="iterations at one rank; 10000 in the paper")
    parser.add_argument("--single", action="store_true", help="in single precision")
    args = parser.parse_args()
    device = open_device(args.device)
    if args.single:
        device = replace(device, dtype=np.float32)
    differences, same = list[float](), list[bool]()
    for shape in SHAPES:
        for seed in range(2):
            data = planted(*shape, seed)
            differences.append(largest_difference(data, device))
            expected, here = fit(data, args.max_iter, None)
            with patch.object(fitting, "open_device", lambda name: device):
                found, there = fit(data, args.max_iter, args.device)
            same.append(all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in FITTED))
            said = "identical models" if same[-1] else "DIFFERENT models"
            counts = f"{expected.n_components_} and {found.n_components_} patterns"
            times = f"{here:.0f} s and {there:.0f} s"
            print(f"{shape[0]} x {shape[1]}, seed {seed}: objective {differences[-1]:.1e}, {said}, {counts}, {times}")
    precision = np.dtype(device.dtype).name
    print(f"{args.device}, {precision}: objective within {max(differences):.1e}, {sum(same)} of {len(same)} identical")
    if max(differences) > TOLERANCE or not all(same):
        sys.exit(1)


if __name__ == "__main__":
    main()
