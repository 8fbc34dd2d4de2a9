"""tools/site/conf.py - the pages of the repository as a site, by Sphinx, Furo and MyST of Debian.

    tools/install-dependencies --site
    sphinx-build -W --keep-going -c tools/site . build/site

The pages stay as they are: links between them are relative, as GitHub reads them. What a site needs beside is added while they
are read: a table of contents, of which Sphinx says where it lacks a page. A link to a page or heading that is not there is an
error. The site loads nothing from elsewhere.
"""

import pathlib
import re
import shutil

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.util.nodes import make_refnode

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(unweave VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)

project = "Unweave"
author = "The Unweave authors"
copyright = "2026 The Unweave authors"  # noqa: A001, as Sphinx names it
version = release = VERSION
extensions = ["myst_parser"]
root_doc = "README"
exclude_patterns = ["build", "demo", ".*", "**/.*"]
myst_heading_anchors = 6
html_theme = "furo"
html_title = f"Unweave {VERSION}"
html_copy_source = False
html_show_sphinx = False
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # consoles show more than what the lexer of shells knows

# Sections of the table of contents: a title, and pages or patterns of pages.
CONTENTS = [
    ("Guide", ["tools/guide/README", "tools/guide/tutorial", "tools/guide/how-to/*"]),
    ("Reference", ["tools/guide/reference/*", "tools/guide/solvers/README", "tools/guide/solvers/*"]),
    ("Explanation", ["tools/guide/explanation/*", "algorithms/propagation/PROPAGATION", "algorithms/privacy/THEOREMS",
                     "engine/ORDERS"]),
    ("Figures", ["tools/guide/results/README", "tools/guide/results/*"]),
    ("Libraries and files", ["algorithms/api/README", "tools/python/README", "storage/FORMAT"]),
    ("Project", ["CHANGELOG", "SECURITY", "CONTRIBUTING", "GLOSSARY", "storage/README", "engine/README",
                 "algorithms/README", "algorithms/propagation/README", "algorithms/rows/README", "algorithms/solvers/README",
                 "algorithms/learning/heads/README", "tests/data/*/README"]),
]


def with_contents(app, docname, source):
    if docname != root_doc:
        return
    for title, pages in CONTENTS:
        lines = "\n".join("/" + page for page in pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {title}\n\n{lines}\n```\n"


def folder_link(app, env, node, contnode):
    """A link to a folder of the repository leads to the page that describes it, or to nothing where there is none."""
    folder = (ROOT / node["refdoc"]).parent / node["reftarget"]
    if not folder.is_dir():
        return None
    name = (folder.resolve() / "README").relative_to(ROOT).as_posix()
    if name in env.all_docs:
        return make_refnode(app.builder, node["refdoc"], name, "", contnode)
    return nodes.inline("", "", contnode)


def with_index(app, exception):
    """The first page is also the one that a server shows of the folder."""
    if exception is None and app.builder.format == "html":
        shutil.copyfile(pathlib.Path(app.outdir) / f"{root_doc}.html", pathlib.Path(app.outdir) / "index.html")


def setup(app):
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", with_contents)
    app.connect("missing-reference", folder_link)
    app.connect("build-finished", with_index)
