"""Requests as people write them in Python: lines as in a file of requests, or tuples, which become lines here."""
from __future__ import annotations

import datetime
from typing import Any, Iterable, Sequence, Union

import numpy as np

from .errors import UsageError

__all__ = ["Request", "batch_of", "has_id", "has_value", "line_of", "time_text", "whole_id"]

Request = Union[str, Sequence[Any]]


def time_text(moment: datetime.datetime | datetime.date) -> str:
    """A moment as a request has it, in UTC; one without a zone is in UTC already, and a date is its first moment."""
    if not isinstance(moment, datetime.datetime):
        return moment.isoformat()
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds") + "Z"


def _word(part: Any) -> str:
    if isinstance(part, datetime.date):
        return time_text(part)
    return str(part.item() if isinstance(part, np.generic) else part)


def whole_id(part: Any) -> int:
    """An id; a ValueError for what is none. Numbers without a fraction pass, since a column with a gap is one of floats."""
    if isinstance(part, (bool, np.bool_)) or (isinstance(part, (float, np.floating)) and part != int(part)):
        raise ValueError(f"{part!r} is no id")
    return int(part)


def has_id(request: Any) -> bool:
    return " id=" in request if isinstance(request, str) else isinstance(request[-1], str) and request[-1].startswith("id=")


def has_value(request: Any) -> bool:
    """Whether a request says more than which nodes it is about."""
    words = request.split() if isinstance(request, str) else list(request)
    return bool(words) and (str(words[0]) in ("set-feature", "set-label", "move-split", "insert-node", "set-weight") or
                            len(words) > 4 and isinstance(words[3], str) and words[3] in ("expires", "weight"))


def batch_of(requests: Iterable[Request]) -> list[Request]:
    """The requests of a batch; a line may stand alone."""
    checked: list[Request] = [requests] if isinstance(requests, str) else list(requests)
    for number, request in enumerate(checked):
        if not isinstance(request, (str, Sequence)) or not len(request):
            raise UsageError(f"request {number}, {request!r}: give a line or a tuple, \"node 12\" or (\"node\", 12)")
    return checked


def line_of(request: Any, named: bool) -> str:
    """The line of a request that came as a tuple. Numbers of NumPy are those of Python; where nodes have names, a node's number has a mark."""
    nodes = 3 if str(request[0]).endswith("edge") or request[0] == "set-weight" else 2
    try:
        words = [str(whole_id(part)) if 0 < i < nodes and not isinstance(part, str) else _word(part) for i, part in enumerate(request)]
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{request!r}: ids are whole numbers from 0") from None
    return " ".join(f"#{word}" if named and 0 < i < nodes and not isinstance(request[i], str) else word for i, word in enumerate(words))
