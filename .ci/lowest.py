"""Print the lowest supported version of every hard dependency, one pin a line.

pyproject.toml is the only place that states them.
"""

import re
import sys
import tomllib
from pathlib import Path

pyproject = Path(__file__).parents[1] / "pyproject.toml"
for requirement in tomllib.loads(pyproject.read_text())["project"]["dependencies"]:
    match = re.fullmatch(r"([\w.-]+)\s*>=\s*(\d[\w.]*)", requirement)
    if match is None:
        sys.exit(f"{pyproject.name}: {requirement!r} is not just 'name>=version'")
    print("{}=={}".format(*match.groups()))
