"""Running chains: in threads or any executor, with progress and a way out."""

import concurrent.futures as futures
import pickle
from dataclasses import dataclass, field

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError
from ..waiting import Progress
from .functions import Portable
from .loop import FINE

_POLL_SECONDS = 0.05
_MOST_THREADS = 32


@dataclass
class Outcome:
    """One chain's part of a run, as a worker returns it.

    `done` counts completed iterations, warm-up included; `values`, `logdensity` and `stats` hold
    the draws asked for, of which the first ``done - num_warmup`` were made. `account` is what was
    asked of the density and `points` what it met, see `loop.Density`. `failed_at` is where
    the log density raised, `raised` what another function of the user's did.
    """

    done: int
    values: np.ndarray
    logdensity: np.ndarray
    stats: dict
    settings: dict
    account: np.record
    points: np.ndarray
    failed_at: np.ndarray | None
    rng_state: dict = field(repr=False)
    raised: Exception | None = None

    def __getstate__(self):
        raised = Portable(self.raised)
        try:
            pickle.loads(pickle.dumps(raised))
        except Exception:  # its class takes other arguments, or holds what cannot travel
            raised = Portable(BayeslibError(f"{type(self.raised).__name__}: {self.raised}"))
            raised.value.__notes__ = getattr(self.raised, "__notes__", [])
        return vars(self) | {"raised": raised}

    def __setstate__(self, state):
        vars(self).update(state, raised=state["raised"].value)

    @property
    def ended_early(self):
        """Whether something went wrong, so that the other chains need not go on."""
        failed = self.failed_at is not None or self.raised is not None
        return failed or self.account.status != FINE


class Control:
    """What the caller and the workers of its process share: progress, and the wish to stop."""

    def __init__(self, num_chains):
        self.done = [0] * num_chains  # iterations completed
        self.stopped = False
        self._handles = []

    def __reduce__(self):
        return Control, (len(self.done),)  # another process can neither report nor be stopped

    def watch(self, bound):
        """Let `stop` reach the kernel that runs on this density."""
        self._handles.append(bound)
        if self.stopped:
            bound.stop()

    def stop(self):
        """Ask every chain to end after the evaluation it is in."""
        self.stopped = True
        for bound in self._handles:
            bound.stop()


def spawn(rng, num_chains):
    """Return one generator a chain: `rng` itself for one chain, else its spawned children."""
    return [rng] if num_chains == 1 else rng.spawn(num_chains)


def run_chains(chain, jobs, plan, title):
    """Run ``chain(control, index, *job)`` for every job, at once.

    Parameters
    ----------
    chain : callable
        A function of an importable module that returns an `Outcome`.
    jobs : list of tuple
        Picklable arguments, one tuple a chain.
    plan : Plan
        Its `executor` is None for threads of this process; it must not be a pool of one process
        that waits for us. `progress` None shows a bar on runs that seem to take more than two
        seconds.
    title : str
        Beside the bar.

    Returns
    -------
    outcomes : list of Outcome or exception
        In the order of the jobs. After an interrupt, of the chains that handed back their draws;
        else of all, where a chain that did not come back has the reason in its place.
    interrupted : bool
        Whether Ctrl-C (or a kernel's stop button) ended the run.

    Raises
    ------
    KeyboardInterrupt
        If interrupted before any chain could hand back its draws.
    Exception
        If no chain came back: what the first of them, or the executor, raised.

    Notes
    -----
    A chain is decided by its job alone, so that an executor may run it again when its worker has
    died (Dask does, as often as ``distributed.scheduler.allowed-failures`` says) and the draws are
    the same. An executor that gives up instead (a process pool does at once) ends the run with its
    own error, which keeps the chains that came back.
    """
    executor, num_iterations = plan.executor, plan.num_samples + plan.num_warmup
    if executor is not None and not isinstance(executor, futures.Executor):
        remedy = "; pass its get_executor()" if hasattr(executor, "get_executor") else ""
        rule = "executor must be a concurrent.futures.Executor or None"
        raise BayeslibTypeError(f"{rule}, got {executor!r}{remedy}")
    progress = Progress(len(jobs) * num_iterations, title, plan.progress)
    control = Control(len(jobs))
    own = executor is None
    pool = futures.ThreadPoolExecutor(min(len(jobs), _MOST_THREADS)) if own else executor
    pending = [pool.submit(chain, control, i, *job) for i, job in enumerate(jobs)]
    interrupted = False
    try:
        _wait(pending, control, num_iterations, progress)
    except KeyboardInterrupt:
        interrupted = True
        control.stop()
        # Workers of this process end within one evaluation; of others we keep who has finished.
        for job in pending:
            job.cancel()
        futures.wait(pending, timeout=None if own else 2.0)
    except BaseException:
        control.stop()
        raise
    finally:
        progress.close()
        if own:
            pool.shutdown(wait=True)
    found = [_error(job) or job.result() for job in pending]
    kept = [one for one in found if isinstance(one, Outcome)]
    if not kept and interrupted:
        raise KeyboardInterrupt from found[0]
    if not kept:
        raise found[0]
    return (kept if interrupted else found), interrupted


def _error(job):
    """Why a job has no result, or None when it has one."""
    if not job.done():
        return TimeoutError("the chain did not end in time")
    if job.cancelled():
        return futures.CancelledError("the executor cancelled the chain")
    return job.exception()


def _wait(pending, control, num_iterations, progress):
    waiting = pending
    while waiting:
        # Only those still out: a failed one among them would end each wait at once.
        finished, waiting = futures.wait(waiting, _POLL_SECONDS, futures.FIRST_EXCEPTION)
        for i, job in enumerate(pending):
            if job.done():
                control.done[i] = num_iterations
        progress.reach(sum(control.done))
        if any(_error(job) is not None or job.result().ended_early for job in finished):
            control.stop()
