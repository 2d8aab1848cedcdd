"""Digests of fitted models, to show that a refactoring changes no result.

    python -m benchmarks.same_models -o out/before.json            # before the change, about three minutes on two cores
    python -m benchmarks.same_models --compare out/before.json     # after it; exit code 1 if anything differs
    python -m benchmarks.same_models --quick --only planted        # cases by name, without clusters and slow ones

Every case fits one estimator and digests every fitted array, every column of the pattern table, and how rows that the
fit has not seen are encoded. Only the public API is used, so that the internals may move. Flags, counts and texts are
compared exactly, floats to nine digits. Shapes and sums stand beside each hash, so that a difference can be judged.
Real tables are taken from a folder that holds one folder per table, with X.npz, y.txt and features.txt.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from saltmine import Asso, CSalt, Dbssl, DiffNorm, JointNMF, MdlDbssl, Primp, load
from saltmine.datasets import make_planted

ATTRIBUTES = (
    "classes_",
    "n_components_",
    "components_",
    "sparse_components_",
    "alterations_",
    "usage_",
    "row_labels_",
    "usage_counts_",
    "item_counts_",
    "noise_counts_",
    "class_counts_",
    "carrier_counts_",
    "use_p_values_",
    "use_q_values_",
    "alteration_p_values_",
    "alteration_q_values_",
    "pattern_evidence_",
    "alteration_evidence_",
    "pattern_gain_",
    "alteration_gain_",
    "description_length_",
    "null_description_length_",
    "encoded_length_",
    "n_iter_",
    "history_",
    "n_features_in_",
    "feature_names_in_",
    "row_names_",
)
TABLES = ("vote", "zoo", "soybean", "lymph", "audiology", "tictactoe", "kr_vs_kp")
DEFAULT_TABLES = Path(__file__).resolve().parents[2] / "shared" / "data" / "tables"
# Significant digits of floats. The same sum may be added up in another order after a change, or with more threads.
DIGITS = 9
# Rows that are encoded after a fit: so many, fewer of wide data as they take long; and the share of their cells that is
# flipped, so that they are new to the model.
MOST_ROWS, MOST_CELLS, FLIPPED = 200, 500_000, 0.02


@dataclass(frozen=True)
class Data:
    """Rows with labels and, where they have any, the names of their columns."""

    X: NDArray[np.bool_]
    y: NDArray[Any] | None
    item_names: list[str] | None = None


Store = Callable[[NDArray[np.bool_], Path], Any]
Finish = Callable[[Any, Data, Path], Any]


def as_array(X: NDArray[np.bool_], folder: Path) -> Any:
    return X


def as_integers(X: NDArray[np.bool_], folder: Path) -> Any:
    return X.astype(np.int64)


def as_halves(X: NDArray[np.bool_], folder: Path) -> Any:
    return np.where(X, 0.75, 0.25)


def as_sparse(X: NDArray[np.bool_], folder: Path) -> Any:
    return sp.csr_array(X, dtype=np.int8)


def as_frame(X: NDArray[np.bool_], folder: Path) -> Any:
    m, n = X.shape
    return pd.DataFrame(X, columns=[f"item {k}" for k in range(n)], index=[f"row {k}" for k in range(m)])


def as_dask(X: NDArray[np.bool_], folder: Path) -> Any:
    return da.from_array(X, chunks=tuple(-(-length // 3) for length in X.shape))


def as_zarr(X: NDArray[np.bool_], folder: Path) -> Any:
    chunks = tuple(-(-length // 4) for length in X.shape)
    array = zarr.open_array(str(folder / "cells.zarr"), mode="w", shape=X.shape, chunks=chunks, dtype=np.uint8)
    array[:] = X
    return folder / "cells.zarr"


def as_npz_files(X: NDArray[np.bool_], folder: Path) -> Any:
    for number, rows in enumerate(np.array_split(X, 3)):
        sp.save_npz(folder / f"rows-{number}", sp.csr_array(rows, dtype=np.int8))
    return folder


def as_parquet_files(X: NDArray[np.bool_], folder: Path) -> Any:
    names = [f"item {k}" for k in range(X.shape[1])]
    for number, rows in enumerate(np.array_split(X, 2)):
        pd.DataFrame(rows, columns=names).to_parquet(folder / f"rows-{number}.parquet")
    return folder


def as_it_is(model: Any, data: Data, folder: Path) -> Any:
    return model


def saved_and_loaded(model: Any, data: Data, folder: Path) -> Any:
    model.save(folder / "model.salt")
    return load(folder / "model.salt")


def with_stability(model: Any, data: Data, folder: Path) -> Any:
    model.assess_stability(data.X, data.y, refits=2, random_state=0)
    return model


@dataclass(frozen=True)
class Case:
    """One fit: the data, the estimator, how the data is given, where the blocks are, and what is done afterwards."""

    name: str
    data: Callable[[], Data]
    make: Callable[[], Any]
    store: Store = as_array
    cluster: str = ""  # "threads" or "processes" of a LocalCluster
    slow: bool = False
    finish: Finish = as_it_is


# ---------------------------------------------------------------------- data


@cache
def planted(n: int, sizes: tuple[int, ...], rank: int = 6, noise: float = 0.05, largest: bool = False) -> Data:
    """Return planted data, the rows of all classes mixed."""
    truth = make_planted(n, sizes, rank, noise=noise, random_state=7, largest=largest)
    order = np.random.default_rng(7).permutation(len(truth.y))
    return Data(truth.X[order], truth.y[order])


def without_labels(data: Callable[[], Data]) -> Data:
    return Data(data().X, None)


@cache
def noise_only() -> Data:
    rng = np.random.default_rng(1)
    return Data(rng.random((300, 100)) < 0.2, np.arange(300) % 2)


@cache
def no_ones() -> Data:
    return Data(np.zeros((30, 20), dtype=bool), np.arange(30) % 2)


@cache
def repeated() -> Data:
    """Return data in which many rows and columns occur several times, and one column never."""
    data = planted(150, (120, 120))
    assert data.y is not None
    rows, columns = np.arange(400) % 240, np.arange(220) % 150
    X = data.X[np.ix_(rows, columns)]
    X[:, 11] = False
    return Data(X, data.y[rows])


def blocks(n_rows: int, n_columns: int) -> Data:
    """Return three classes with five patterns, each of a part of rows and columns; classes alter the first three.

    `make_planted` gives a pattern a tenth of the columns at most, too few where there are only forty.
    """
    rng = np.random.default_rng(5)
    y = rng.choice(3, n_rows, p=[0.4, 0.4, 0.2])
    X = rng.random((n_rows, n_columns)) < 0.01
    for s in range(5):
        rows, columns = rng.random(n_rows) < 0.2, rng.permutation(n_columns)
        if s == 4:
            rows &= y == 1
        shared, added = columns[: n_columns // 6], columns[n_columns // 6 : n_columns // 4]
        X[np.ix_(rows, shared)] = True
        if s < 3:
            X[np.ix_(rows & (y == s), added)] = True
    X &= rng.random(X.shape) < 0.99
    return Data(X, np.array(["left", "middle", "right"])[y])


@cache
def wide_data() -> Data:
    """Return more columns than a search looks at, some of them empty, full or equal to others."""
    data = blocks(50, 41_000)
    data.X[:, 100:120], data.X[:, 900:905], data.X[:, 5000:9000] = False, True, data.X[:, 1000:5000]
    return data


@cache
def tall_data() -> Data:
    """Return more rows than a search looks at, some of them empty or equal to others."""
    data = blocks(41_000, 30)
    assert data.y is not None
    data.X[100:120], data.X[5000:9000], data.y[5000:9000] = False, data.X[1000:5000], data.y[1000:5000]
    data.X[:, 17] = False
    return data


@cache
def table(folder: Path) -> Data:
    """Read a table of 0/1 items."""
    names = (folder / "features.txt").read_text().splitlines()
    y = np.array((folder / "y.txt").read_text().splitlines())
    return Data(sp.load_npz(folder / "X.npz").toarray().astype(bool), y, names)


# ---------------------------------------------------------------------- cases


def cases(tables: Path) -> list[Case]:
    """Return all cases: planted data, kinds of input, settings, tables, baselines, and data fitted in blocks."""
    return [*small_cases(), *setting_cases(), *table_cases(tables), *baseline_cases(), *wide_cases(), *tall_cases()]


def small_cases() -> list[Case]:
    two = partial(planted, 300, (250, 250))
    csalt = partial(CSalt, random_state=0)
    shapes: list[tuple[str, Callable[[], Data]]] = [
        ("2 classes", two),
        ("3 classes", partial(planted, 300, (200, 200, 200))),
        ("4 classes", partial(planted, 300, (200, 200, 200, 200), 10)),
        ("6 classes", partial(planted, 200, (120,) * 6)),
        ("1 class", partial(planted, 300, (300,))),
        ("100 and 900 rows", partial(planted, 200, (100, 900))),
        ("no noise", partial(planted, 300, (250, 250), 12, 0.0)),
        ("noise 10%", partial(planted, 300, (250, 250), 6, 0.1)),
        ("noise 20%", partial(planted, 300, (250, 250), 6, 0.2)),
        ("size limits", partial(planted, 300, (250, 250), 8, 0.05, True)),
        ("more columns than rows", partial(planted, 900, (60, 60), 4)),
        ("noise only", noise_only),
        ("no ones", no_ones),
    ]
    found = [Case(f"planted: {name}", data, csalt) for name, data in shapes]
    primp = partial(Primp, random_state=0)
    found += [Case("planted: Primp", partial(without_labels, two), primp), Case("planted: Primp, labels", two, primp)]
    # Sizes that chunks and files do not divide evenly.
    kinds = (as_integers, as_sparse, as_frame, as_dask, as_zarr, as_npz_files, as_parquet_files)
    three = partial(planted, 301, (200, 199, 200))
    found += [Case(f"input: {store.__name__[3:].replace('_', ' ')}", three, csalt, store) for store in kinds]
    found += [Case("input: numbers, binarize", three, partial(csalt, binarize=0.5), as_halves)]
    found += [Case("input: dask, cluster of threads", three, csalt, as_dask, "threads", slow=True)]
    return found


def setting_cases() -> list[Case]:
    two, csalt = partial(planted, 300, (250, 250)), partial(CSalt, random_state=0)
    faint = partial(planted, 300, (250, 250), 6, 0.2)
    paper: dict[str, Any] = {"algorithm": "paper", "max_iter": 1000, "random_state": 0}
    little = partial(planted, 150, (120, 120), 4, 0.02)
    return [
        Case("setting: repeated rows, folded", repeated, csalt),
        Case("setting: repeated rows, not folded", repeated, partial(csalt, fold=False)),
        Case("setting: repeated rows, Primp, labels", repeated, partial(Primp, random_state=0)),
        Case("setting: max_rank 3", two, partial(csalt, max_rank=3)),
        Case("setting: alpha 1e-9", two, partial(csalt, alpha=1e-9)),
        Case("setting: dense storage", two, partial(csalt, storage="dense")),
        Case("setting: sparse storage", two, partial(csalt, storage="sparse")),
        Case("setting: 3 restarts, 2 jobs", faint, partial(csalt, n_restarts=3, n_jobs=2)),
        Case("setting: saved and loaded", two, csalt, as_frame, finish=saved_and_loaded),
        Case("setting: stability of 2 refits", little, csalt, finish=with_stability),
        Case("setting: paper", little, partial(CSalt, **paper)),
        Case("setting: paper, Primp, labels", little, partial(Primp, **paper)),
    ]


def table_cases(tables: Path) -> list[Case]:
    names = [name for name in TABLES if (tables / name / "X.npz").exists()]
    make = partial(CSalt, random_state=0)
    slow = ("kr_vs_kp", "soybean")
    found = [
        Case(f"table: {name}", partial(table, tables / name), make, as_sparse, slow=name in slow) for name in names
    ]
    if "zoo" in names:
        found.append(Case("table: zoo, Primp", partial(table, tables / "zoo"), partial(Primp, random_state=0)))
    return found


def baseline_cases() -> list[Case]:
    two, three = partial(planted, 150, (150, 150), 6), partial(planted, 100, (80, 80, 80), 4, 0.02)
    exact = partial(planted, 80, (100, 100), 3, 0.0)
    found = [
        Case("baseline: Asso", two, Asso),
        Case("baseline: Asso, no labels", partial(without_labels, two), partial(Asso, rank=4, tau=0.5, w_minus=2.0)),
        Case("baseline: Dbssl", two, Dbssl),
        Case("baseline: Dbssl, associations", three, partial(Dbssl, ranks=(2, 2), candidates="associations")),
        Case("baseline: MdlDbssl", two, partial(MdlDbssl, constellations=[(1, 2), (2, 2), (3, 4, 2)])),
        Case("baseline: MdlDbssl, own list", three, MdlDbssl),
        Case("baseline: DiffNorm", exact, DiffNorm),
        Case("baseline: DiffNorm, subsets", exact, partial(DiffNorm, subsets=[[0, 1], [1]])),
    ]
    for penalty in ("jsmf", "rjsnmf", "jnmf", "inmf"):
        found.append(Case(f"baseline: {penalty}", two, partial(JointNMF, penalty=penalty, random_state=0)))
    ranked = partial(JointNMF, penalty="jnmf", ranks=(3, 2, 2), n_restarts=2, random_state=0)
    return [*found, Case("baseline: jnmf, ranks, 2 restarts", two, ranked)]


def wide_cases() -> list[Case]:
    csalt = partial(CSalt, random_state=0)
    return [
        Case("wide: array", wide_data, csalt),
        Case("wide: sparse", wide_data, csalt, as_sparse, slow=True),
        Case("wide: array, not folded", wide_data, partial(csalt, fold=False), slow=True),
        Case("wide: array, 2 restarts", wide_data, partial(csalt, n_restarts=2), slow=True),
        Case("wide: Primp", partial(without_labels, wide_data), partial(Primp, random_state=0)),
        Case("wide: Primp, labels", wide_data, partial(Primp, random_state=0)),
        Case("wide: dask", wide_data, csalt, as_dask, slow=True),
        Case("wide: zarr", wide_data, csalt, as_zarr),
        Case("wide: npz files", wide_data, csalt, as_npz_files, slow=True),
        Case("wide: array, cluster of threads", wide_data, csalt, as_array, "threads", slow=True),
        Case("wide: sparse, cluster of threads", wide_data, csalt, as_sparse, "threads", slow=True),
        Case("wide: zarr, cluster of processes", wide_data, csalt, as_zarr, "processes", slow=True),
    ]


def tall_cases() -> list[Case]:
    csalt = partial(CSalt, random_state=0)
    return [
        Case("tall: array", tall_data, csalt),
        Case("tall: sparse", tall_data, csalt, as_sparse, slow=True),
        Case("tall: array, 2 restarts", tall_data, partial(csalt, n_restarts=2), slow=True),
        Case("tall: Primp", partial(without_labels, tall_data), partial(Primp, random_state=0)),
        Case("tall: Primp, labels", tall_data, partial(Primp, random_state=0)),
        Case("tall: dask", tall_data, csalt, as_dask),
        Case("tall: npz files", tall_data, csalt, as_npz_files, slow=True),
        Case("tall: array, cluster of threads", tall_data, csalt, as_array, "threads", slow=True),
        Case("tall: zarr, cluster of processes", tall_data, csalt, as_zarr, "processes", slow=True),
    ]


# ---------------------------------------------------------------------- digests


def digest(values: Any) -> str:
    """Return kind, shape and sum of values, for the reader, and last a hash of all of them."""
    if sp.issparse(values):
        values = values.toarray()
    array = np.asarray(values)
    if array.dtype.kind in "OUST":
        kind, content, total = "text", "\0".join(map(str, array.ravel().tolist())).encode(), ""
    elif array.dtype.kind == "f":
        # As text, since that rounds to significant digits; adding 0 makes one zero of -0 and 0.
        words = [f"{value:.{DIGITS - 1}e}" for value in (array.ravel() + 0.0).tolist()]
        kind, content, total = "float", " ".join(words).encode(), f" sum {np.nansum(array):.12g}"
    elif array.dtype.kind in "biu":
        kind = "bool" if array.dtype.kind == "b" else "int"
        content, total = array.astype(np.int64).tobytes(), f" sum {int(array.sum())}"
    else:
        raise TypeError(f"values of type {array.dtype} have no digest")
    shape = " x ".join(map(str, array.shape)) or "1"
    code = hashlib.sha256(f"{kind} {array.shape} ".encode() + content).hexdigest()[:16]
    return f"{kind} {shape}{total} {code}"


def new_rows(data: Data) -> tuple[NDArray[np.bool_], NDArray[Any] | None]:
    """Return some rows with flipped cells, which the model has not seen, and their labels."""
    rng = np.random.default_rng(3)
    m, n = data.X.shape
    chosen = np.sort(rng.choice(m, min(m, MOST_ROWS, MOST_CELLS // n), replace=False))
    rows = data.X[chosen]
    return rows ^ (rng.random(rows.shape) < FLIPPED), None if data.y is None else data.y[chosen]


def digests(model: Any, data: Data, store: Store, folder: Path) -> dict[str, str]:
    """Return the digests of all that a fitted model has and says."""
    found = {name: getattr(model, name) for name in ATTRIBUTES if getattr(model, name, None) is not None}
    patterns = model.patterns()
    found |= {f"patterns()[{name}]": patterns[name].to_numpy() for name in patterns.columns}
    if model.stability_ is not None:
        found |= {
            f"stability_.{name}": getattr(model.stability_, name) for name in ("patterns", "alterations", "entries")
        }
    cells, y = new_rows(data)
    rows = store(cells, folder)
    found["transform(X)"] = model.transform(rows)
    if hasattr(model, "predict"):
        found |= {"predict(X)": model.predict(rows), "code_lengths(X)": model.code_lengths(rows)}
        found["transform(X, y)"] = model.transform(rows, y)
    return {name: digest(values) for name, values in found.items()}


@contextmanager
def client_of(kind: str) -> Iterator[Any]:
    """Start a cluster of this kind and connect to it; yield None where no kind is given."""
    if not kind:
        yield None
        return
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": kind == "processes", "dashboard_address": ":0"}
    # Not as default, so that data read lazily by other fits does not go there.
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def measure(case: Case) -> dict[str, Any]:
    """Fit a case; return a few numbers and the digests."""
    data = case.data()
    with TemporaryDirectory() as name, client_of(case.cluster) as client:
        given, new, others = (Path(name, part) for part in ("given", "new", "others"))
        for folder in (given, new, others):
            folder.mkdir()
        X = case.store(data.X, given)
        model = case.make()
        if client is not None:
            model.set_params(client=client)
        begin = time.perf_counter()
        model.fit(X, data.y, item_names=data.item_names)
        seconds = time.perf_counter() - begin
        model = case.finish(model, data, others)
        found = digests(model, data, case.store, new)
    numbers = {
        "patterns": int(model.n_components_),
        "altered": int(model.alterations_.any(axis=2).sum()),
        "description length": float(f"{model.description_length_:.12g}"),
        "seconds": round(seconds, 2),
    }
    return {"numbers": numbers, "arrays": found}


# ---------------------------------------------------------------------- comparison


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return a line for every array that differs; both hold the same cases."""
    lines = []
    for case, now in after.items():
        one, two = before[case]["arrays"], now["arrays"]
        for array in [*one, *(name for name in two if name not in one)]:
            old, new = one.get(array, "missing"), two.get(array, "missing")
            # The last word is the hash; the rest is for the reader.
            if old.split()[-1] != new.split()[-1]:
                lines.append(f"{case}, {array}: {old} -> {new}")
    return lines


def compare(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Print what differs from an earlier run; say whether all cases of both are there and the same."""
    lines = [f"{case}: not in the earlier run" for case in after if case not in before]
    lines += [f"{case}: in the earlier run only" for case in before if case not in after]
    both = {case: result for case, result in after.items() if case in before}
    lines += differences(before, both)
    for line in lines:
        print(line)
    n_arrays = sum(len(result["arrays"]) for result in both.values())
    print(f"{len(both)} cases, {n_arrays} arrays: {f'{len(lines)} differences' if lines else 'identical'}")
    return not lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Digest fitted models, or compare them with earlier digests.")
    parser.add_argument("--quick", action="store_true", help="leave out clusters and slow cases")
    parser.add_argument("--only", default="", help="only cases whose name contains this, as 'wide' or 'Primp'")
    parser.add_argument("--tables", type=Path, default=DEFAULT_TABLES, help="folder of the real tables")
    parser.add_argument("--compare", type=Path, help="digests of an earlier run; exit code 1 if any differs")
    parser.add_argument("-o", "--output", type=Path, help="write the digests to this file, as JSON")
    args = parser.parse_args()
    if not args.tables.is_dir():
        print(f"No folder {args.tables}: cases with real tables are left out.")
    chosen = [case for case in cases(args.tables) if args.only in case.name and not (args.quick and case.slow)]
    if not chosen:
        parser.error("no case matches; run without --only to see them all")
    # Read first: a wrong path shows at once, and the output may replace the file.
    before = json.loads(args.compare.read_text()) if args.compare else None
    begin, results = time.perf_counter(), dict[str, Any]()
    for number, case in enumerate(chosen, 1):
        try:
            results[case.name] = measure(case)
        except Exception as error:  # the other cases are worth knowing too
            print(f"{number}/{len(chosen)}  {case.name}: failed, {type(error).__name__}: {error}", flush=True)
            continue
        numbers = results[case.name]["numbers"]
        found = f"{numbers['patterns']} patterns, {numbers['altered']} altered"
        print(f"{number}/{len(chosen)}  {case.name}: {found}, {numbers['seconds']:.1f} s", flush=True)
    n_arrays = sum(len(result["arrays"]) for result in results.values())
    print(f"{len(results)} cases, {n_arrays} arrays in {time.perf_counter() - begin:.0f} s")
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(results, indent=1) + "\n")
    same = True
    if before is not None:
        left_out = {case.name for case in cases(args.tables)} - {case.name for case in chosen}
        wanted = [name for name in before if args.only in name and name not in left_out]
        same = compare({name: before[name] for name in wanted}, results)
    if not same or len(results) < len(chosen):
        sys.exit(1)


if __name__ == "__main__":
    main()
