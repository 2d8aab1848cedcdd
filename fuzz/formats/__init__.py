"""All formats by name: how valid files of each are made, and how they are changed."""

from __future__ import annotations

from fuzz.cases import Format
from fuzz.formats import arrays, cells, documents, models, parquet, tables, variants

_MODULES = (tables, arrays, parquet, documents, variants, cells, models)

#: Formats by name.
FORMATS: dict[str, Format] = {form.name: form for module in _MODULES for form in module.FORMATS}
