"""When a pattern is the typical row; on its own, as it is read where nothing is compiled."""

from __future__ import annotations

# Share of all rows that must use it.
TYPICAL_SHARE = 0.5
