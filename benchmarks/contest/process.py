"""The parent's end of a worker: start it, ask it, watch its memory, end it."""

import json
import os
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

from .worker import descendants

ROOT = Path(__file__).parents[2]


class WorkerError(Exception):
    """A worker failed, or took too long."""


class Worker:
    """A process that runs one library on one posterior.

    Parameters
    ----------
    python : path
        Of the interpreter that has the library.
    arguments : sequence of str
        Library, posterior, variant and unit, see `worker`.
    folder : path
        For what it prints to standard error.
    environment : dict
        Added to this process's own.
    timeout : float
        Seconds after which an answer is not waited for any longer.
    """

    def __init__(self, python, arguments, folder, environment, timeout):
        environment = {**os.environ, **environment}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.began = time.monotonic()
        self.timeout = timeout
        with open(Path(folder) / f"{'-'.join(arguments)}.log", "wb") as log:
            self._process = subprocess.Popen(
                [str(python), "-m", "benchmarks.contest.worker", *arguments],
                cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, start_new_session=True,
            )  # fmt: skip
        self._buffer = b""
        self._stop = threading.Event()
        self._watcher = None
        self.peak_mib = 0.0

    def watch(self):
        """Note, from now on, what the process and its descendants need together."""
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _watch(self):
        while not self._stop.wait(0.1):
            below = descendants(self._process.pid)
            if below:  # its own peak it reports by itself
                total = sum(_mib(pid) for pid in (self._process.pid, *below))
                self.peak_mib = max(self.peak_mib, total)

    def stop_watching(self):
        """End what `watch` began; `peak_mib` is then final."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join()

    def ask(self, **request):
        """Send a request; return the answer.

        Raises
        ------
        WorkerError
            When the worker says so, ends, or is silent for `timeout` seconds.
        """
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError("the process ended") from None
        return self.answer()

    def answer(self):
        """Wait for the next answer."""
        deadline = time.monotonic() + self.timeout
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0.0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise WorkerError(f"no answer within {self.timeout:.0f} s")
            received = os.read(self._process.stdout.fileno(), 65536)
            if not received:
                raise WorkerError(f"the process ended with status {self._process.wait()}")
            self._buffer += received
        line, self._buffer = self._buffer.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def close(self):
        """End the process and whatever it has started."""
        self.stop_watching()
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # its own session: it and its children
        except ProcessLookupError:
            pass
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _mib(pid):
    """Memory of a process, shared pages counted in part, in MiB."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return int(text.split("Pss:")[1].split()[0]) / 1024.0 if "Pss:" in text else 0.0
