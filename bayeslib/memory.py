"""How much memory may still be used."""

import os
from pathlib import Path


def available_memory(root="/"):
    """Return the bytes that can be allocated without swapping or being killed.

    What the machine can free counts as free, and so does what files' caches hold; a container's
    own limit counts where it is lower.

    Parameters
    ----------
    root : path
        Where the folders ``proc`` and ``sys`` of the system are.

    Returns
    -------
    int or None
        None where it cannot be known.
    """
    found = [_of_machine(Path(root)), *_of_containers(Path(root) / "sys/fs/cgroup")]
    found = [size for size in found if size is not None]
    return max(min(found), 0) if found else None


def _of_machine(root):
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:  # not on Windows; macOS knows only how much it has in all
        names = os.sysconf_names
        pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in names else "SC_PHYS_PAGES"
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_containers(folder):
    """What is left of a control group's limit, in the second and the first version of the files."""
    yield _left(folder, "memory.max", "memory.current", "inactive_file ")
    first = folder / "memory"
    yield _left(first, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")


def _left(folder, limit, used, reclaimable):
    limits, uses = _lines(folder / limit), _lines(folder / used)
    if not (limits and uses and limits[0].isdecimal()):
        return None  # no such group, or "max"
    cached = [line for line in _lines(folder / "memory.stat") if line.startswith(reclaimable)]
    return int(limits[0]) - int(uses[0]) + sum(int(line.split()[1]) for line in cached)


def _lines(path):
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
