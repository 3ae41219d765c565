"""Settings of Sphinx for the site: `make docs` gathers the pages and builds it."""

import smpy

project = "smpy"
author = "The smpy developers"
release = smpy.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_click"]
default_role = "code"
highlight_language = "none"
smartquotes = False  # options begin with two hyphens
myst_heading_anchors = 4  # links name a git host's anchors
autodoc_typehints = "none"  # sections of docstrings have the types
numpydoc_show_class_members = False  # autodoc shows them

html_theme = "furo"
html_title = f"smpy {release}"
html_copy_source = False
