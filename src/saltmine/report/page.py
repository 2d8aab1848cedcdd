"""One HTML file out of the data and the assets."""

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
from saltmine.fitted.summary import outline
from saltmine.report.payload import payload

STYLES = ("base.css", "map.css", "cards.css", "pictures.css", "small.css")
# Each file uses what those before it define.
SCRIPTS = (
    "dom.js",
    "roles.js",
    "overview.js",
    "pictures.js",
    "cloud.js",
    "items.js",
    "cards.js",
    "toolbar.js",
    "usage.js",
    "downloads.js",
    "main.js",
)


def write_report(model: Any, path: str | PathLike[str], title: str | None = None) -> None:
    """Write the report of a fitted model as one HTML file; an existing file is replaced as a whole.

    Examples
    --------
    >>> from saltmine import CSalt
    >>> from saltmine.datasets import make_planted
    >>> planted = make_planted(120, [100, 100], rank=3, noise=0.02, random_state=0)
    >>> model = CSalt(random_state=0).fit(planted.X, planted.y)
    >>> write_report(model, "report.html", title="Planted patterns")  # doctest: +SKIP
    """
    with atomic_write(path) as aside:
        # Half a surrogate pair, which a broken name may hold, is no character.
        aside.write_text(render(model, title), encoding="utf-8", errors="replace", newline="\n")


def render(model: Any, title: str | None = None) -> str:
    """Return the report of a fitted model as the text of an HTML page.

    Parameters
    ----------
    model : CSalt, Primp or another estimator of saltmine, fitted
    title : str, optional
        Heading of the page; by default the title or source in ``model.about_``.
    """
    data = payload(model, title)
    css = "".join(_asset(name) for name in STYLES)
    script = "".join(_asset(name) for name in SCRIPTS)
    fields = {
        "policy": _policy(css, script),
        "version": escape(data["version"]),
        "date": data["date"],
        "title": escape(data["title"]),
        "answer": escape(data["answer"]),
        "facts": escape(" · ".join(data["facts"])),
        "method": escape(data["method"]),
        "source": escape(data["method_source"]),
        **{name: escape(text) for name, text in _meanings(data["tested"], data["exact"]).items()},
        "outline": _outline(data),
        "css": css,
        "data": as_json(data),
        "script": script,
    }
    # In one go, so that braces in a name or title stay what they are.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], _asset("report.html"))


def _meanings(tested: bool, exact: bool) -> dict[str, str]:
    """Say what words mean, by whether the method tests what it finds against chance, and covers ones only."""
    whole = "It has all items of it." if exact else "Not every item of it has to be there."
    if tested:
        return {
            "pattern_is": "Items (columns) that occur together in the same rows more often than chance explains.",
            "use_is": f"The description of the row is shortest with the pattern in it. {whole}",
            "only_is": "No other class shows significant use of the pattern.",
            "limits": " Small patterns in noisy data may be left out.",
        }
    return {
        "pattern_is": "Items (columns) that this method describes rows by. It does not test whether chance explains "
        "that they occur together: the evidence says so, and may be next to nothing.",
        "use_is": f"The method describes the row by the pattern. {whole}",
        "only_is": "The method describes no row of another class by the pattern.",
        "limits": "",
    }


def as_json(data: Any) -> str:
    r"""Write data as JSON in which nothing can end the script element around it.

    Examples
    --------
    >>> print(as_json(["</script>"]))
    ["\u003c/script\u003e"]
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _asset(name: str) -> str:
    return (files("saltmine.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(css: str, script: str) -> str:
    """Allow the page its own style and script and nothing else, in particular no network."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _outline(data: dict[str, Any]) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in outline(data))
    return f'<ul class="outline">{lines}</ul>'
