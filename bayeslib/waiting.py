"""For those who wait: blocks short enough for Ctrl-C, a bar on long runs, a word on compiling."""

import contextlib
import functools
import os
import signal
import sys
import threading
import time
import warnings
from contextvars import ContextVar

from .errors import BayeslibTypeError

BLOCK_SECONDS = 0.1
_LONG_RUN_SECONDS = 2.0


def blocks(total):
    """Yield (begin, end) of one block after the other, soon each of about a tenth of a second.

    Between two blocks Python hears an interrupt, which a kernel does not.
    """
    begin, size = 0, 1
    while begin < total:
        end = min(begin + size, total)
        began = time.perf_counter()
        yield begin, end
        growth = BLOCK_SECONDS / max(time.perf_counter() - began, 1e-9)
        begin, size = end, max(1, int(size * min(growth, 20.0)))


class Progress:
    """A bar, once a run seems to take more than two seconds.

    Parameters
    ----------
    total : int or None
        Steps of the run; None when nobody knows.
    title : str
        Beside the bar.
    wanted : bool or None
        None shows it by itself, on long runs only.
    """

    def __init__(self, total, title, wanted=None):
        if wanted not in (None, True, False):
            raise BayeslibTypeError(f"progress must be None, True or False, got {wanted!r}")
        self.done = 0
        self._total, self._title, self._wanted = total, title, wanted
        self._began, self._bar = time.perf_counter(), None

    def reach(self, done):
        """Note how many steps are done."""
        self.done = done
        if self._bar is None:
            elapsed = time.perf_counter() - self._began
            if self._wanted or (self._wanted is None and _seems_long(elapsed, done, self._total)):
                self._bar = _bar(total=self._total, desc=self._title, unit="it")
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def close(self):
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


_watched = ContextVar("watched", default=None)


@contextlib.contextmanager
def watching(title, total=None, progress=None):
    """Let evaluations that are counted meanwhile move a bar; within another run, that one's."""
    if _watched.get() is not None:
        yield
        return
    bar = Progress(total, title, progress)
    token = _watched.set(bar)
    try:
        yield
    finally:
        _watched.reset(token)
        bar.close()


def watched(lost=None):
    """Decorate a public function that has the keyword `progress`: its evaluations move a bar.

    Parameters
    ----------
    lost : str, optional
        Why it keeps nothing after an interrupt; a note of the KeyboardInterrupt.
    """

    def decorate(function):
        @functools.wraps(function)
        def run(*arguments, progress=None, **options):
            with watching(function.__name__, progress=progress):
                try:
                    return function(*arguments, progress=progress, **options)
                except KeyboardInterrupt as interrupt:
                    if lost:
                        interrupt.add_note(f"bayeslib: {function.__name__} keeps nothing, {lost}")
                    raise

        return run

    return decorate


def count(num_evals=1):
    """Move the bar of the run that this is a part of."""
    bar = _watched.get()
    if bar is not None:
        bar.reach(bar.done + num_evals)


@contextlib.contextmanager
def compiling(name, seconds):
    """Yield what to call when machine code is not on disk: it says how long compiling takes.

    An interrupt that is lost meanwhile, as one is that strikes while LLVM calls back, is raised in
    the end.
    """
    with _heeding_interrupts(), contextlib.ExitStack() as stack:

        def missed():
            if seconds >= _LONG_RUN_SECONDS and _somebody_watches():
                words = f"compiling {name}, once: about {seconds} s"
                stack.enter_context(_bar(desc=words, bar_format="{desc}"))

        yield missed


@contextlib.contextmanager
def _heeding_interrupts():
    handler = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or handler is not signal.default_int_handler:
        yield
        return
    came = []

    def heed(number, frame):
        came.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, heed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


def _somebody_watches():
    """Whether this is a terminal or a live notebook, and no page that is being built."""
    if os.environ.get("BAYESLIB_PRERENDER") == "1":
        return False
    find = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal or "IPKernelApp" in getattr(find(), "config", ())


def _seems_long(elapsed, done, total):
    if os.environ.get("BAYESLIB_PRERENDER") == "1":
        return False  # a page is being built: nobody watches, and the bar would stay in it
    if total is None:
        return elapsed > _LONG_RUN_SECONDS
    return elapsed > 0.5 and done > 0 and elapsed * total > _LONG_RUN_SECONDS * done


def _bar(**options):
    with warnings.catch_warnings():  # tqdm warns in a notebook without ipywidgets, and works
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

        return tqdm(leave=False, **options)
