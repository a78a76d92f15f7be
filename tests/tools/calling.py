"""Calls as many tests make them: in another process, interrupted, or without warnings."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest

from bayeslib import BayeslibWarning


def interpreter(*arguments, cwd=None, **environment):
    """Run Python in a new process and return what it printed."""
    run = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
        env=os.environ | {name: str(value) for name, value in environment.items()},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def python(code, *arguments, **environment):
    """Run code in a new process and return what it printed."""
    return interpreter("-c", textwrap.dedent(code), *arguments, **environment)


def quietly(function, *arguments, **options):
    """Call a function whose warnings are looked at elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayeslibWarning)
        return function(*arguments, **options)


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@contextlib.contextmanager
def interrupted_after(seconds):
    """Send an interrupt to what is done inside."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.join()
