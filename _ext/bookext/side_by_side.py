"""The pages run side by side, each in a kernel of its own, before Sphinx reads the first.

MyST-NB would run a page when it reads it, one after another. Here all that are to be read run at
once, as many as there are cores, and MyST-NB is given what came of each.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
import psutil
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core import execute
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)
finished = {}  # of each page: what came of it


class Finished(execute.NotebookClientDirect):
    """Stands in for what would run a page now."""

    def start_client(self):
        ran = finished.pop(self.path)
        for cell, done in zip(self.notebook.cells, ran.nb.cells, strict=True):
            if cell.cell_type == "code":
                cell.update(outputs=done.outputs, execution_count=done.execution_count)
        self.notebook.metadata.update(ran.nb.metadata)
        self.exec_metadata = {
            "mtime": time.time(),
            "runtime": ran.time,
            "method": "force",
            "succeeded": True,
            "error": None,
            "traceback": None,
        }


def run_pages(app, env, docnames):
    """Run the notebooks among the pages to be read.

    Raises
    ------
    ExtensionError
        When cells of a page, or of several, failed; all pages have run then.
    """
    config = env.mystnb_config
    paths = [Path(env.doc2path(name)) for name in docnames]
    pages = [path for path in paths if path.suffix == ".ipynb"]
    if config.execution_mode != "force":
        return
    failed = []
    for path, run in executed(pages, config):
        if trouble := run.exception() or run.result().err:
            failed.append(path.stem)
            logger.error("%s: %s", type(trouble).__name__, trouble, location=str(path))
        else:
            finished[path] = run.result()
            logger.info("ran %s in %.0f s", path.stem, finished[path].time)
    if failed:
        raise ExtensionError(f"cells failed on {', '.join(failed)}")


def executed(pages, config):
    """Yield each page with its finished future, in the order of ending; large pages begin."""
    # Threads, because processes that look for free ports for their kernels may find the same.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {}
        for path in sorted(pages, key=lambda path: -path.stat().st_size):
            run = pool.submit(
                single_nb_execution,
                nbformat.read(path, nbformat.NO_CONVERT),
                cwd=str(path.parent),
                timeout=config.execution_timeout,
                allow_errors=config.execution_allow_errors,
            )
            runs[run] = path
        try:
            for run in as_completed(runs):
                yield runs[run], run
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for kernel in psutil.Process().children():
                kernel.terminate()
            raise


def setup(app):
    execute.NotebookClientDirect = Finished
    app.connect("env-before-read-docs", run_pages)
