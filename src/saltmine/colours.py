"""Colours of plots and reports, safe for colour-blind readers: pink for shared items, then one colour per class."""

from __future__ import annotations

import colorsys

SHARED = "#d95f9f"
# The paper's blue and green for two classes; the rest differ from them in hue and lightness.
_CLASSES = ("#1f6fb4", "#3a9b4b", "#d9790f", "#7b4fb0", "#0d9aa6", "#a8891a", "#b23a3a", "#5b6b7a")


def class_colours(n_classes: int) -> list[str]:
    """Return a colour per class; beyond eight, hues are spread evenly at alternating lightness.

    Examples
    --------
    >>> class_colours(2)
    ['#1f6fb4', '#3a9b4b']
    >>> len(set(class_colours(40)))
    40
    """
    if n_classes <= len(_CLASSES):
        return list(_CLASSES[:n_classes])
    colours = [colorsys.hls_to_rgb(k / n_classes, (0.34, 0.5, 0.42)[k % 3], 0.55) for k in range(n_classes)]
    return ["#" + "".join(f"{round(255 * part):02x}" for part in colour) for colour in colours]
