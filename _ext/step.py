"""The directive ``library-step``: a sampler's own step, printed from the library's source.

.. code-block:: md

    ```{library-step} metropolis propose
    ```

prints the step of `bayeslib.metropolis`, and below it the functions of its module that are named.
"""

import importlib
import inspect

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def algorithm(name):
    """Return the module of a public sampler, and the `Algorithm` that stands there in capitals."""
    module = importlib.import_module(getattr(importlib.import_module("bayeslib"), name).__module__)
    return module, getattr(module, name.upper())


def source(name, *parts):
    """Return the code of a sampler's step and of parts of its module."""
    module, found = algorithm(name)
    functions = [found.chain.step]
    for part in parts:
        function = getattr(module, part)
        functions.append(getattr(function, "py_func", function))
    return "\n\n".join(inspect.getsource(function).rstrip() for function in functions)


class Step(SphinxDirective):
    """See the module."""

    required_arguments, optional_arguments, final_argument_whitespace = 1, 1, True

    def run(self):
        name, *parts = " ".join(self.arguments).split()
        module, _ = algorithm(name)
        self.env.note_dependency(inspect.getsourcefile(module))
        return [nodes.literal_block("", source(name, *parts), language="python")]


def setup(app):
    app.add_directive("library-step", Step)
