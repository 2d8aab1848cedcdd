"""A fitted model as HTML: one file, and a table in a notebook. Names come from data, so all of them are escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from saltmine.atomic import atomic_write
from saltmine.colours import SHARED, class_colours
from saltmine.fitted.differences import MAX_Q
from saltmine.fitted.model import FittedModel
from saltmine.fitted.parts import PatternSummary
from saltmine.fitted.summary import Summary
from saltmine.fitted.wording import class_in_sentence, percent, probability
from saltmine.nouns import counted
from saltmine.report.payload import payload

if TYPE_CHECKING:
    import pandas as pd

STYLES = ("base", "parts", "figures", "map", "cards", "items", "pictures", "usage", "phone", "print")
# Each script uses what those before it define.
SCRIPTS = (
    *("dom", "roles", "legends", "svgfile", "figures", "overview", "map", "pictures", "cloud", "items", "rows"),
    *("cards", "toolbar", "usage", "downloads", "main"),
)
# Patterns, and items of each of their parts, in the list for readers without scripts.
OUTLINE_PATTERNS, OUTLINE_ITEMS, OUTLINE_CLASSES = 20, 8, 8
# The same in a notebook; with more classes there is one column for all of them.
NOTEBOOK_PATTERNS, NOTEBOOK_ITEMS, NOTEBOOK_CLASSES = 10, 6, 8
# Single items that differ between classes.
SHOWN_DIFFERENCES = 20


def write_report(
    model: FittedModel | Summary,
    path: str | PathLike[str],
    title: str | None = None,
    max_patterns: int | None = None,
) -> None:
    """Write the report of a fitted model as one HTML file; an existing file is replaced as a whole.

    Parameters
    ----------
    model : CSalt, Primp or another estimator of saltmine, fitted; or its `Summary`
    path : str or path
    title : str, optional
        Heading of the page; by default the title or source in ``model.about_``.
    max_patterns : int, optional
        Most patterns in the page, the first of the model; by default all. The page says how many were left out.

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
        aside.write_text(render(model, title, max_patterns), encoding="utf-8", errors="replace", newline="\n")


def render(model: FittedModel | Summary, title: str | None = None, max_patterns: int | None = None) -> str:
    """Return the report of a fitted model as the text of an HTML page; see `write_report`."""
    if max_patterns is not None and max_patterns < 1:
        raise ValueError(f"max_patterns has to be at least 1 or None, not {max_patterns}.")
    summary = model if isinstance(model, Summary) else Summary(model)
    data = payload(summary, title, max_patterns)
    css = "".join(_asset(f"{name}.css") for name in STYLES)
    script = "".join(_asset(f"{name}.js") for name in SCRIPTS)
    lines = "".join(f"<li>{escape(line)}</li>" for line in outline(summary))
    fields = {
        "policy": _policy(css, script),
        **{name: escape(data[name]) for name in ("version", "date", "title", "answer", "method")},
        "facts": escape(" · ".join(data["facts"])),
        "source": escape(data["method_source"]),
        **{name: escape(text) for name, text in _counted(summary).items()},
        **{name: escape(text) for name, text in _meanings(data["tested"], data["exact"], len(data["classes"])).items()},
        "findings": findings_html(summary, {pattern["number"] for pattern in data["patterns"]}),
        "outline": f'<ul class="outline">{lines}</ul>',
        "differences": differences_html(summary),
        "css": css,
        "data": as_json(data),
        "script": script,
    }
    # One pass, so that braces in a name or title stay as they are.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], _asset("report.html"))


def _counted(summary: Summary) -> dict[str, str]:
    """Return what the glossary says about what the tests count: rows, or groups of rows."""
    if summary.model.groups_ is None:
        return {"independent": "take rows as independent", "evidence_counts": "", "items_count": ""}
    noun = summary.model.group_name_
    groups = "groups" if noun == "group" else f"groups ({noun})"
    return {
        "independent": f"count {groups}, not rows; a {noun} with rows of several classes is compared with itself",
        "evidence_counts": f" It counts {groups}, not rows.",
        "items_count": f" The test counts {groups}; shares, odds ratio and interval count rows.",
    }


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
        used = ", ".join(_users(summary, pattern, OUTLINE_CLASSES))
        parts = "; ".join(text for _, text in summary.describe(pattern, OUTLINE_ITEMS))
        lines.append(f"Pattern {pattern.number} ({used}): {parts}")
    rest = len(summary.patterns) - len(lines)
    return [*lines, f"and {rest:,} more {'pattern' if rest == 1 else 'patterns'}"] if rest else lines


def _users(summary: Summary, pattern: PatternSummary, max_classes: int) -> list[str]:
    """Return which classes use a pattern, as texts; of many classes, those with the largest shares."""
    users = [(n, entry) for n, entry in zip(pattern.usage, summary.classes, strict=True) if n]
    if len(users) > max_classes:
        users.sort(key=lambda user: -user[0] / user[1].rows)
    texts = [f"{n:,} of {entry.rows:,} {class_in_sentence(entry.name)}" for n, entry in users[:max_classes]]
    rest = len(users) - len(texts)
    return [*texts, f"{rest} more {'class' if rest == 1 else 'classes'}"] if rest else texts


def findings_html(summary: Summary, shown: set[int]) -> str:
    """Return the findings as a list with links to the patterns that the page shows; nothing if there are none."""
    lines = ""
    for finding in summary.findings:
        link = f' <a href="#pattern-{finding.pattern}">Pattern {finding.pattern}</a>'
        linked = link if finding.pattern in shown else ""
        lines += f"<li>{_unbroken(escape(finding.text))}{linked}</li>"
    return f'<ol class="findings">{lines}</ol>' if lines else ""


def _unbroken(text: str) -> str:
    r"""Return text in which numbers stay on the line of what belongs to them.

    Examples
    --------
    >>> _unbroken("19 % (q = 0.003)")
    '19\xa0% (q\xa0=\xa00.003)'
    """
    return text.replace(" % ", "\u00a0% ").replace(" %)", "\u00a0%)").replace("(q = ", "(q\u00a0=\u00a0")


def differences_html(summary: Summary) -> str:
    """Return the section of single items that classes differ in; nothing where there is one class."""
    if len(summary.classes) < 2:
        return ""
    told = summary.told_differences
    count, confirmed = summary.confirmed_differences["item"].nunique(), int((told["q_value"] <= MAX_Q).sum())
    first = told.head(SHOWN_DIFFERENCES)
    if count:
        differ = "differs" if count == 1 else "differ"
        several = f", with {summary.confirmed_text}" if len(summary.classes) > 2 else ""
        lead = f"{counted(count, 'item')} {differ} between the classes{several} (q at most {MAX_Q})."
        lead += f" {_where_all_are(len(first))}" if confirmed > len(first) else ""
    else:
        lead = f"No single item is shown to differ between the classes (q at most {MAX_Q})."
    lead += " One item at a time, whether or not it belongs to a pattern; each class against all other rows."
    lead += f" q corrects for all {summary.model.n_features_in_:,} items; the intervals do not."
    if len(first) > confirmed:
        lead += " Grey lines are not confirmed: chance may explain them."
    table = _difference_rows(summary, first) if len(first) else ""
    title = '<h2 id="items-title">Single items that differ</h2>'
    section = '<section id="items" aria-labelledby="items-title">'
    return f'{section}\n  {title}\n  <p class="lead">{escape(lead)}</p>{table}\n</section>\n'


def _where_all_are(shown: int) -> str:
    """Return where differences are that the page does not show; it may stand alone, without the files of a fit."""
    where = "differences.csv, which “saltmine fit” writes, and model.differences() have all"
    return f"Here are the surest {shown}; {where}."


def _difference_rows(summary: Summary, differences: pd.DataFrame) -> str:
    """Return single items that differ as a table."""
    names = dict(zip(summary.model.classes_.tolist(), (entry.name for entry in summary.classes), strict=True))
    heads = ("item", "class", "in the class", "elsewhere", "odds ratio", "95 % interval", "q")
    body = ""
    for row in differences.to_dict("records"):
        shares = (
            f"{percent(row[f'share{where}'])} <span>({row[f'rows{where}']:,})</span>" for where in ("", "_elsewhere")
        )
        odds = _figure(row["odds_ratio"]), f"{_figure(row['odds_low'])} to {_figure(row['odds_high'])}"
        figures = zip(heads[2:], [*shares, *odds, probability(row["q_value"])], strict=True)
        cells = "".join(f'<td data-label="{label}">{text}</td>' for label, text in figures)
        item, owner = escape(str(row["item"])), escape(names[row["class"]])
        unsure = "" if row["q_value"] <= MAX_Q else ' class="unsure"'
        body += f'<tr{unsure}><th scope="row" dir="auto">{item}</th><td>{owner}</td>{cells}</tr>'
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    frame = '<div class="table-frame" tabindex="0" role="region" aria-label="Single items that differ, scrolls">'
    return f'{frame}<table class="plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(value: float) -> str:
    """Return a number with two digits, or as a whole one where it has more.

    Examples
    --------
    >>> _figure(0.0312), _figure(8.76), _figure(1234.5)
    ('0.031', '8.8', '1,234')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def model_html(model: FittedModel) -> str:
    """Return what a fitted model found as HTML: the answer and the largest patterns."""
    summary = Summary(model)
    # Role -1, what is shared, is last.
    colours = [*class_colours(len(summary.classes)), SHARED]
    found = "".join(f"<li>{escape(finding.text)}</li>" for finding in summary.findings)
    lead = f"<p><b>{escape(type(model).__name__)}</b>: {escape(summary.headline)}</p>"
    lead += f'<ol style="text-align:left">{found}</ol>' if found else ""
    if not summary.patterns:
        return f"<div>{lead}</div>"
    many = len(summary.classes) > NOTEBOOK_CLASSES
    columns = ["used by"] if many else [entry.name for entry in summary.classes]
    head = "".join(_cell("th", escape(name)) for name in ("#", "items", *columns))
    body = ""
    for pattern in summary.patterns[:NOTEBOOK_PATTERNS]:
        parts = [
            f'<span style="border-left:4px solid {colours[role]};padding-left:4px">{escape(text)}</span>'
            for role, text in summary.describe(pattern, NOTEBOOK_ITEMS)
        ]
        users = [escape(text) for text in _users(summary, pattern, NOTEBOOK_CLASSES)]
        usage = ["<br>".join(users)] if many else [f"{count:,}" for count in pattern.usage]
        cells = [str(pattern.number), "<br>".join(parts), *usage]
        body += f"<tr>{''.join(_cell('td', cell) for cell in cells)}</tr>"
    more = len(summary.patterns) - NOTEBOOK_PATTERNS
    noun = "pattern" if more == 1 else "patterns"
    rest = f"<p>{more:,} more {noun}: model.patterns(), model.report('report.html').</p>" if more > 0 else ""
    return f"<div>{lead}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"


def _cell(tag: str, html: str) -> str:
    return f'<{tag} style="text-align:left;vertical-align:top">{html}</{tag}>'
