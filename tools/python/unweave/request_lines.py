"""Requests as people write them in Python: lines as in a file of requests, or tuples, which become lines here."""
from __future__ import annotations

import datetime
import numbers
import operator
import re
from typing import Any, Iterable, Sequence, Union

import numpy as np

from .errors import UsageError
from .names import NodeNumbers, is_missing

__all__ = ["Request", "batch_of", "has_id", "has_value", "is_digits", "is_encodable", "line_of", "plain_integers", "time_text", "whole_id"]

Request = Union[str, Sequence[Any]]

# What parts the words of a line (storage/input/words/line_reader.h), and what no word has.
_PARTS_WORDS = re.compile("[\x00-\x20,]")


def is_digits(text: str) -> bool:
    """Whether a text is a whole number as lines have it: digits of ASCII alone, not all that Python's int() takes."""
    return re.fullmatch("[0-9]+", text) is not None


def is_encodable(text: str) -> bool:
    """Whether a text has an UTF-8: it has no surrogates."""
    return text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text)


def time_text(moment: datetime.datetime | datetime.date | np.datetime64) -> str:
    """A moment as a request has it, in UTC, and a date as its first moment there. A UsageError for a moment without a zone, which may be one
    of any place."""
    if is_missing(moment):
        raise UsageError(f"{moment!r} is no moment")
    shown, as_datetime = repr(moment), ""
    if isinstance(moment, np.datetime64):
        as_datetime = ".astype('datetime64[ms]').item()"
        moment = moment.astype(f"datetime64[{'D' if np.datetime_data(moment.dtype)[0] in 'YMWD' else 'ms'}]").item()
    if not isinstance(moment, datetime.datetime):
        return moment.isoformat()
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise UsageError(f"{shown}: a moment without a zone may be one of UTC or of where this runs; give "
                         f"{as_datetime}.replace(tzinfo=datetime.timezone.utc), or {as_datetime}.astimezone(), which takes it for local time")
    moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds") + "Z"


def _word(request: Any, part: Any) -> str:
    """A part of a request as the one word of a line; a UsageError for what would be several words, or none."""
    if isinstance(part, (datetime.date, np.datetime64)):
        return time_text(part)
    if is_missing(part):
        remedy = "; \"none\" takes the label away" if request[0] == "set-label" else ""
        raise UsageError(f"{request!r}: {part!r} is a missing value, where one word is wanted{remedy}")
    word = str(part.item() if isinstance(part, np.generic) else part)
    if not word or _PARTS_WORDS.search(word):
        raise UsageError(f"{request!r}: {part!r}, where one word is wanted, without blanks, commas and control characters; give values one by one: "
                         "(\"set-feature\", 3, 0.5, 0.25), (\"node\", 12, \"expires\", \"2027-01-31\", \"id=NAME\")")
    return word


def whole_id(part: Any) -> int:
    """An id; a ValueError or TypeError for what is none. Texts are digits alone; numbers without a fraction pass, since a column with a gap is one
    of floats."""
    if isinstance(part, str):
        if not is_digits(part):
            raise ValueError(f"{part!r} is no id")
        return int(part)
    if isinstance(part, (bool, np.bool_, np.timedelta64)):
        raise ValueError(f"{part!r} is no id")
    try:
        number = operator.index(part)
    except TypeError:
        if not isinstance(part, numbers.Number) or part != int(part):  # type: ignore[call-overload]
            raise ValueError(f"{part!r} is no id") from None
        number = int(part)  # type: ignore[call-overload]
    if number < 0:
        raise ValueError(f"{part!r} is no id")
    return number


def has_id(request: Sequence[Any]) -> bool:
    return isinstance(request[-1], str) and request[-1].startswith("id=")


_OF_GRAPHS = ("graph", "set-graph-label", "move-graph-split")


def has_value(request: Sequence[Any]) -> bool:
    """Whether a tuple says more than which nodes it is about, or is about a whole graph."""
    words = list(request)
    return bool(words) and (str(words[0]) in ("set-feature", "set-label", "move-split", "insert-node", "set-weight", *_OF_GRAPHS) or
                            len(words) > 4 and isinstance(words[3], str) and words[3] in ("expires", "weight") or
                            len(words) > 3 and str(words[0]) in ("node", "feature") and isinstance(words[2], str) and words[2] == "expires")


def batch_of(requests: Iterable[Request]) -> list[Request]:
    """The requests of a batch; a line may stand alone."""
    checked: list[Request] = [requests] if isinstance(requests, str) else list(requests)
    for number, request in enumerate(checked):
        if not isinstance(request, (str, Sequence)) or not len(request):
            raise UsageError(f"request {number}, {request!r}: give a line or a tuple, \"node 12\" or (\"node\", 12)")
        for text in (request,) if isinstance(request, str) else request:
            if isinstance(text, str) and not is_encodable(text):
                raise UsageError(f"request {number}, {request!r}: a surrogate is no character; decode texts as UTF-8")
    return checked


def _nodes_end(request: Sequence[Any]) -> int:
    """Where the nodes of a tuple end, which begin at 1; a request of a whole graph has none."""
    if request[0] in _OF_GRAPHS:
        return 1
    return 3 if str(request[0]).endswith("edge") or request[0] == "set-weight" else 2


def plain_integers(requests: Iterable[Request]) -> list[int]:
    """The nodes of tuples that are integers, and neither texts nor NodeNumbers; what is no id is told of elsewhere."""
    found = []
    for request in requests:
        for part in () if isinstance(request, str) else request[1:_nodes_end(request)]:
            if isinstance(part, (str, NodeNumbers)):
                continue
            try:
                found.append(whole_id(part))
            except (TypeError, ValueError, OverflowError):
                pass
    return found


def quoted(name: str) -> str:
    """A name of a node as one word of a line; "#17" is the number of one. A ValueError for what is neither: no name begins with #."""
    if name.startswith("#"):
        return f"#{whole_id(name[1:])}"
    return _in_quotes(name)


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def line_of(request: Any, named: bool, named_classes: bool = False, are_names: bool = False) -> str:
    """The line of a request that came as a tuple. Numbers of NumPy are those of Python; where nodes have names, a node's number has a mark,
    and where classes have, a text is a name, in quotes."""
    sets_class = named_classes and str(request[0]) in ("set-label", "set-graph-label")
    nodes = _nodes_end(request)

    def node(part: Any) -> str:
        """A node as lines of this store name it."""
        if named and isinstance(part, str):
            return quoted(part)
        number = str(whole_id(part))
        return number if not named else quoted(number) if are_names and not isinstance(part, NodeNumbers) else f"#{number}"

    words = []
    for place, part in enumerate(request):
        if not 0 < place < nodes:
            is_class = sets_class and place == 2 and isinstance(part, str) and part != "none"
            words.append(_in_quotes(part) if is_class else _word(request, part))
            continue
        try:
            words.append(node(part))
        except (TypeError, ValueError, OverflowError):
            texts = ", and names of nodes are texts that do not begin with #, which is for numbers" if named else ""
            raise UsageError(f"{request!r}: {part!r} is no node: ids are whole numbers from 0{texts}") from None
    return " ".join(words)
