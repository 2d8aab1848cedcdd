"""Short names for the types of arrays."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
#: Bit sets, 64 rows to a word.
Words = NDArray[np.uint64]
