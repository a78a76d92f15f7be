"""What tests need that a machine may lack: said and skipped, except where CI must have it."""

import os
import signal
from pathlib import Path

import pytest
import recording
import solutions


def pytest_configure(config):
    """Heed interrupts, which a job started in the background inherits as ignored; record.

    Processes that tests start find the same modules.
    """
    folders = [str(path) for path in Path(__file__).parent.iterdir() if path.is_dir()]
    paths = [*folders, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    recording.register(config)
    solutions.watch()


@pytest.fixture(scope="session")
def need():
    """Return ``need(have, reason)``: skip for want of something, or fail where CI is set."""

    def check(have, reason):
        if not have:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)

    return check


@pytest.fixture(scope="module")
def browser(need):
    """Chromium, for the tests of a file."""
    from browsing import CHROMIUM, FLAGS  # only where a browser is asked for
    from playwright.sync_api import sync_playwright

    need(CHROMIUM, "Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
