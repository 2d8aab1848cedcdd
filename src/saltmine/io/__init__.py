"""Read data files of many formats into a `Table`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from saltmine.io.class_files import ClassFiles, read_class_files
from saltmine.io.files import ReadError, check_exists, reading
from saltmine.io.limits import reading_within
from saltmine.io.registry import format_of
from saltmine.io.table import Table, check_text

_OF_ALL_FORMATS = ("path", "format", "max_memory")

__all__ = ["ReadError", "Table", "read"]


def read(
    path: str | PathLike[str] | Mapping[str, str | PathLike[str]],
    *,
    format: str | None = None,
    target: str | int | None = None,
    labels: str | PathLike[str] | None = None,
    group: str | int | None = None,
    items: str | PathLike[str] | None = None,
    row_names: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    text: str | None = None,
    language: str | None = None,
    stop_words: str | PathLike[str] | None = None,
    min_docs: int | None = None,
    unit: str | None = None,
    nonsilent: bool | None = None,
    min_samples: int | None = None,
    drop_unlabelled: bool | None = None,
    max_memory: str | float | None = None,
) -> Table:
    r"""Read a data file: csv, tsv, parquet, npz, MatrixMarket, FIMI transactions, h5ad, VCF/BCF, MAF or text.

    Options that the format does not have are refused.

    Parameters
    ----------
    path : path, or dict of class to path
        A file whose suffix tells its format, also compressed (.gz, .xz, .bz2) if the format is text; or a folder whose
        sub-folders are classes and hold documents. A dict such as ``{"primary": "a.maf", "relapse": "b.maf"}`` has one
        file per class, all of the same format: their rows are stacked, and items are matched by name.
    format : str, optional
        csv, parquet, npz, mtx, dat, h5ad, vcf, maf or text, if the suffix does not tell.
    target : str or int, optional
        Column (csv, parquet, text; obs in h5ad; array in npz) or column of the label file that holds the classes.
        Columns of a label file without a header are counted from 1.
    labels : path, optional
        File with the classes of the rows: one label per line in the order of the rows, or a table whose first column
        is the name of the row. With one file per class it must agree, and gives the groups. Samples of the table that
        are not in a MAF file have no mutations, and are rows without items.
    group : str or int, optional
        Column that tells which rows belong together, for example the patient.
    items : path, optional
        File with one item name per line (npz, mtx, dat).
    row_names : str, optional
        Column that names the rows (csv, parquet, text).
    separator, encoding : str, optional
        Separator and encoding of csv and other text files. By default, the suffix and the header decide on the
        separator, and the encoding is UTF-8.
    text : str, optional
        Column of a csv or jsonl file that holds the documents.
    language : str, optional
        Language of the documents, "en" by default; "none" keeps the words as they are.
    stop_words : path, optional
        File with words to leave out, one per line, in place of the language's own list.
    min_docs : int, optional
        Leave out words in fewer documents; 20 by default.
    unit : {"gene", "alteration"}, optional
        What the items of a MAF file are: genes, or genomic alterations (variants).
    nonsilent : bool, optional
        Leave out mutations of a MAF file that do not change a protein; by default if the items are genes.
    min_samples : int, optional
        Leave out genes and alterations in fewer samples (vcf, maf).
    drop_unlabelled : bool, optional
        Leave out rows without a class; by default they are an error.
    max_memory : str or number, optional
        Memory that reading may take, as "2G" or in bytes. By default, half of the available memory, and less for small
        files. A file that needs more is refused before it is read.

    Returns
    -------
    Table
        With ``X``, ``y``, ``row_names``, ``item_names``, ``groups``, and ``notes`` on what was left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "baskets.csv"
    >>> _ = path.write_text("bread,milk,shop\n1,0,Mainz\n1,1,Trier\n")
    >>> table = read(path, target="shop")
    >>> table.item_names.tolist(), table.y.tolist()
    (['bread', 'milk'], ['Mainz', 'Trier'])

    One file per class:

    >>> other = path.with_name("evening.csv")
    >>> _ = other.write_text("milk,bread\n1,0\n1,1\n")
    >>> morning = path.with_name("morning.csv")
    >>> _ = morning.write_text("bread,milk\n1,0\n")
    >>> read({"morning": morning, "evening": other}).y.tolist()
    ['morning', 'evening', 'evening']
    """
    # Before any other local variable is set, these are the arguments.
    options = {name: value for name, value in locals().items() if name not in _OF_ALL_FORMATS and value is not None}
    source = ClassFiles(path) if isinstance(path, Mapping) else Path(path)
    with reading_within(max_memory):
        if isinstance(source, ClassFiles):
            table = read_class_files(source, format, options)
        else:
            check_exists(source)
            table = format_of(source, format, text is not None).read(source, options)
    with reading(str(source)):
        check_text(table)
    if not table.shape[1]:
        raise ReadError(f"no items are left. {' '.join(table.notes)}", path=str(source))
    return table
