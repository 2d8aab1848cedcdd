"""Settings of the documentation site: ``make docs`` builds it, without a network."""

from __future__ import annotations

import inspect
import sys
import warnings
from pathlib import Path
from typing import Any

from saltmine.version import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "saltmine"
author = "The saltmine developers"
project_copyright = "The saltmine developers, BSD 3-clause license"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    # Of this folder: formulas without scripts, and pages made from the command line and the readers.
    "mathml",
    "command_reference",
    "format_reference",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_build",
    "_templates",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
    "tutorials",  # scripts, whose pages are in gallery/
]
nitpicky = True
# Attributes of fitted models have no entries of their own.
nitpick_ignore_regex = [("py:obj", r"\w+_")]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block"]
myst_heading_anchors = 3

# ---------------------------------------------------------------------- the Python reference

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "autolink"
toc_object_entries_show_parents = "hide"
templates_path = ["_templates"]


def skip_member(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents, and fitted attributes, which the docstring of the class lists."""
    if isinstance(member, property) and name.endswith("_"):
        return True
    module = inspect.getmodule(inspect.unwrap(member)) if callable(member) else None
    return skip or (module is not None and not module.__name__.startswith("saltmine"))


def setup(app: Any) -> None:
    """Add what is special to this site."""
    app.connect("autodoc-skip-member", skip_member)


# ---------------------------------------------------------------------- the tutorials, run at every build

# Figures are drawn without a screen; a figure that cannot be shown is no news.
warnings.filterwarnings("ignore", message=".*non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\w+\.py$",
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "doc_module": ("saltmine",),
    "backreferences_dir": "reference/used_in",
    "capture_repr": ("_repr_html_",),
    "inspect_global_variables": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
}

# ---------------------------------------------------------------------- the look

html_theme = "pydata_sphinx_theme"
html_title = "saltmine"
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["saltmine.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "saltmine"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
