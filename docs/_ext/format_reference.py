"""The directive ``formats``: a table of all file formats, with suffixes and options, from the readers themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from saltmine.io.registry import _BY_SUFFIX, format_of, formats

# Options that nearly every format has are told in the text of the page.
COMMON = {"target", "labels", "group", "drop_unlabelled"}


class Formats(SphinxDirective):
    """Write a table with a line per format."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = ["| format | suffixes | further options |", "|---|---|---|"]
        for name, title in formats().items():
            suffixes = ", ".join(f"`{suffix}`" for suffix, known in _BY_SUFFIX.items() if known == name)
            options = sorted(format_of(Path(), name, text=False).options - COMMON)
            lines.append(f"| `{name}`: {title} | {suffixes} | {', '.join(f'`{option}`' for option in options)} |")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("formats", Formats)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
