"""The compiled core of saltmine."""

from typing import overload

import numpy
from numpy.typing import NDArray

def cpu() -> str: ...
def use_cpu(arg: str, /) -> None: ...
def can_shuffle(arg0: int, arg1: int, /) -> bool: ...
def test_added(
    arg0: NDArray[numpy.uint8],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    arg5: float,
    arg6: int,
    /,
) -> NDArray[numpy.float64]: ...
def hits_by_group(
    arg0: NDArray[numpy.uint8], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: int, /
) -> NDArray[numpy.int64]: ...
def test_items(
    arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.bool_], arg3: NDArray[numpy.float64], /
) -> None: ...
def simes(arg0: NDArray[numpy.float64], arg1: NDArray[numpy.int64], arg2: int, /) -> float: ...
def simes_log_p(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.bool_],
    arg4: int,
    /,
) -> NDArray[numpy.float64]: ...
def shuffle_labels(arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], /) -> NDArray[numpy.int64]: ...
def log_tail_of_score(arg0: float, arg1: NDArray[numpy.float64], /) -> float: ...
def gains_of_rows(
    arg0: NDArray[numpy.uint64],
    arg1: NDArray[numpy.int64],
    arg2: tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.int64], float, float],
    arg3: NDArray[numpy.float64],
    /,
) -> None: ...
def add_gains(
    arg0: NDArray[numpy.uint64],
    arg1: int,
    arg2: int,
    arg3: NDArray[numpy.uint64],
    arg4: NDArray[numpy.int64],
    arg5: tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.int64], float, float],
    arg6: NDArray[numpy.float64],
    /,
) -> None: ...
def associate(
    arg0: NDArray[numpy.uint64], arg1: int, arg2: int, arg3: float, arg4: int, arg5: int, arg6: NDArray[numpy.uint64], /
) -> None: ...
def set_bits(
    arg0: NDArray[numpy.bool_], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.uint64], /
) -> None: ...
def set_stored_bits(
    arg0: tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int32] | NDArray[numpy.int64]],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.uint64],
    /,
) -> None: ...
def move_bits(
    arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.uint64], /
) -> None: ...
def count_in_rows(
    arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.bool_], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.int64], /
) -> None: ...
def sum_in_rows(
    arg0: NDArray[numpy.uint64],
    arg1: NDArray[numpy.bool_],
    arg2: NDArray[numpy.float64],
    arg3: NDArray[numpy.float64],
    /,
) -> None: ...
def count_noise(
    arg0: NDArray[numpy.uint64],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.bool_],
    arg5: NDArray[numpy.int64],
    /,
) -> None: ...
def log_p_value(
    arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.int64], /
) -> float: ...
def log_p_bound(
    arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.int64], /
) -> float: ...
def log_p_values(arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], /) -> NDArray[numpy.float64]: ...
def join_strata(arg: NDArray[numpy.int64], /) -> NDArray[numpy.int64]: ...
def join(arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], /) -> NDArray[numpy.int64]: ...
def find_contrasts(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.uint64],
    arg2: float,
    arg3: int,
    /,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int64]]: ...
def grow_contrast(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.uint64],
    arg2: int,
    arg3: int,
    arg4: int,
    /,
) -> tuple[float, NDArray[numpy.int64]]: ...
def class_difference(arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], arg2: int, /) -> float: ...
def cover_words(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
    ],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.uint64],
    arg4: NDArray[numpy.int64],
    /,
) -> None: ...
def sum_usage(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.float64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.float64],
    /,
) -> None: ...
def find_partners(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
    ],
    arg1: tuple[
        NDArray[numpy.bool_],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
    ],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    arg5: NDArray[numpy.float64],
    arg6: NDArray[numpy.float64],
    arg7: NDArray[numpy.int64],
    /,
) -> None: ...

class Encoder:
    def __init__(self, arg: int, /) -> None: ...
    def set_code_table(
        self, arg0: int, arg1: NDArray[numpy.bool_], arg2: NDArray[numpy.float64], arg3: NDArray[numpy.float64], /
    ) -> None: ...
    def encode_by_all(
        self, arg0: tuple[NDArray[numpy.int64], NDArray[numpy.int32]], arg1: NDArray[numpy.float64], /
    ) -> None: ...
    def encode_by_own(
        self,
        arg0: tuple[NDArray[numpy.int64], NDArray[numpy.int32]],
        arg1: NDArray[numpy.int64],
        arg2: NDArray[numpy.bool_],
        arg3: NDArray[numpy.float64],
        /,
    ) -> None: ...
    def shorten(
        self,
        arg0: tuple[NDArray[numpy.int64], NDArray[numpy.int32]],
        arg1: NDArray[numpy.int64],
        arg2: NDArray[numpy.bool_],
        /,
    ) -> None: ...

def list_ones(arg0: NDArray[numpy.bool_], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int32], /) -> None: ...
def lengths_of_usage(
    arg0: NDArray[numpy.bool_],
    arg1: NDArray[numpy.float64],
    arg2: NDArray[numpy.float64],
    arg3: NDArray[numpy.int64],
    arg4: tuple[NDArray[numpy.int64], NDArray[numpy.int32]],
    arg5: NDArray[numpy.int64],
    arg6: int,
    arg7: NDArray[numpy.bool_],
    arg8: NDArray[numpy.float64],
    arg9: NDArray[numpy.int64],
    /,
) -> None: ...
def add_dense(arg0: NDArray[numpy.bool_], arg1: NDArray[numpy.uint64], arg2: NDArray[numpy.uint64], /) -> None: ...
def sum_dense(arg0: NDArray[numpy.bool_], arg1: NDArray[numpy.uint64], arg2: NDArray[numpy.uint64], /) -> None: ...
def add_stored(
    arg0: tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int32] | NDArray[numpy.int64]],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.uint64],
    /,
) -> None: ...
def sum_stored(
    arg0: tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int32] | NDArray[numpy.int64]],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.uint64],
    /,
) -> None: ...
def add_bits_to_rows(
    arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.uint64], arg2: NDArray[numpy.uint64], /
) -> None: ...
def add_bits_to_columns(
    arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.uint64], arg2: NDArray[numpy.uint64], /
) -> None: ...
def number_keys(arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], /) -> int: ...
def count_chosen(
    arg0: tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int32] | NDArray[numpy.int64]],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    arg3: NDArray[numpy.int64],
    /,
) -> None: ...
def copy_chosen(
    arg0: tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int32] | NDArray[numpy.int64]],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    arg5: NDArray[numpy.int32] | NDArray[numpy.int64],
    /,
) -> None: ...
def test_by_strata(
    arg0: NDArray[numpy.uint8], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.int64], arg3: NDArray[numpy.float64], /
) -> None: ...
def solve_items(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        float,
        NDArray[numpy.bool_],
    ],
    arg2: NDArray[numpy.uint64],
    /,
) -> None: ...
def sum_items(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        float,
        NDArray[numpy.bool_],
    ],
    arg2: NDArray[numpy.uint64],
    arg3: tuple[
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
    ],
    /,
) -> None: ...
def score_items(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        float,
        NDArray[numpy.bool_],
    ],
    arg2: NDArray[numpy.uint64],
    arg3: tuple[
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
    ],
    /,
) -> None: ...
def weigh_all_rows(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        float,
        NDArray[numpy.bool_],
    ],
    arg2: NDArray[numpy.uint64],
    arg3: float,
    arg4: NDArray[numpy.float64],
    /,
) -> None: ...
def weigh_carriers(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.bool_],
        float,
        NDArray[numpy.bool_],
    ],
    arg2: NDArray[numpy.uint64],
    arg3: float,
    arg4: NDArray[numpy.float64],
    /,
) -> None: ...
def test_added_items(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.int64], NDArray[numpy.int64]],
    arg2: NDArray[numpy.uint64],
    arg3: NDArray[numpy.bool_],
    /,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...

class LikelihoodSearch:
    def __init__(
        self,
        arg0: NDArray[numpy.uint64],
        arg1: NDArray[numpy.uint64],
        arg2: NDArray[numpy.int64],
        arg3: bool,
        arg4: float,
        arg5: float,
        arg6: int,
        arg7: int,
        arg8: float,
        /,
    ) -> None: ...
    def evidence_of(self, arg: NDArray[numpy.int64], /) -> float: ...
    def start_from(self, arg: NDArray[numpy.int64], /) -> None: ...
    def run(self) -> None: ...
    def was_short(self) -> bool: ...
    def n_patterns(self) -> int: ...
    def evidence(self) -> NDArray[numpy.float64]: ...
    def pattern(
        self, arg: int, /
    ) -> tuple[
        NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64], float, bool
    ]: ...

def score_rows(
    arg0: NDArray[numpy.float64],
    arg1: NDArray[numpy.float64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.float64],
    arg5: NDArray[numpy.int64],
    arg6: NDArray[numpy.int64],
    arg7: NDArray[numpy.float64],
    arg8: NDArray[numpy.float64],
    arg9: int,
    /,
) -> None: ...
def estimate_rows(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.int64],
    arg3: int,
    arg4: int,
    arg5: NDArray[numpy.int64],
    arg6: NDArray[numpy.int64],
    arg7: NDArray[numpy.bool_],
    arg8: NDArray[numpy.bool_],
    arg9: NDArray[numpy.float64],
    arg10: NDArray[numpy.float64],
    arg11: NDArray[numpy.float64],
    arg12: int,
    arg13: int,
    /,
) -> None: ...
def length_of_code(arg0: float, arg1: float, arg2: float, /) -> float: ...
def code_of_patterns(
    arg0: NDArray[numpy.float64], arg1: NDArray[numpy.int64], arg2: NDArray[numpy.float64], /
) -> tuple[float, float, float]: ...
def code_of_errors(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    arg2: float,
    arg3: float,
    arg4: float,
    /,
) -> tuple[float, float, float]: ...
def length_of_item(arg0: NDArray[numpy.float64], arg1: float, arg2: int, arg3: float, /) -> float: ...
def specificity_of_item(
    arg0: NDArray[numpy.float64], arg1: NDArray[numpy.int64], arg2: int, arg3: NDArray[numpy.bool_], /
) -> float: ...
def extra_of_pattern(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    /,
) -> float: ...
def ratio_of_item(arg0: float, arg1: float, /) -> tuple[float, float]: ...
def log_choices(arg0: int, arg1: int, /) -> float: ...
def item_choices(arg0: int, arg1: int, arg2: float, /) -> float: ...
def rounded_density(arg: float, /) -> float: ...
def min_rows(arg: int, /) -> int: ...
def min_item_evidence(arg0: float, arg1: int, /) -> float: ...
def choices_of_rows(arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], /) -> float: ...
def density_of_pattern(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    /,
) -> float: ...
def sum_up_evidence(
    arg0: tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.float64]],
    arg1: int,
    arg2: int,
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    arg5: bool,
    /,
) -> float: ...
def evidence_of_pattern(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.bool_],
    arg2: NDArray[numpy.float64],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    /,
) -> float: ...
def evidence_to_join(arg0: float, arg1: float, arg2: int, /) -> float: ...
def rate_length(arg0: int, arg1: int, /) -> float: ...
def difference_of_classes(arg0: NDArray[numpy.int64], arg1: int, arg2: NDArray[numpy.bool_], /) -> float: ...
def carriers_of_item(
    arg0: NDArray[numpy.float64],
    arg1: NDArray[numpy.float64],
    arg2: float,
    arg3: float,
    arg4: NDArray[numpy.int64],
    arg5: int,
    arg6: int,
    arg7: NDArray[numpy.bool_],
    arg8: float,
    arg9: float,
    arg10: float,
    arg11: NDArray[numpy.bool_],
    /,
) -> int: ...
def items_of_pattern(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.float64],
    arg3: NDArray[numpy.int64],
    arg4: float,
    arg5: NDArray[numpy.bool_],
    arg6: NDArray[numpy.float64],
    arg7: NDArray[numpy.float64],
    arg8: int,
    arg9: NDArray[numpy.bool_],
    arg10: NDArray[numpy.int64],
    /,
) -> None: ...
def give_back_memory() -> None: ...
def keep_freed_memory(arg: bool, /) -> None: ...
def leave_out(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64], NDArray[numpy.bool_], NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.uint64]
    ],
    arg2: int,
    arg3: NDArray[numpy.int64],
    arg4: tuple[NDArray[numpy.uint64], NDArray[numpy.int64], NDArray[numpy.float64]],
    /,
) -> None: ...
def count_cells(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.uint64],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    arg5: NDArray[numpy.int64],
    /,
) -> None: ...
def weigh_rows(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.bool_],
    arg3: NDArray[numpy.int64],
    arg4: float,
    arg5: NDArray[numpy.float64],
    /,
) -> None: ...
def choose_rows(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.float64],
    arg2: float,
    arg3: NDArray[numpy.uint64],
    /,
) -> None: ...
def item_evidence(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.float64],
    arg3: NDArray[numpy.uint64],
    arg4: NDArray[numpy.bool_],
    arg5: float,
    arg6: NDArray[numpy.int64],
    arg7: NDArray[numpy.float64],
    arg8: NDArray[numpy.float64],
    /,
) -> None: ...
def find_carriers(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.bool_],
    arg2: NDArray[numpy.float64],
    arg3: float,
    arg4: NDArray[numpy.uint64],
    /,
) -> None: ...
def count_by_stratum(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: NDArray[numpy.uint64],
    arg2: NDArray[numpy.uint64],
    arg3: NDArray[numpy.int64],
    /,
) -> None: ...
def exchange(
    arg0: tuple[
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.uint64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float],
    ],
    arg1: tuple[
        NDArray[numpy.uint64], NDArray[numpy.bool_], NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.uint64]
    ],
    arg2: int,
    arg3: NDArray[numpy.uint64],
    arg4: NDArray[numpy.bool_],
    /,
) -> None: ...
def sum_pattern(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    arg3: NDArray[numpy.int64],
    arg4: int,
    arg5: tuple[
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
        NDArray[numpy.int64],
    ],
    /,
) -> None: ...
def score_pattern(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.bool_],
    arg3: NDArray[numpy.float64],
    arg4: NDArray[numpy.int64],
    arg5: NDArray[numpy.int64],
    arg6: int,
    arg7: tuple[
        NDArray[numpy.float64],
        NDArray[numpy.int64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.float64],
    ],
    /,
) -> None: ...
def length_of_model(
    arg0: NDArray[numpy.float64],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.float64],
    arg3: NDArray[numpy.float64],
    /,
) -> float: ...
def length_without_patterns(
    arg0: tuple[
        NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
    ],
    arg1: NDArray[numpy.int64],
    /,
) -> float: ...

class Search:
    def __init__(
        self,
        arg0: tuple[
            NDArray[numpy.uint64],
            NDArray[numpy.int64],
            NDArray[numpy.uint64],
            NDArray[numpy.int64],
            NDArray[numpy.int64],
            NDArray[numpy.int64],
            NDArray[numpy.float64],
            NDArray[numpy.float64],
            tuple[
                NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], int, float
            ],
        ],
        arg1: NDArray[numpy.int64],
        arg2: NDArray[numpy.uint64],
        arg3: bool,
        arg4: float,
        arg5: int,
        arg6: int,
        /,
    ) -> None: ...
    @property
    def length(self) -> float: ...
    @property
    def errors(self) -> NDArray[numpy.int64]: ...
    @property
    def used(self) -> NDArray[numpy.int64]: ...
    @property
    def background(self) -> NDArray[numpy.float64]: ...
    def update(self) -> None: ...
    @property
    def covered(self) -> NDArray[numpy.uint64]: ...
    def make_room(self, arg: int, /) -> None: ...
    def put(self, arg0: int, arg1: NDArray[numpy.uint64], arg2: NDArray[numpy.bool_], /) -> None: ...
    def take_out(self, arg: int, /) -> None: ...
    def copy_carry(self, arg0: int, arg1: NDArray[numpy.bool_], /) -> None: ...
    def rows(self, arg: int, /) -> NDArray[numpy.uint64]: ...
    def version(self, arg: int, /) -> int: ...
    def sort(self, arg: int, /) -> int: ...
    def set_sort(self, arg0: int, arg1: int, /) -> None: ...
    def set_alike(self, arg0: int, arg1: NDArray[numpy.bool_], /) -> None: ...
    def copy_alike(self, arg0: int, arg1: NDArray[numpy.bool_], /) -> None: ...
    def length_without(self, arg: int, /) -> float: ...
    def save(self) -> NDArray[numpy.uint64]: ...
    def load(self, arg: NDArray[numpy.uint64], /) -> None: ...
    def set_deadline(self, arg0: float, arg1: int, /) -> None: ...
    @property
    def deadline(self) -> tuple[bool, int]: ...
    def refit(self, arg: bool, /) -> None: ...
    def merge(self) -> bool: ...
    def split(self) -> bool: ...
    def try_without(self, arg: int, /) -> bool: ...
    def replace(
        self, arg0: NDArray[numpy.int64], arg1: NDArray[numpy.uint64], arg2: bool, arg3: bool, arg4: float, arg5: int, /
    ) -> bool: ...
    def add_fixed(self, arg0: NDArray[numpy.bool_], arg1: NDArray[numpy.uint64], /) -> bool: ...
    def fit_rows(
        self, arg0: int, arg1: NDArray[numpy.bool_], arg2: NDArray[numpy.uint64], /
    ) -> NDArray[numpy.uint64]: ...
    def screen(
        self, arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.float64], arg2: NDArray[numpy.float64], /
    ) -> None: ...
    def grow(self, arg0: NDArray[numpy.uint64], arg1: int, /) -> bool: ...
    def drop_unsupported(self) -> bool: ...
    def count_found(self) -> int: ...
    def is_typical(self, arg: int, /) -> bool: ...
    def together(self, arg0: int, arg1: NDArray[numpy.uint64], /) -> float: ...
    def pattern_evidence(self, arg0: NDArray[numpy.int64], arg1: NDArray[numpy.float64], /) -> None: ...
    def evidence_of(self, arg0: NDArray[numpy.uint64], arg1: NDArray[numpy.bool_], /) -> float: ...
    def adds(self, arg0: NDArray[numpy.int64], arg1: NDArray[numpy.bool_], /) -> None: ...
    def test_use(
        self, arg0: NDArray[numpy.int64], arg1: NDArray[numpy.float64], arg2: NDArray[numpy.float64], /
    ) -> None: ...
    def test_added(self, arg0: NDArray[numpy.int64], arg1: NDArray[numpy.float64], /) -> None: ...
    def item_choice(self, arg: int, /) -> float: ...
    def use_evidence(self, arg0: NDArray[numpy.bool_], arg1: int, /) -> float: ...
    def carriers(self, arg: int, /) -> NDArray[numpy.uint64]: ...
    def touched(self, arg: NDArray[numpy.int64], /) -> NDArray[numpy.int64]: ...

def find_seeds(
    arg0: NDArray[numpy.uint64],
    arg1: NDArray[numpy.int64],
    arg2: NDArray[numpy.int64],
    arg3: NDArray[numpy.int64],
    arg4: NDArray[numpy.int64],
    arg5: NDArray[numpy.int64],
    arg6: NDArray[numpy.int64],
    arg7: NDArray[numpy.int64],
    arg8: int,
    arg9: int,
    arg10: float,
    /,
) -> NDArray[numpy.uint64]: ...
def count_set_hits(
    arg0: tuple[NDArray[numpy.int32] | NDArray[numpy.int64], NDArray[numpy.int32] | NDArray[numpy.int64]],
    arg1: int,
    arg2: NDArray[numpy.int32],
    arg3: NDArray[numpy.int32],
    arg4: NDArray[numpy.int32],
    arg5: NDArray[numpy.int32],
    arg6: NDArray[numpy.int64],
    /,
) -> None: ...
def count_set_hits_of_cells(
    arg0: NDArray[numpy.bool_],
    arg1: NDArray[numpy.int32],
    arg2: NDArray[numpy.int32],
    arg3: NDArray[numpy.int32],
    arg4: NDArray[numpy.int64],
    /,
) -> None: ...
@overload
def multiply_items(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int32],
    arg2: NDArray[numpy.float32],
    arg3: int,
    arg4: int,
    arg5: NDArray[numpy.float32],
    /,
) -> None: ...
@overload
def multiply_items(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int32],
    arg2: NDArray[numpy.float64],
    arg3: int,
    arg4: int,
    arg5: NDArray[numpy.float64],
    /,
) -> None: ...
@overload
def multiply_rows(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int32],
    arg2: NDArray[numpy.float32],
    arg3: int,
    arg4: int,
    arg5: NDArray[numpy.float32],
    /,
) -> None: ...
@overload
def multiply_rows(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int32],
    arg2: NDArray[numpy.float64],
    arg3: int,
    arg4: int,
    arg5: NDArray[numpy.float64],
    /,
) -> None: ...
def find_strip_starts(
    arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int32], arg2: int, arg3: NDArray[numpy.int64], /
) -> None: ...
def count_items(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int32],
    arg2: NDArray[numpy.int64],
    arg3: int,
    arg4: int,
    arg5: NDArray[numpy.int64],
    arg6: NDArray[numpy.int64],
    /,
) -> None: ...
def transpose(
    arg0: NDArray[numpy.int64],
    arg1: NDArray[numpy.int32],
    arg2: int,
    arg3: int,
    arg4: NDArray[numpy.int64],
    arg5: NDArray[numpy.int32],
    /,
) -> None: ...
def step_items(
    arg0: tuple[
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
    ],
    arg1: tuple[NDArray[numpy.float32], float, NDArray[numpy.float32], NDArray[numpy.float32]],
    arg2: NDArray[numpy.float32],
    arg3: NDArray[numpy.float32],
    arg4: tuple[float, float],
    arg5: NDArray[numpy.float32],
    arg6: NDArray[numpy.float32],
    arg7: bool,
    arg8: int,
    arg9: int,
    arg10: NDArray[numpy.float32],
    /,
) -> None: ...
def step_rows(
    arg0: tuple[
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
    ],
    arg1: tuple[NDArray[numpy.float32], float, NDArray[numpy.float32], NDArray[numpy.float32]],
    arg2: NDArray[numpy.float32],
    arg3: NDArray[numpy.float32],
    arg4: NDArray[numpy.float32],
    arg5: tuple[float, float],
    arg6: NDArray[numpy.float32],
    arg7: int,
    arg8: int,
    /,
) -> None: ...
def trade_rows(arg0: NDArray[numpy.int64], arg1: NDArray[numpy.int64], arg2: int, arg3: int, arg4: int, /) -> None: ...
