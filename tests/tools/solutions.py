"""What the notebooks say of their own exercises, asked when nbmake has run them."""

from nbmake import pytest_items
from nbmake.nb_result import NotebookError, NotebookResult
from nbmake.nb_run import NotebookRun


class CheckedRun(NotebookRun):
    """A run that fails where a blank is not called blank, or a worked solution not right."""

    def execute(self):
        from exercise_form import unsolved

        result = super().execute()
        if result.error is None and (wrong := unsolved(result.nb.cells)):
            error = NotebookError(summary=wrong[0], trace="\n".join(wrong), failing_cell_index=0)
            return NotebookResult(nb=result.nb, error=error)
        return result


def watch():
    """Make this the way in which notebooks are run."""
    pytest_items.NotebookRun = CheckedRun
