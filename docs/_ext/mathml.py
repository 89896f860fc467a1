"""Render mathematics as MathML when the site is built.

Browsers show MathML themselves, so a page needs neither a script nor the network, and
a mistake in a formula is a warning of the build.
"""

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
converter = LatexToMathML(fancy_error=False)


def to_mathml(node, displaystyle):
    latex = node.astext()
    if displaystyle and r"\\" in latex and r"\begin{" not in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    try:
        return converter.convert_with_local_state(latex, displaystyle=displaystyle)
    except LatexError as error:
        logger.warning("%s in the formula %s", error, latex, location=node)
        return ""


def visit_inline(self, node):
    self.body.append(to_mathml(node, displaystyle=False))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})</span>')
    self.body.append(to_mathml(node, displaystyle=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
