"""References to `smooth_ece` and `skcal.smooth_ece` find `skcal.metrics.smooth_ece`."""

import importlib
import pkgutil
from functools import cache

import skcal


@cache
def rooms():
    """Where the API pages document each public name."""
    return {
        name: f"skcal.{room.name}.{name}"
        for room in pkgutil.iter_modules(skcal.__path__)
        if not room.name.startswith("_")
        for name in importlib.import_module(f"skcal.{room.name}").__all__
    }


def resolve(app, env, node, content):
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].removeprefix("skcal.")
    target = rooms().get(name)
    if target is None:
        return None
    return env.get_domain("py").resolve_xref(
        env, node["refdoc"], app.builder, "obj", target, node, content
    )


def setup(app):
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
