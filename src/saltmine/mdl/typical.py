"""When a pattern is the typical row; on its own, as it is read where nothing is compiled."""

from __future__ import annotations

# Share of all rows that must use it: one of most rows, or of a large part of them.
TYPICAL_SHARE = 0.4
