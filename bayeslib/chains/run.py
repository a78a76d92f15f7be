"""Running chains, in threads or any executor, with progress and a way out; and joining them."""

import _thread
import collections
import concurrent.futures as futures
import contextlib
import pickle
from dataclasses import dataclass, field

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError, ImproperError, TargetError, warn
from ..results import Draws
from ..validate import shown
from ..waiting import Progress
from .far import disagree
from .functions import Portable
from .loop import FINE, INFINITE

FAR = 1e10
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
        return self.failed_at is not None or self.raised is not None or self.account.status != FINE


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
        raise BayeslibTypeError(f"executor must be an Executor or None, got {executor!r}{remedy}")
    progress = Progress(len(jobs) * num_iterations, title, plan.progress)
    control = Control(len(jobs))
    own, interrupted = executor is None, False
    jobs = [(control, i, *job) for i, job in enumerate(jobs)]
    pending = _in_threads(chain, jobs) if own else [executor.submit(chain, *job) for job in jobs]
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
        futures.wait(pending if own else [])
        raise
    finally:
        progress.close()
    found = [_error(job) or job.result() for job in pending]
    kept = [one for one in found if isinstance(one, Outcome)]
    if not kept and interrupted:
        raise KeyboardInterrupt from found[0]
    if not kept:
        raise found[0]
    return (kept if interrupted else found), interrupted


def _in_threads(function, jobs):
    """Call ``function(*job)`` for all jobs, in threads that end with them; return the futures.

    A ThreadPoolExecutor waits for each thread to begin, which takes as long as a short run.
    """
    pending = [futures.Future() for _ in jobs]
    todo = collections.deque(zip(pending, jobs, strict=True))

    def work():
        with contextlib.suppress(IndexError):  # no job is left
            while True:
                future, job = todo.popleft()
                if future.set_running_or_notify_cancel():
                    try:
                        future.set_result(function(*job))
                    except BaseException as error:
                        future.set_exception(error)

    for _ in range(min(len(jobs), _MOST_THREADS)):
        _thread.start_new_thread(work, ())
    return pending


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


def join_chains(outcomes, target, plan, interrupted, join, what="log density", of="theta"):
    """Join what chains made, cut to the shortest that has any.

    Parameters
    ----------
    outcomes, interrupted
        From `run_chains`.
    target : Target
        Asked what went wrong, where it has a density.
    plan : Plan
    join : callable
        join(outcomes, size, num_evals, settings) -> what is returned, of the chains that got beyond
        their warm-up, by as much as `size`; settings are ``num_samples``, ``num_warmup``,
        ``interrupted`` and ``num_nan``. See `into_draws`.
    what, of : str
        What may be nan, and of what it is a function.

    Raises
    ------
    Exception
        See `raise_trouble`.
    """
    num_samples, num_warmup = plan.num_samples, plan.num_warmup
    made, found = [one for one in outcomes if isinstance(one, Outcome)], None
    num_nan = sum(int(one.account.num_nan) for one in made)
    num_evals = sum(int(one.account.num_evals) for one in made)
    kept = [one for one in made if one.done > num_warmup]
    if kept:
        size = min(one.done for one in kept) - num_warmup
        settings = {"num_samples": num_samples, "num_warmup": num_warmup}
        settings |= {"interrupted": interrupted, "num_nan": num_nan}
        found = join(kept, size, num_evals, settings)
    raise_trouble(target, outcomes, found)
    warn(interrupted and f"the run was interrupted: {size} of {num_samples} draws a chain are kept")
    if num_nan:
        first = shown(target._place(next(one.points[0] for one in made if one.account.num_nan)))
        warn(f"the {what} was nan at {num_nan} proposals, which were rejected; first {of}={first}")
    values = [one.values[:size] for one in kept]
    far = max(max(x.max(initial=0.0), -x.min(initial=0.0)) for x in values) > FAR
    if far and disagree(np.stack(values)):
        warn(f"draws reach beyond {FAR:g}: improper? check the priors, and that it is a logarithm")
    return found


def into_draws(method, names, settings, extra_evals=0):
    """Return a `join` for `Algorithm.run` that makes `Draws`.

    Parameters
    ----------
    method : str
    names : tuple of str
        Of the values.
    settings : dict
        Completed by the chains' own (one entry a chain), and by ``acceptance`` where proposals are
        accepted or not.
    extra_evals : int
        Evaluations made outside the chains.
    """

    def join(outcomes, size, num_evals, counted):
        def stack(arrays):
            rows = [array[:size] for array in arrays]
            whole, shape = rows[0].base, (len(rows), *rows[0].shape)
            joined = getattr(whole, "shape", None) == shape and all(r.base is whole for r in rows)
            return whole if joined else np.stack(rows)

        first = outcomes[0]
        own = {name: np.stack([one.settings[name] for one in outcomes]) for name in first.settings}
        stats = {name: stack([one.stats[name] for one in outcomes]) for name in first.stats}
        if "accepted" in stats:
            own["acceptance"] = float(stats["accepted"].mean())
        values = stack([one.values for one in outcomes])
        log_p = stack([one.logdensity for one in outcomes])
        return Draws(
            values, logdensity=log_p, stats=stats, num_evals=extra_evals + num_evals, method=method,
            settings=counted | settings | own, names=names,
        )  # fmt: skip

    return join


def raise_trouble(target, outcomes, partial):
    """Raise what went wrong first, its `partial` being what the chains made until then.

    Raises
    ------
    Exception
        Whatever lost a chain (its worker died), or a function of the user's raised, with a note of
        where.
    TargetError
        The log density reached +inf.
    ImproperError
        The step size grew without bound.
    KeyboardInterrupt
        If interrupted during the warm-up: `partial` is None.
    """
    lost = [chain for chain, one in enumerate(outcomes) if not isinstance(one, Outcome)]
    early = [chain for chain, one in enumerate(outcomes) if chain not in lost and one.ended_early]
    if lost:
        error = outcomes[lost[0]]
        told = f"of {len(outcomes)} chains these were lost: {', '.join(map(str, lost))}"
        error.add_note(f"bayeslib: {told}; `partial` has the others' draws")
    elif early:
        error = _reason(target, outcomes[early[0]], early[0])
    elif partial is None:
        raise KeyboardInterrupt
    else:
        return
    error.partial = partial
    raise error


def _reason(target, outcome, chain):
    """Return the error that ended a chain."""
    where = f"chain {chain}, iteration {outcome.done} (warm-up included)"
    if outcome.raised is not None:
        outcome.raised.add_note(f"bayeslib: in {where}")
        return outcome.raised
    if outcome.failed_at is not None:
        return target.explain(outcome.failed_at, f" in {where}")
    if outcome.account.status == INFINITE:
        theta = shown(target._place(outcome.points[1]))
        found = f"the log density is +inf at theta={theta} in {where}"
        return TargetError(f"{found}: it overflows, or takes log(0); use logsumexp, np.logaddexp")
    found = f"the step size grew beyond 1e7 in {where}: the posterior seems improper"
    return ImproperError(f"{found}; check the priors, and that the density returns a logarithm")
