"""A fitted model as HTML: one file, and a table in a notebook. Names come from data, so all of them are escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from os import PathLike
from typing import Any

from saltmine.atomic import atomic_write
from saltmine.colours import SHARED, class_colours
from saltmine.fitted.model import FittedModel
from saltmine.fitted.summary import Summary, class_in_sentence
from saltmine.report.payload import payload

STYLES = ("base", "map", "cards", "pictures", "small")
# Each script uses what those before it define.
SCRIPTS = ("dom", "roles", "overview", "pictures", "cloud", "items", "cards", "toolbar", "usage", "downloads", "main")
# Patterns, and items of each of their parts, in the list for readers without scripts.
OUTLINE_PATTERNS, OUTLINE_ITEMS = 20, 8
# The same in a notebook.
NOTEBOOK_PATTERNS, NOTEBOOK_ITEMS = 10, 6


def write_report(model: FittedModel | Summary, path: str | PathLike[str], title: str | None = None) -> None:
    """Write the report of a fitted model as one HTML file; an existing file is replaced as a whole.

    Parameters
    ----------
    model : CSalt, Primp or another estimator of saltmine, fitted; or its `Summary`
    path : str or path
    title : str, optional
        Heading of the page; by default the title or source in ``model.about_``.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = CSalt(random_state=0).fit(planted.X, planted.y)
    >>> write_report(model, "report.html", title="Planted patterns")  # doctest: +SKIP
    """
    with atomic_write(path) as aside:
        # A broken name may hold half a surrogate pair, which UTF-8 cannot encode.
        aside.write_text(render(model, title), encoding="utf-8", errors="replace", newline="\n")


def render(model: FittedModel | Summary, title: str | None = None) -> str:
    """Return the report of a fitted model as the text of an HTML page; see `write_report`."""
    summary = model if isinstance(model, Summary) else Summary(model)
    data = payload(summary, title)
    css = "".join(_asset(f"{name}.css") for name in STYLES)
    script = "".join(_asset(f"{name}.js") for name in SCRIPTS)
    lines = "".join(f"<li>{escape(line)}</li>" for line in outline(summary))
    fields = {
        "policy": _policy(css, script),
        **{name: escape(data[name]) for name in ("version", "date", "title", "answer", "method")},
        "facts": escape(" · ".join(data["facts"])),
        "source": escape(data["method_source"]),
        **{name: escape(text) for name, text in _meanings(data["tested"], data["exact"], len(data["classes"])).items()},
        "outline": f'<ul class="outline">{lines}</ul>',
        "css": css,
        "data": as_json(data),
        "script": script,
    }
    # One pass, so that braces in a name or title stay as they are.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], _asset("report.html"))


def _meanings(tested: bool, exact: bool, n_classes: int) -> dict[str, str]:
    """Return the glossary, which depends on whether the method tests patterns against chance and covers ones only."""
    or_else = ", or that classes use differently" if n_classes > 1 else ""
    whole = "It has all items of it." if exact else "Not every item of it has to be there."
    if tested:
        return {
            "pattern_is": "Items (columns) that occur together in the same rows more often than the sizes of rows and "
            f"the frequencies of items explain{or_else}.",
            "use_is": f"The description of the row is shortest with the pattern in it. {whole}",
            "added_is": "What is not shown is not in the model.",
            "limits": " Small patterns in noisy data may be left out.",
        }
    return {
        "pattern_is": "Items (columns) that this method describes rows by. It does not test whether chance explains "
        "that they occur together: the evidence says so, and may be next to nothing.",
        "use_is": f"The method describes the row by the pattern. {whole}",
        "added_is": "This method does not ask whether that can be shown, so look at the q-value.",
        "limits": "",
    }


def as_json(data: Any) -> str:
    r"""Return data as JSON that cannot end the script element around it.

    Examples
    --------
    >>> print(as_json(["</script>"]))
    ["\u003c/script\u003e"]
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


def _asset(name: str) -> str:
    return (files("saltmine.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(css: str, script: str) -> str:
    """Return a security policy that allows the page's own style and script and nothing else."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script)]
    own = f"style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    return f"default-src 'none'; {own}; img-src data: blob:; base-uri 'none'; form-action 'none'"


def outline(summary: Summary) -> list[str]:
    """Return a line of text for each of the first patterns, for readers without scripts."""
    lines = []
    for pattern in summary.patterns[:OUTLINE_PATTERNS]:
        users = zip(pattern.usage, summary.classes, strict=True)
        used = ", ".join(f"{n:,} of {entry.rows:,} {class_in_sentence(entry.name)}" for n, entry in users if n)
        parts = "; ".join(text for _, text in summary.describe(pattern, OUTLINE_ITEMS))
        lines.append(f"Pattern {pattern.number} ({used}): {parts}")
    rest = len(summary.patterns) - len(lines)
    return [*lines, f"and {rest:,} more pattern{'s' if rest > 1 else ''}"] if rest else lines


def model_html(model: FittedModel) -> str:
    """Return what a fitted model found as HTML: the answer and the largest patterns."""
    summary = Summary(model)
    # Role -1, what is shared, is last.
    colours = [*class_colours(len(summary.classes)), SHARED]
    lead = f"<p><b>{escape(type(model).__name__)}</b>: {escape(summary.answer)}</p>"
    if not summary.patterns:
        return f"<div>{lead}</div>"
    head = "".join(_cell("th", escape(name)) for name in ("#", "items", *(entry.name for entry in summary.classes)))
    body = ""
    for pattern in summary.patterns[:NOTEBOOK_PATTERNS]:
        parts = [
            f'<span style="border-left:4px solid {colours[role]};padding-left:4px">{escape(text)}</span>'
            for role, text in summary.describe(pattern, NOTEBOOK_ITEMS)
        ]
        cells = [str(pattern.number), "<br>".join(parts), *(f"{count:,}" for count in pattern.usage)]
        body += f"<tr>{''.join(_cell('td', cell) for cell in cells)}</tr>"
    more = len(summary.patterns) - NOTEBOOK_PATTERNS
    rest = f"<p>{more} more patterns: model.patterns(), model.report('report.html').</p>" if more > 0 else ""
    return f"<div>{lead}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"


def _cell(tag: str, html: str) -> str:
    return f'<{tag} style="text-align:left;vertical-align:top">{html}</{tag}>'
