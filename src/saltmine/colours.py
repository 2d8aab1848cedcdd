"""Colours of plots and reports, safe for colour-blind readers: pink for shared items, then one colour per class."""

from __future__ import annotations

import colorsys

SHARED = "#d95f9f"
# The paper's blue and green for two classes; the rest differ from them in hue and lightness.
_CLASSES = ("#1f6fb4", "#3a9b4b", "#d9790f", "#7b4fb0", "#0d9aa6", "#a8891a", "#b23a3a", "#5b6b7a")


# Turn of the hue between two further classes: the golden ratio keeps neighbours apart.
_TURN = 0.618034


def class_colours(n_classes: int) -> list[str]:
    """Return a colour per class; the first eight are fixed, the others differ from those before them in hue and shade.

    Examples
    --------
    >>> class_colours(2)
    ['#1f6fb4', '#3a9b4b']
    >>> len(set(class_colours(50)))
    50
    """
    more = (colorsys.hls_to_rgb(k * _TURN % 1, (0.3, 0.5, 0.4)[k % 3], (0.55, 0.4)[k % 2]) for k in range(n_classes))
    further = ["#" + "".join(f"{round(255 * part):02x}" for part in colour) for colour in more]
    return [*_CLASSES, *further][:n_classes]
