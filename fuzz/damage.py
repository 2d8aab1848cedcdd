"""Changes of bytes that know nothing of a format, and values at which numbers and texts break."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

#: Numbers as text: boundaries of types, and what only looks like a number.
NUMBERS = [
    *("0", "1", "-1", "2", "-0", "0.0", "1.0", "0.5", "-0.5", "+3", "007", ".5", "5.", "1e", "1e5", "-1e-5", "1e-320"),
    *("127", "128", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483649"),
    *("4294967295", "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775809", "18446744073709551615", "18446744073709551616", "1e308", "-1e308", "1e309"),
    *("nan", "NaN", "inf", "-inf", "Infinity", "0x10", "1_000", "1,5", "٣", "½", "true", "None", "NA", "null", "", " "),
    *("9" * 400, "9" * 5000, "1." + "3" * 300),
]

#: Texts that readers have to carry or to refuse: blanks, controls, other scripts, broken code points, markup.
TEXTS = [
    *("", " ", "?", "NA", "nan", "None", "a b", "a,b", "a;b", "a\tb", 'a"b', '"', '""', "'", "\\", "\\N", "#", "%"),
    *("\n", "\r", "\r\n", "\x1b[31m", "\x07", "\x7f", "\x85", "\u2028", "\ufeff", "\u202e", "\u200b", "\xa0", "\0"),
    *("é", "e\u0301", "\u017f", "İ", "ß", "日本語", "🧂", "\U0010ffff", "\ufffe", "ﬃ", "ǅ"),
    *("<b>", "</script>", "=1+1", "{0}", "{", "%s", "../up", "/", ".", "..", "-", "x" * 5000, "yes", "no", "True"),
]

# Bytes that are no UTF-8, or not allowed in it: a lone surrogate, an overlong form, beyond the last code point.
_BROKEN_UTF8 = [b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xef\xbf\xbe"]
_WHOLE_NUMBERS = [0, 1, 2, 7, 8, 64, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31]
_WHOLE_NUMBERS += [2**32 - 1, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1]
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MAX_BLOCK = 64

_Damage = Callable[[Random, bytearray], None]


def damaged(random: Random, data: bytes) -> bytes:
    """Return data with one or a few changes of bytes.

    Examples
    --------
    >>> damaged(Random(1), b"bread,milk") == damaged(Random(1), b"bread,milk") != b"bread,milk"
    True
    """
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 10))):
        random.choice(_DAMAGES)(random, changed)
    return bytes(changed)


def text_value(random: Random) -> str:
    """Return a number or a text that is likely to break something."""
    return random.choice(NUMBERS if random.random() < 0.5 else TEXTS)


def whole_number(random: Random) -> int:
    """Return a whole number at the boundary of a type, or a small one."""
    if random.random() < 0.3:
        return random.randrange(-3, 20)
    number = random.choice(_WHOLE_NUMBERS)
    return -number if random.random() < 0.2 else number


def _place(random: Random, data: bytearray) -> int:
    return random.randrange(len(data)) if data else 0


def _block(random: Random, data: bytearray) -> slice:
    begin = _place(random, data)
    return slice(begin, begin + random.randrange(1, _MAX_BLOCK))


def _flip_bit(random: Random, data: bytearray) -> None:
    if data:
        data[_place(random, data)] ^= 1 << random.randrange(8)


def _set_byte(random: Random, data: bytearray) -> None:
    if data:
        data[_place(random, data)] = random.choice((0, 1, 10, 13, 32, 34, 44, 127, 128, 255, random.randrange(256)))


def _insert(random: Random, data: bytearray) -> None:
    place = _place(random, data)
    data[place:place] = random.randbytes(random.randrange(1, 9))


def _insert_text(random: Random, data: bytearray) -> None:
    place = _place(random, data)
    data[place:place] = text_value(random).encode() if random.random() < 0.7 else random.choice(_BROKEN_UTF8)


def _delete(random: Random, data: bytearray) -> None:
    del data[_block(random, data)]


def _delete_byte(random: Random, data: bytearray) -> None:
    if data:
        del data[_place(random, data)]


def _copy_block(random: Random, data: bytearray) -> None:
    block = data[_block(random, data)]
    place = _place(random, data)
    if random.random() < 0.5:
        data[place:place] = block
    else:
        data[place : place + len(block)] = block


def _repeat_block(random: Random, data: bytearray) -> None:
    where = _block(random, data)
    data[where.start : where.start] = data[where] * random.choice((1, 2, 10, 100))


def _truncate(random: Random, data: bytearray) -> None:
    del data[_place(random, data) :]


def _append(random: Random, data: bytearray) -> None:
    data += random.choice((b"\0", b"\n", random.randbytes(20), bytes(100), bytes(data[:100])))


def _set_integer(random: Random, data: bytearray) -> None:
    """Overwrite 1, 2, 4 or 8 bytes with a number, as lengths and offsets in headers are stored."""
    width = random.choice((1, 2, 4, 8))
    place = _place(random, data)
    number = whole_number(random) % (1 << 8 * width)
    data[place : place + width] = number.to_bytes(width, random.choice(("little", "little", "big")))


def _set_number(random: Random, data: bytearray) -> None:
    """Replace a number that is written as text."""
    place = _place(random, data)
    found = _NUMBER.search(data, place) or _NUMBER.search(data)
    if found:
        data[found.start() : found.end()] = random.choice(NUMBERS).encode()


def _zero_block(random: Random, data: bytearray) -> None:
    where = _block(random, data)
    data[where] = bytes(len(data[where]))


_DAMAGES: list[_Damage] = [
    *(_flip_bit, _flip_bit, _set_byte, _set_byte, _insert, _insert_text, _delete, _delete_byte, _copy_block),
    *(_repeat_block, _truncate, _append, _set_integer, _set_integer, _set_number, _set_number, _zero_block),
]
