"""The pages run side by side, each in a kernel of its own, before Sphinx reads the first.

MyST-NB would run a page when it reads it, one after another. Here all that are to be read run at
once, as many as there are cores, into a cache that each build begins anew; MyST-NB reads that.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
import psutil
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)


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
    if config.execution_mode != "force" or not pages:
        return
    folder = Path(app.outdir).parent / ".jupyter_cache"
    shutil.rmtree(folder, ignore_errors=True)
    cache, failed = get_cache(folder), []
    for path, run in executed(pages, config):
        if trouble := run.exception() or run.result().err:
            failed.append(path.stem)
            logger.error("%s: %s", type(trouble).__name__, trouble, location=str(path))
            continue
        ran = run.result()
        logger.info("ran %s in %.0f s", path.stem, ran.time)
        bundle = CacheBundleIn(ran.nb, str(path), data={"execution_seconds": ran.time})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if failed:
        raise ExtensionError(f"cells failed on {', '.join(failed)}")
    env.mystnb_config = config.copy(execution_mode="cache", execution_cache_path=str(folder))


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
    app.connect("env-before-read-docs", run_pages)
