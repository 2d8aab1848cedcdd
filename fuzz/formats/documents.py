"""Documents: lines of JSON, columns of tables, folders."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

from fuzz.cases import Case, Format
from fuzz.text import changed_json_lines, changed_lines

_WORDS = [
    "salt",
    "mines",
    "rock",
    "deeper",
    "tunnel",
    "brine",
    "ore",
    "cats",
    "dogs",
    "ran",
    "weiß",
    "être",
    "日本語",
    "the",
]
_FOLDERS = ["plain", "two words", "weiß", "日本", "a.b", "x-y"]


def _text(random: Random) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.choice((0, 2, 5, 12))))


def _options(random: Random) -> dict[str, object]:
    options: dict[str, object] = {"min_docs": random.choice((1, 1, 1, 1, 2))}
    if random.random() < 0.5:
        # The tables of the languages take a while to load, and the words are no more than words.
        options["language"] = "none"
    return options


def _make_jsonl(random: Random) -> Case:
    labels = random.choice((["mine", "sea"], [1, 2], [True, False], [0.5, 1.5]))
    records = []
    for k in range(random.choice((2, 4, 10))):
        record = {"text": _text(random), "label": random.choice(labels), "id": f"d{k}", "who": f"p{k % 2}"}
        if random.random() < 0.1:
            record["more"] = {"deep": [1, 2, {"a": None}]}
        records.append(record)
    data = "".join(json.dumps(record, ensure_ascii=random.random() < 0.5) + "\n" for record in records)
    options = _options(random)
    for name, field in (("group", "who"), ("row_names", "id"), ("target", "label"), ("text", "text")):
        if random.random() < 0.3:
            options[name] = field
    if random.random() < 0.3:
        options["drop_unlabelled"] = True
    name = random.choice(("posts.jsonl", "posts.ndjson"))
    return Case({name: data.encode()}, name, options)


def _make_text_table(random: Random) -> Case:
    lines = ["text,label,id"]
    for k in range(random.choice((2, 4, 10))):
        text = _text(random)
        lines.append(f'"{text}, {text}",{random.choice("ab")},d{k}' if random.random() < 0.5 else f"{text},a,d{k}")
    options = {**_options(random), "text": "text"}
    return Case({"posts.csv": ("\n".join(lines) + "\n").encode()}, "posts.csv", options)


def _make_folder(random: Random) -> Case:
    files = {}
    for folder in random.sample(_FOLDERS, random.choice((1, 2, 3))):
        for k in range(random.choice((1, 2, 4))):
            deeper = "deeper/" if random.random() < 0.2 else ""
            files[f"texts/{folder}/{deeper}{k}.txt"] = _text(random).encode()
    if random.random() < 0.15:
        files = {f"texts/{k}.txt": _text(random).encode() for k in range(3)}
    if random.random() < 0.2:
        # File names are bytes; those that are no text come as broken code points.
        odd = random.choice(("a\udce9.txt", "new\nline.txt", ".hidden", "\x1b[31m.txt", "a\u2028b"))
        files[f"texts/{random.choice(_FOLDERS[:2])}/{odd}"] = _text(random).encode()
    options = _options(random)
    if random.random() < 0.2:
        options["encoding"] = "latin-1"
    return Case(files, "texts", options, random.choice(list(files)))


class _Folder(Format):
    """A folder, in which names change as well as contents."""

    def case(self, seed: int, number: int) -> Case:
        case = super().case(seed, number)
        random = Random(f"{seed} folder names {number}")
        if random.random() < 0.3:
            files = dict(case.files)
            name = random.choice(list(files))
            data = files.pop(name)
            folder, _, last = name.rpartition("/")
            new = random.choice((f"{last}\udcff", f"{last} ", "-", "=", "x" * 200, ".x", "\r", "NA", "nan", "É", "É"))
            files[f"{folder}/{new}"] = data
            return replace(case, files=files)
        return case


FORMATS = [
    Format("jsonl", _make_jsonl, changed_json_lines),
    Format("text", _make_text_table, changed_lines),
    _Folder("folder", _make_folder, changed_lines),
]
