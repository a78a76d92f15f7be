"""What tests need that a machine may lack: said and skipped, except where CI must have it."""

import os

import pytest


@pytest.fixture(scope="session")
def need():
    """Return ``need(have, reason)``: skip for want of something, or fail where CI is set."""

    def check(have, reason):
        if not have:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)

    return check
