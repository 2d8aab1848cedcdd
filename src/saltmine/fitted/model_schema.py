"""What the header of a model file may hold, field by field; everything else is refused.

The parameters of an estimator are listed by its name. Those of `RUN_PARAMETERS` belong to a run and are in no file.
"""

from __future__ import annotations

from typing import Any

from saltmine.fitted.calibration import MAX_TEMPERATURE
from saltmine.fitted.schema import (
    Schema,
    SchemaError,
    any_object,
    choice,
    either,
    flag,
    like,
    list_of,
    none_or,
    number,
    record,
    record_by,
    text,
    texts,
    whole,
)
from saltmine.io.registry import formats
from saltmine.io.table import ITEMS, LOCI, PIXELS, WORDS
from saltmine.parameters import RUN_PARAMETERS

#: Characters of a name or a label, and of a title.
MAX_NAME, MAX_TITLE = 1_000_000, 10_000
#: Largest number that may stand for the name of a column.
MAX_NUMBER = 10**18
#: Most classes, and most patterns.
MAX_CLASSES, MAX_PATTERNS = 100_000, 1_000_000
_MAX_SIZE = 10**12
_MAX_COUNT = 2**31 - 1
_HUGE = 1e300

# ---------------------------------------------------------------------- parameters

_COUNT = whole(1, _MAX_COUNT)
_RANK = whole(0, _MAX_COUNT)
_PROBABILITY = number(0, 1, above=True)
_SHARE = none_or(number(0, 1))
_POSITIVE = number(0, _HUGE)
_RANKS = either(_RANK, list_of(_RANK, 2, 1 + MAX_CLASSES))
_LABEL = either(text(MAX_NAME), whole(-(2**63), 2**64 - 1), number(-_HUGE, _HUGE), flag())
_BINARIZE = {"binarize": none_or(number(-_HUGE, _HUGE))}
_STARTS = {"n_restarts": _COUNT, "random_state": none_or(whole(0, 2**32 - 1))}
_MDL = {
    **_BINARIZE,
    **_STARTS,
    "algorithm": choice("saltmine", "likelihood", "paper"),
    "alpha": _PROBABILITY,
    "max_rank": none_or(_COUNT),
    "rank_step": _COUNT,
    "max_iter": _COUNT,
    "tol": _POSITIVE,
    "fold": flag(),
    "storage": choice("auto", "dense", "sparse"),
}
_DBSSL = {
    **_BINARIZE,
    "tau": _SHARE,
    "candidates": choice("both", "associations", "itemsets"),
    "min_support": _COUNT,
    "max_candidates": _COUNT,
}
_JOINT_NMF = {
    **_BINARIZE,
    **_STARTS,
    "penalty": choice("inmf", "jsmf", "rjsnmf", "jnmf"),
    "ranks": none_or(_RANKS),
    "alpha": none_or(_POSITIVE),
    "beta": none_or(_POSITIVE),
    "strength": _POSITIVE,
    "max_iter": _COUNT,
    "tol": _POSITIVE,
}
#: The parameters of every estimator that model files may hold.
PARAMETERS: dict[str, dict[str, Schema]] = {
    "CSalt": {**_MDL, "fit_prior": flag(), "features": none_or(choice("usage", "probability", "alterations"))},
    "Primp": _MDL,
    "Asso": {**_BINARIZE, "rank": none_or(_COUNT), "tau": _SHARE, "w_plus": _POSITIVE, "w_minus": _POSITIVE},
    "Dbssl": {**_DBSSL, "ranks": none_or(_RANKS)},
    "MdlDbssl": {**_DBSSL, "constellations": none_or(list_of(_RANKS, 1, 10_000))},
    "DiffNorm": {**_BINARIZE, "subsets": none_or(list_of(list_of(_LABEL, 1, MAX_CLASSES), 1, 10_000))},
    "JointNMF": _JOINT_NMF,
}


def check_parameters(kind: str, parameters: Any) -> None:
    """Refuse parameters that an estimator does not have, that belong to a run, or that have other values."""
    any_object().check(parameters, "parameters")
    for name in parameters:
        if name in RUN_PARAMETERS:
            raise SchemaError(f"it sets the parameter {name}, which belongs to a run and not to a model")
    record(PARAMETERS[kind], optional=PARAMETERS[kind]).check(parameters, "parameters")


# ---------------------------------------------------------------------- facts about the data

#: Options of the reader that also hold for new data of the same kind. None of them is the path of a file.
READING: dict[str, Schema] = {
    "format": choice(*formats()),
    "row_names": text(MAX_NAME),
    "group": text(MAX_NAME),
    "separator": text(2, 1),
    "encoding": like(r"[A-Za-z0-9_.:-]{1,40}", "the name of an encoding"),
    "text": text(MAX_NAME),
    "language": like(r"[A-Za-z-]{1,20}", "the code of a language"),
    "unit": choice("gene", "alteration"),
    "nonsilent": flag(),
}
ABOUT = {
    "source": text(MAX_TITLE),
    "kind": choice(ITEMS, WORDS, LOCI, PIXELS),
    "title": text(MAX_TITLE),
    "image": list_of(whole(1, 10**6), 2, 2),
    "reading": record(READING, optional=READING),
}
_COLUMN = {"column": text(MAX_NAME), "missing": flag()}
_CUTS = list_of(number(-_HUGE, _HUGE), 1)
_PREPARATION = {
    "missing": choice("error", "item", "ignore"),
    "bins": whole(2, _MAX_COUNT),
    "cuts": choice("intervals", "cumulative"),
    "columns": list_of(
        record_by(
            "kind",
            {
                "flag": record(_COLUMN),
                "constant": record(_COLUMN),
                "yes-no": record({**_COLUMN, "yes": text(MAX_NAME)}),
                "values": record({**_COLUMN, "values": texts(MAX_NAME)}),
                "intervals": record({**_COLUMN, "thresholds": _CUTS}),
                "at-least": record({**_COLUMN, "thresholds": _CUTS}),
            },
        ),
        1,
    ),
}

# ---------------------------------------------------------------------- the header

FORMAT = "saltmine model"
VERSION = 9
_LABEL_TYPES = ("bool", *(f"{kind}{8 * size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)))
#: The types that labels may have; text gets its width from the labels themselves.
LABEL_TYPES = ("object", "str", *_LABEL_TYPES, "float16", "float32", "float64")
_NEAR_MISS = {"items": list_of(whole(0, _MAX_SIZE), 2, 1000), "rows": whole(2, _MAX_SIZE), "chance": number(0, 1)}
HEADER = record(
    {
        "format": choice(FORMAT),
        "version": whole(VERSION, VERSION),
        "estimator": choice(*PARAMETERS),
        "parameters": any_object(),
        "classes": record({"labels": list_of(_LABEL, 1, MAX_CLASSES), "dtype": choice(*LABEL_TYPES)}),
        "item_names": none_or(either(texts(MAX_NAME), list_of(either(text(MAX_NAME), whole(-MAX_NUMBER, MAX_NUMBER))))),
        "feature_names": none_or(texts(MAX_NAME)),
        "row_names": none_or(texts(MAX_NAME)),
        "about": record(ABOUT, optional=ABOUT),
        "preparation": none_or(record(_PREPARATION)),
        "near_miss": none_or(record(_NEAR_MISS)),
        "finished": flag(),
        "group_name": text(MAX_NAME, 1),
        "groups": none_or(texts(MAX_NAME)),
        "refits": whole(0, _MAX_COUNT),
        "rows": whole(1, _MAX_SIZE),
        "items": whole(0, _MAX_SIZE),
        "n_components_": whole(0, MAX_PATTERNS),
        "n_features_in_": whole(1, _MAX_SIZE),
        "n_iter_": whole(0, _MAX_SIZE),
        "description_length_": number(-_HUGE, _HUGE),
        "null_description_length_": number(-_HUGE, _HUGE),
        "temperature_": number(1, MAX_TEMPERATURE),
    }
)


def check_header(header: Any) -> None:
    """Refuse a header with fields that model files do not have, or with other values than these may have."""
    HEADER.check(header, "")
    check_parameters(header["estimator"], header["parameters"])
