"""The fits that a fresh process makes first: ``python first_fit.py PACKAGE [LARGE.npz]`` prints what they took.

It runs by itself and imports nothing before the clock starts that a user's program would not have to.
"""

import importlib
import json
import sys
import time


def main() -> None:
    """Import the package, fit small data twice, and large data once; CPU seconds, then those on the clock."""
    package, *large = sys.argv[1:]
    begin = time.process_time(), time.perf_counter()
    make = importlib.import_module(package).CSalt
    import numpy as np

    rng = np.random.default_rng(0)
    X, y = rng.random((120, 100)) < 0.05, np.repeat([0, 1], 60)
    X[:40, :15], X[30:80, 20:40], X[70:, 50:60] = True, True, True
    took = {}
    for what in ("first", "second"):
        if what == "second":
            begin = time.process_time(), time.perf_counter()
        make(random_state=0).fit(X, y)
        took[what] = [time.process_time() - begin[0], time.perf_counter() - begin[1]]
    if large:
        import scipy.sparse as sp

        matrix, labels = sp.csr_array(sp.load_npz(large[0])), np.load(large[1])
        begin = time.process_time(), time.perf_counter()
        make(random_state=0).fit(matrix, labels)
        took["large"] = [time.process_time() - begin[0], time.perf_counter() - begin[1]]
    print(json.dumps(took))


if __name__ == "__main__":
    main()
