"""What LaTeX is told about the look of the book; the rest of it is in paper.sty."""

import re
from pathlib import Path

from .mathematics import MACROS

STYLE = Path(__file__).with_name("paper.sty")
MARK = "_static/logo.svg"
BOX = {"note": ("{.31,.53,.74}", "{.972,.978,.988}"), "hint": ("{.56,.56,.57}", "{.976,.976,.974}")}
SETUP = {
    "VerbatimColor": "{rgb}{.968,.968,.96}",
    "verbatimwithframe": "false",
    "verbatimhintsturnover": "false",
    "TitleColor": "{rgb}{.08,.09,.11}",
    "InnerLinkColor": "{rgb}{.1,.29,.48}",
    "OuterLinkColor": "{rgb}{.1,.29,.48}",
    "HeaderFamily": r"\rmfamily\bfseries",
}
ELEMENTS = {
    "papersize": "a4paper",
    "pointsize": "11pt",
    "extraclassoptions": "openany,oneside",
    "fontpkg": "",
    "fncychap": "",
    "geometry": r"\usepackage[body={5.9in,9.3in},headheight=14pt,centering]{geometry}",
    "fvset": r"\fvset{fontsize=\footnotesize}",
    "figure_align": "!htb",
    "preamble": r"\usepackage{paper}",
    "maketitle": r"\papertitle",
}


def boxes():
    """Return the look of boxes: a coloured rule on the left, no frame, no bar behind the title."""
    for name, (rule, ground) in BOX.items():
        look = {
            "border-width": "0pt",
            "border-left-width": "2.5pt",
            "border-TeXcolor": f"{{rgb}}{rule}",
            "border-radius": "0pt",
            "background-TeXcolor": f"{{rgb}}{ground}",
            "title-background-TeXcolor": f"{{rgb}}{ground}",
            "box-shadow": "none",
        }
        yield from (f"div.{name}_{key}={value}" for key, value in look.items())


def macros():
    """Return the book's notation as TeX."""
    lines = []
    for name, meaning in MACROS.items():
        number = max(map(int, re.findall(r"#(\d)", meaning)), default=0)
        arguments = "".join(f"#{i + 1}" for i in range(number))
        lines.append(rf"\def{name}{arguments}{{{meaning}}}")
    return "\n".join(lines) + "\n"


def prepare(app, config):
    """Set the type; it is harmless to other builders."""
    config.latex_elements = ELEMENTS | config.latex_elements
    setup = ",".join([*(f"{key}={value}" for key, value in SETUP.items()), *boxes()])
    config.latex_elements.setdefault("sphinxsetup", setup)
    address = config.html_baseurl and rf" (\url{{{config.html_baseurl}}})"
    config.latex_elements["preamble"] += f"\n\\newcommand{{\\webaddress}}{{{address}}}\n{macros()}"
    config.latex_additional_files = [str(STYLE), MARK, *config.latex_additional_files]
    config.latex_toplevel_sectioning = "chapter"
    config.latex_domain_indices = False
    config.latex_use_xindy = False
    config.latex_table_style = ["booktabs"]
    overrides = [("latex", "text/html", 5)]  # `outputs` reads it
    config.nb_mime_priority_overrides = [*config.nb_mime_priority_overrides, *overrides]
