"""Sphinx configuration. The build needs no network: no intersphinx, no MathJax."""

import sys
import warnings
from pathlib import Path

import skcal

here = Path(__file__).parent
sys.path.insert(0, str(here / "_ext"))

project = "skcal"
author = "the skcal developers"
copyright = "2026, the skcal developers"
version = release = skcal.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb"]
templates_path = ["_templates"]
default_role = "literal"

autosummary_generate = True
autodoc_member_order = "bysource"
# Added to every estimator by scikit-learn, whose docstrings refer to its own guide.
autodoc_default_options = {
    "exclude-members": ", ".join(
        f"set_{method}_request"
        for method in ("fit", "predict_proba", "predict", "score", "transform")
    )
}
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
}
# A warning in an example is as much an error as one in a test.
warnings.simplefilter("error", FutureWarning)

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["skcal.css"]
html_title = f"skcal {version}"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"benchmarks": [], "changelog": [], "features": []}
