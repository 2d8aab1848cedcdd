"""Numbers, names and nouns as parts of sentences."""

from __future__ import annotations

import numpy as np

# Characters of a class name in a sentence.
MAX_NAME_IN_SENTENCE = 60
# Smaller probabilities are not told apart.
LEAST_PROBABILITY = 1e-300


def class_in_sentence(name: str) -> str:
    """Return a class name as part of a sentence: numbers and single letters get the word "class" before them.

    Examples
    --------
    >>> class_in_sentence("Mainz"), class_in_sentence("3")
    ('Mainz', 'class 3')
    """
    short = shorten(name, MAX_NAME_IN_SENTENCE, at_end=False)
    return f"class {short}" if name[:1].isdigit() or len(name) == 1 else short


def percent(share: float) -> str:
    """Return a share in percent, with two significant digits.

    Examples
    --------
    >>> percent(0.3141), percent(0.03141), percent(0.0003), percent(0), percent(1)
    ('31 %', '3.1 %', '0.03 %', '0 %', '100 %')
    """
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"


def significant(value: float, digits: int = 4) -> float | None:
    """Return a number rounded to significant digits; None, which JSON can hold, if it is not finite.

    Examples
    --------
    >>> significant(1234.567), significant(float("nan"))
    (1235.0, None)
    """
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def shorten(text: str, max_length: int, *, at_end: bool = True) -> str:
    """Return text that is at most so long; an ellipsis marks what was cut, at the end or in the middle.

    Examples
    --------
    >>> shorten("wholemeal", 6), shorten("Department 07", 9, at_end=False)
    ('whole…', 'Depa…t 07')
    """
    if len(text) <= max_length:
        return text
    if at_end:
        return text[: max_length - 1] + "…"
    half = (max_length - 1) // 2
    return f"{text[: max_length - 1 - half]}…{text[len(text) - half :]}"


def be(count: int) -> str:
    """Return the verb for so many things.

    Examples
    --------
    >>> be(1), be(2)
    ('is', 'are')
    """
    return "is" if count == 1 else "are"


def listed(names: list[str]) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["milk"]), listed(["milk", "bread"]), listed(["milk", "bread", "tea"])
    ('milk', 'milk and bread', 'milk, bread and tea')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def probability(value: float) -> str:
    """Return a small probability as text.

    Examples
    --------
    >>> probability(0.0312), probability(3e-9), probability(0.0)
    ('0.031', '3e-09', '< 1e-300')
    """
    if value < LEAST_PROBABILITY:
        return f"< {LEAST_PROBABILITY:g}"
    return f"{value:.1e}".replace(".0e", "e") if value < 1e-3 else f"{value:.2g}"


def q_text(value: float | None) -> str:
    """Return a q-value as part of a sentence.

    Examples
    --------
    >>> q_text(0.017), q_text(0.0)
    ('q = 0.017', 'q < 1e-300')
    """
    text = probability(value or 0.0)
    return f"q {text}" if text.startswith("<") else f"q = {text}"
