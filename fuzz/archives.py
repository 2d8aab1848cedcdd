"""Changes of zip archives of arrays: members, headers of arrays, values; and of the zip itself."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from random import Random

from fuzz.damage import TEXTS, damaged, whole_number

_DTYPES = [
    *("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", ">i8", "<u8", "<f2", "<f4", "<f8", ">f8", "<f16", "<c16", "|S1", "|S9"),
    *("<U1", "<U5", ">U5", "|O", "|V8", "<M8[ns]", "<m8[s]", "<U2147483647", "<U0", "|S0", "|V0", "<i16", "", "x", "O"),
    *("<U536870911", "<U600000000", "<f8,<i4", "(2,3)<i4", "(0,)<f8", "(1000000,1000000)<i8", "M8", "<M8", "U", "b"),
]
_DESCRIPTIONS = ["[('a', '<f8')]", "[('a', '<f8'), ('b', '<i4')]", "[]", "None", "()", "('<f8', (2,))", "{}", "1"]

Members = list[tuple[str, bytes]]
_Change = Callable[[Random, Members], None]


def members_of(data: bytes) -> Members:
    """Return the names and contents of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def zipped(members: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive with correct checksums."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two members of the same name are meant
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name, contents in members:
                # With a fixed date, so that the same case is the same file tomorrow.
                entry = zipfile.ZipInfo(name)
                entry.compress_type = method
                archive.writestr(entry, contents)
    return stream.getvalue()


def changed_archive(
    random: Random, data: bytes, change_other: Callable[[Random, Members], None] | None = None
) -> bytes:
    """Return an archive of arrays with changed members; ``change_other`` knows more of what is in them."""
    members = members_of(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        if change_other is not None and random.random() < 0.6:
            change_other(random, members)
        elif members:
            random.choice(_CHANGES)(random, members)
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    data = zipped(members, method)
    return _changed_zip(random, data) if random.random() < 0.15 else data


def _change_one(change: Callable[[Random, bytes], bytes]) -> _Change:
    def change_member(random: Random, members: Members) -> None:
        k = random.randrange(len(members))
        members[k] = (members[k][0], change(random, members[k][1]))

    return change_member


def _header_and_body(data: bytes) -> tuple[bytes, bytes]:
    size = int.from_bytes(data[8:10], "little")
    return data[10 : 10 + size], data[10 + size :]


def _with_header(header: bytes, body: bytes, version: int = 1) -> bytes:
    """Return an array of a header and values, padded as numpy does it."""
    header = header.rstrip() + b" " * (-(len(header.rstrip()) + 11) % 64) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header) & (0xFFFF if version == 1 else 0xFFFFFFFF))
    return b"\x93NUMPY" + bytes((version, 0)) + size + header + body


def _shape(random: Random) -> str:
    how = random.random()
    if how < 0.15:
        return random.choice(("()", "(", "None", "7", "(1.5,)", "(True, True)", "'ab'", "[2, 3]", "(-1,)", "(2, -3)"))
    lengths = [random.choice((0, 1, 2, 3, 5, whole_number(random))) for _ in range(random.choice((1, 1, 2, 2, 3, 40)))]
    return "(" + "".join(f"{length}, " for length in lengths) + ")"


def _new_header(random: Random, data: bytes) -> bytes:
    """Say something else about the type, the order or the shape of an array."""
    header, body = _header_and_body(data)
    text = header.decode("latin-1")
    how = random.random()
    if how < 0.4:
        begin, end = text.find("'shape': "), text.rfind(", }")
        text = f"{text[:begin]}'shape': {_shape(random)}{text[end:]}"
    elif how < 0.8:
        begin, end = text.find("'descr': "), text.find(", 'fortran_order'")
        new = repr(random.choice(_DTYPES)) if random.random() < 0.8 else random.choice(_DESCRIPTIONS)
        text = f"{text[:begin]}'descr': {new}{text[end:]}"
    elif how < 0.9:
        text = text.replace("False", random.choice(("True", "None", "2", "'x'")))
    else:
        text = random.choice(
            ("{", "{}", "(" * 300, "[" * 9000, "__import__('os')", "1" * 60, "", "\0", "{'descr': '<f8'}")
        )
    return _with_header(text.encode("latin-1"), body, random.choice((1, 1, 1, 2, 3, 9)))


def _new_values(random: Random, data: bytes) -> bytes:
    header, body = _header_and_body(data)
    return _with_header(header, damaged(random, body))


def _damaged_array(random: Random, data: bytes) -> bytes:
    return damaged(random, data)


def _empty(random: Random, data: bytes) -> bytes:
    return random.choice((b"", b"\x93NUMPY", b"no array", b"\x80\x04N.", data[:20]))


def _remove(random: Random, members: Members) -> None:
    del members[random.randrange(len(members))]


def _copy(random: Random, members: Members) -> None:
    members.insert(random.randrange(len(members)), random.choice(members))


def _rename(random: Random, members: Members) -> None:
    k = random.randrange(len(members))
    known = ["X.npy", "y.npy", "data.npy", "format.npy", "shape.npy", "row_names.npy", "item_names.npy", "arr_0.npy"]
    odd = [text for text in TEXTS if 0 < len(text) < 100 and text != "\0"]
    new = random.choice(
        (*known, random.choice(odd), "X", "../X.npy", "/etc/X.npy", members[random.randrange(len(members))][0])
    )
    members[k] = (new, members[k][1])


def _exchange(random: Random, members: Members) -> None:
    one, two = random.randrange(len(members)), random.randrange(len(members))
    members[one], members[two] = (members[one][0], members[two][1]), (members[two][0], members[one][1])


_CHANGES: list[_Change] = [
    *map(_change_one, (_new_header, _new_header, _new_header, _new_values, _new_values, _damaged_array, _empty)),
    *(_remove, _copy, _rename, _exchange),
]

# Places in the entries of the directory of a zip, from their begin: what is there, and its width.
_ENTRY_FIELDS = {"flags": (8, 2), "method": (10, 2), "crc": (16, 4), "packed": (20, 4), "size": (24, 4)}
_ENTRY_FIELDS |= {"name length": (28, 2), "extra length": (30, 2), "comment length": (32, 2), "offset": (42, 4)}


def _changed_zip(random: Random, data: bytes) -> bytes:
    """Change the directory of a zip: methods, sizes, checksums, offsets; or what is around the zip."""
    changed = bytearray(data)
    how = random.random()
    if how < 0.15:
        return random.randbytes(random.choice((1, 30))) + data
    if how < 0.25:
        return data + random.randbytes(random.choice((1, 30)))
    begin = data.find(b"PK\1\2", random.randrange(len(data)))
    begin = data.find(b"PK\1\2") if begin < 0 else begin
    if how < 0.35 or begin < 0:
        begin, (place, width) = data.rfind(b"PK\5\6"), random.choice(((8, 2), (10, 2), (12, 4), (16, 4), (20, 2)))
    else:
        place, width = random.choice(list(_ENTRY_FIELDS.values()))
    number = whole_number(random) % (1 << 8 * width)
    changed[begin + place : begin + place + width] = number.to_bytes(width, "little")
    return bytes(changed)
