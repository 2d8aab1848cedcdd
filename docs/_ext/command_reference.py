"""The directive ``commands``: every command of the command line, with arguments and options, from click itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from saltmine.cli.main import cli


class Commands(SphinxDirective):
    """Write a section per command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        context = click.Context(cli, info_name="saltmine", **cli.context_settings)
        lines = list(_section(cli, context))
        for name in cli.list_commands(context):
            command = cli.get_command(context, name)
            assert command is not None
            lines += _section(command, click.Context(command, info_name=name, parent=context))
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    """Give the lines of a section in Markdown: what the command does, its usage, and its options."""
    yield f"## {context.command_path}"
    yield ""
    yield from _help(command.help or "")
    yield "```text"
    yield command.get_usage(context)
    yield "```"
    yield ""
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            name, text = record
            yield f"`{name}`"
            yield f": {_escape(text)}"
            yield ""


def _help(text: str) -> Iterator[str]:
    r"""Give the paragraphs of a help text; those after ``\b`` keep their lines."""
    for paragraph in cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            lead, *lines = paragraph.splitlines()[1:]
            code = [line for line in lines if line.startswith("  ")]
            yield from (lead, "", "```sh", *(line.strip() for line in code), "```", "")
            yield from (_escape(line) for line in lines if line not in code)
        else:
            yield _escape(" ".join(paragraph.split()))
        yield ""


def _escape(text: str) -> str:
    """Keep Markdown from reading marks of a help text."""
    return re.sub(r"([*_<>\[\]`|])", r"\\\1", text)


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
