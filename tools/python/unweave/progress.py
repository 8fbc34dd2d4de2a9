"""Who is told how far long work has come."""
from __future__ import annotations

import sys
from typing import Any, Callable, Union

from .errors import UsageError

__all__ = ["Progress", "watcher"]

#: ``True``, ``False``, ``None`` (bars where standard error is a terminal), or a function of (step, done, total, unit).
Progress = Union[bool, None, Callable[[str, int, int, str], None]]


class Bars:
    """A bar of tqdm for each step. Called after the last step is done, too."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._step = ""

    def __call__(self, step: str, done: int, total: int, unit: str) -> None:
        if self._bar is None or step != self._step:
            self.close()
            self._bar = self._tqdm(desc=step, total=total or None, unit=" " + unit, unit_scale=True, leave=False)
            self._step = step
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def watcher(progress: Progress) -> Callable[[str, int, int, str], None] | None:
    """The function that is told, or None. Bars need the package tqdm; without it there are none."""
    if callable(progress):
        return progress
    if progress is not None and not isinstance(progress, bool):
        raise UsageError(f"progress: {progress!r} is neither True nor False, nor a function", ["progress"])
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return Bars(tqdm)
