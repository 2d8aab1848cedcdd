"""The commands and code in README and docs, and what they print.

python -m tests.helpers.documents    # puts what they print now into the documents, as after a change of the search
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from click.testing import CliRunner

from saltmine.cli.main import cli
from tests.helpers.paths import ROOT

DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/*/*.md")))
}
#: Pages of the documentation site.
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.glob("docs/*/*.md"))}
TEXTS = DOCUMENTS | PAGES
#: Documents whose commands, and whose code, print what is shown.
GUIDE = tuple(f"docs/guide/{name}.md" for name in ("patterns", "results", "how_sure", "data", "new_data", "compare"))
COMMANDS = CODE = ("README.md", "docs/start/five_minutes.md", *GUIDE)


def fences(document: str) -> Iterator[tuple[str, str, str]]:
    """Give language, content and expected output (the `text` block right after it) of every fenced block."""
    found = re.findall(r"```(\w+)\n(.*?)```\n(?:\n```text\n(.*?)```)?", TEXTS[document], flags=re.DOTALL)
    yield from (block for block in found if block[0] != "text")


def commands(document: str) -> list[tuple[str, str]]:
    """Return the saltmine commands of a document, each with the output shown."""
    blocks = [(content.splitlines(), shown) for language, content, shown in fences(document) if language == "sh"]
    return [(line, shown) for lines, shown in blocks for line in lines if line.startswith("saltmine ")]


def code(document: str) -> list[tuple[str, str]]:
    """Return the Python blocks of a document, each with the output shown."""
    return [(content, shown) for language, content, shown in fences(document) if language == "python"]


@contextlib.contextmanager
def folder_of_documents() -> Iterator[Path]:
    """Go to a folder that has what the documents need of this one."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        shutil.copytree(ROOT / "examples", Path(name) / "examples")
        yield Path(name)


def run_command(line: str) -> str:
    """Run a command as a shell would, and return what it prints."""
    command, _, target = line.partition(" > ")
    result = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    if target:
        Path(target).write_text(result.stdout)
    return result.stdout


def run_code(document: str) -> list[str]:
    """Run the Python blocks of a document one after another, and return what each prints."""
    mpl.use("Agg")
    names: dict[str, object] = {}
    outputs = []
    for content, _ in code(document):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(content, document, "exec"), names)
        outputs.append(printed.getvalue())
    return outputs


def shows(output: str, shown: str) -> bool:
    """Say whether a document shows what a command printed; lines of three dots stand for what is left out."""
    printed, begin = f" {' '.join(output.split())} ", 0
    parts = [" ".join(part.split()) for part in _parts(shown)]
    if not printed.startswith(f" {parts[0]} ") or not printed.endswith(f" {parts[-1]} "):
        return False
    for part in parts:
        begin = printed.find(f" {part} ", begin)
        if begin < 0:
            return False
        begin += len(part)
    return True


def _parts(shown: str) -> list[str]:
    return re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)


def show(output: str, shown: str) -> str:
    """Return what a document has to show of an output, if it leaves out what it left out before.

    Parts between lines of dots begin with the paragraph of the same first word and have as many paragraphs; a numbered
    list at the end of a part has as many entries.
    """
    paragraphs = re.split(r"\n{2,}", "\n".join(line.rstrip() for line in output.splitlines()).strip("\n"))
    parts, now = [], 0
    for number, part in enumerate(_parts(shown)):
        before = part.strip("\n").split("\n\n")
        if number:
            now = next(k for k in range(now, len(paragraphs)) if paragraphs[k].split()[:1] == before[0].split()[:1])
        taken = paragraphs[now:] if "..." not in shown else paragraphs[now : now + len(before)]
        now += len(taken) - 1
        if "..." in shown and before[-1].startswith("1. "):
            entries = re.split(r"\n(?=\d+\. )", taken[-1])
            taken[-1] = "\n".join(entries[: len(re.findall(r"^\d+\. ", before[-1], flags=re.MULTILINE))])
        space = re.fullmatch(r"(\n*).*?(\n*)", part, flags=re.DOTALL)
        assert space is not None
        parts.append(space[1] + "\n\n".join(taken) + space[2])
    return "...".join(parts)


def update() -> None:
    """Put what commands and code print into the documents."""
    for document in dict.fromkeys((*COMMANDS, *CODE)):
        with folder_of_documents():
            printed = [(run_command(line), shown) for line, shown in commands(document) if document in COMMANDS]
            if document in CODE:
                printed += zip(run_code(document), (shown for _, shown in code(document)), strict=True)
        text = TEXTS[document]
        for output, shown in printed:
            if shown and not shows(output, shown):
                text = text.replace(f"```text\n{shown}```", f"```text\n{show(output, shown)}```")
        if text != TEXTS[document]:
            (ROOT / document).write_text(text)
            print(f"{document} has changed", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "120")
    update()
