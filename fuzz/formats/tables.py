"""Delimited text: tables, label files, MAF files, transactions, MatrixMarket files."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from fuzz.cases import Case, File, Format
from fuzz.compression import in_bz2, in_gzip, in_xz
from fuzz.text import changed_lines

_COLOURS = ["red", "blue", "dark green", "weiß", '"so, so"', ""]
_SHOPS = ["Mainz", "Trier", "Köln"]


def _rows(random: Random) -> int:
    return random.choice((2, 3, 6, 12, 30))


def _table(random: Random, separator: str) -> bytes:
    rows = [["bread", "milk", "colour", "price", "shop", "who", "id"]]
    for k in range(_rows(random)):
        price = random.choice((f"{random.random() * 9:.2f}", str(random.randrange(50)), "", "NA"))
        colour = random.choice(_COLOURS if separator == "," else _COLOURS[:4])
        cells = [str(random.randrange(2)), random.choice(("yes", "no")), colour, price]
        rows.append([*cells, random.choice(_SHOPS), f"p{random.randrange(4)}", f"r{k}"])
    columns = [k for k in range(7) if k in (0, 4, 5, 6) or random.random() < 0.8]
    return "".join(separator.join(row[k] for k in columns) + "\n" for row in rows).encode()


def _table_options(random: Random) -> dict[str, object]:
    options: dict[str, object] = {}
    if random.random() < 0.9:
        options["target"] = "shop"
    if random.random() < 0.4:
        options["group"] = "who"
    if random.random() < 0.5:
        options["row_names"] = "id"
    if random.random() < 0.4:
        options["drop_unlabelled"] = True
    return options


def _make_csv(random: Random) -> Case:
    separator = random.choice(",,;")
    options = _table_options(random)
    if random.random() < 0.15:
        options["separator"] = separator
    if random.random() < 0.1:
        options["encoding"] = random.choice(("utf-8", "latin-1", "utf-16", "cp1252"))
    data = _table(random, separator)
    if random.random() < 0.1:
        # As pandas and R write them: a first column without a name, or without a field in the header.
        first, *rest = data.decode().splitlines()
        lines = [random.choice((separator, "")) + first, *(f"{k}{separator}{line}" for k, line in enumerate(rest))]
        data = ("\n".join(lines) + "\n").encode()
    if options.get("encoding") == "utf-16":
        data = data.decode().encode("utf-16")
    return Case({"table.csv": data}, "table.csv", options)


def _make_tsv(random: Random) -> Case:
    name = random.choice(("table.tsv", "table.tab", "table.txt"))
    return Case({name: _table(random, "\t")}, name, _table_options(random))


def _make_compressed(suffix: str) -> Format:
    wrap = {"gz": in_gzip, "xz": in_xz, "bz2": in_bz2}[suffix]

    def make(random: Random) -> Case:
        of = random.choice((_make_csv, _make_tsv, _make_maf, _make_dat, _make_mtx))(random)
        name = f"{of.path}.{suffix}"
        return replace(of, files={name: of.files[of.path]}, path=name)

    return Format(suffix, make, changed_lines, wrap)


# ---------------------------------------------------------------------- label files


def _sheet(random: Random, names: list[str], separator: str) -> bytes:
    header = ["sample", "patient", "class", "age"][: random.choice((2, 3, 4))]
    if len(header) == 2:
        header = ["sample", "class"]
    lines = [header] if random.random() < 0.8 or len(header) == 4 else []
    for name in names:
        values = {"sample": name, "patient": f"p{random.randrange(3)}", "class": random.choice("ab"), "age": "7"}
        lines.append([values[column] for column in header])
    return "".join(separator.join(line) + "\n" for line in lines).encode()


def _make_labels(random: Random) -> Case:
    """Return data without classes and a file of classes, which is the one that is changed."""
    n_rows = random.choice((2, 5, 9))
    names = [f"s{k}" for k in range(n_rows)]
    form = random.choice(("csv", "dat", "maf", "items"))
    if form == "items":
        data = b"".join(b"%d %d\n" % (random.randrange(4), random.randrange(4)) for _ in names)
        listed = "".join(f"item {k}\n" for k in range(4)).encode()
        return Case({"data.dat": data, "items.txt": listed}, "data.dat", {"items": File("items.txt")}, "items.txt")
    if form == "dat":
        data = b"".join(b"%d %d\n" % (random.randrange(4), random.randrange(4)) for _ in names)
        labels = "".join(f"{random.choice('ab')}\n" for _ in names).encode()
        return Case({"data.dat": data, "y.txt": labels}, "data.dat", {"labels": File("y.txt")}, "y.txt")
    separator, sheet = random.choice(((",", "sheet.csv"), (";", "sheet.csv"), ("\t", "sheet.tsv"), ("\t", "sheet.txt")))
    options: dict[str, object] = {"labels": File(sheet), "target": "class"}
    if random.random() < 0.3:
        options["drop_unlabelled"] = True
    if form == "csv":
        rows = "".join(f"{name},{random.randrange(2)},{random.randrange(2)}\n" for name in names)
        files = {"data.csv": f"id,bread,milk\n{rows}".encode()}
        options["row_names"] = "id"
    else:
        files = {"data.maf": _maf([(name, random.choice(_GENES)) for name in names for _ in range(2)], random)}
    return Case({**files, sheet: _sheet(random, names, separator)}, next(iter(files)), options, sheet)


# ---------------------------------------------------------------------- mutations


_MAF_COLUMNS = "Hugo_Symbol Chromosome Start_Position Reference_Allele Tumor_Seq_Allele2 Tumor_Sample_Barcode Centre"
_GENES = ["TP53", "KRAS", "NPM1", "FLT3", "Unknown", "."]
_EFFECTS = ["Missense_Mutation", "Silent", "3'UTR", "Nonsense_Mutation"]


def _maf(mutations: list[tuple[str, str]], random: Random) -> bytes:
    has_effects = random.random() < 0.7
    lines = [[*_MAF_COLUMNS.split(), *(["Variant_Classification"] if has_effects else [])]]
    for sample, gene in mutations:
        locus = [random.choice(("1", "chr2", "X", "?")), str(random.randrange(1, 10**6)), random.choice("ACGT-"), "T"]
        effect = [random.choice(_EFFECTS)] if has_effects else []
        lines.append([gene, *locus, sample, f"c{sample[-1:]}", *effect])
    comment = "#version 2.4\n" if random.random() < 0.5 else ""
    return (comment + "".join("\t".join(line) + "\n" for line in lines)).encode()


def _make_maf(random: Random) -> Case:
    mutations = [(f"s{random.randrange(6)}", random.choice(_GENES)) for _ in range(random.choice((3, 9, 30)))]
    options: dict[str, object] = {}
    if random.random() < 0.5:
        options["unit"] = "alteration"
    if random.random() < 0.5:
        options["target"] = "Centre"
    if random.random() < 0.3:
        options["group"] = "Tumor_Sample_Barcode"
    if random.random() < 0.3:
        options["nonsilent"] = False
    if len(mutations) > 9 and "unit" not in options:
        options["min_samples"] = 2
    return Case({"calls.maf": _maf(mutations, random)}, "calls.maf", options)


# ---------------------------------------------------------------------- transactions and matrices


def _make_dat(random: Random) -> Case:
    word = random.choice(("{}", "item{}", "{}00000000000000000000"))
    lines = [
        " ".join(word.format(random.randrange(9)) for _ in range(random.randrange(6))) for _ in range(_rows(random))
    ]
    return Case({"baskets.dat": ("1 2\n" + "\n".join(lines) + "\n").encode()}, "baskets.dat")


def _make_mtx(random: Random) -> Case:
    is_sparse = random.random() < 0.7
    kind = random.choice(("real", "integer", "double", "unsigned-integer", *(["pattern"] if is_sparse else [])))
    symmetry = random.choice(("general", "general", "symmetric"))
    n_rows, n_columns = _rows(random), random.choice((1, 3, 7))
    if symmetry == "symmetric":
        n_columns = n_rows
    cells = [(i, j) for j in range(n_columns) for i in range(n_rows) if symmetry == "general" or i >= j]
    if is_sparse:
        cells = random.sample(cells, random.randrange(1, len(cells) + 1))
    value = "{:.3g}" if kind in ("real", "double") else "{:.0f}"
    lines = [f"%%MatrixMarket matrix {'coordinate' if is_sparse else 'array'} {kind} {symmetry}", "% made"]
    lines.append(f"{n_rows} {n_columns} {len(cells)}" if is_sparse else f"{n_rows} {n_columns}")
    for i, j in cells:
        entry = [] if kind == "pattern" else [value.format(random.random() * 3)]
        lines.append(" ".join([str(i + 1), str(j + 1), *entry] if is_sparse else entry))
    return Case({"matrix.mtx": ("\n".join(lines) + "\n").encode()}, "matrix.mtx")


FORMATS = [
    Format("csv", _make_csv, changed_lines),
    Format("tsv", _make_tsv, changed_lines),
    Format("labels", _make_labels, changed_lines),
    Format("maf", _make_maf, changed_lines),
    Format("dat", _make_dat, changed_lines),
    Format("mtx", _make_mtx, changed_lines),
    *map(_make_compressed, ("gz", "xz", "bz2")),
]
