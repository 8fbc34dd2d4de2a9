"""Errors of the library. Each is what the command line ends with an exit code of its own for."""
from __future__ import annotations

import csv
import re

__all__ = ["Error", "UsageError", "DataError", "NotFittedError", "ResourceError", "CheckError", "MissingRowsWarning"]


# What storage/io/plain_text.h shows by its bytes: control characters, separators of lines, marks of the direction of writing, byte order
# marks, characters that nobody sees, and the surrogates in which Python keeps the bytes of paths that are not UTF-8.
_UNPLAIN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]")


def printable(text: str) -> str:
    """A text that no terminal obeys: of a path or a file, with "\\xFF" for each byte that is not plain."""
    return _UNPLAIN.sub(lambda one: "".join(f"\\x{byte:02X}" for byte in one[0].encode("utf-8", "surrogateescape" if "\udc80" <= one[0] <= "\udcff" else "surrogatepass")), text)


class Error(Exception):
    """What all errors of Unweave are. ``options`` names the arguments that the message speaks of."""

    def __init__(self, message: str, options: list[str] | None = None) -> None:
        super().__init__(printable(message))
        self.options = list(options or [])


class UsageError(Error, ValueError):
    """Wrong arguments (exit code 1); a ValueError, too."""


class NotFittedError(UsageError, AttributeError):
    """An estimator that was not fitted yet; with scikit-learn also its ``NotFittedError`` (:mod:`unweave.estimator`)."""


class DataError(Error, ValueError):
    """Data that are wrong or cannot be read (exit code 2); a ValueError, too."""


class ResourceError(Error):
    """Not enough memory, disk or descriptors, or another process writes the store (exit code 3)."""


class CheckError(Error):
    """A statement that should hold is false (exit code 4)."""


class RemarkWarning(UserWarning):
    """What an import noticed in its files and arrays, as the command line tells it in notes: a header that was left out, classes without
    a node, columns of features that look like ids."""


class MissingRowsWarning(UserWarning):
    """Nodes without a row of Z are left out of what was asked for without naming nodes."""


# The library marks the options and operations that its messages name (storage/io/message.h); text_of() of bindings/work.cpp hands over these marks.
_OPTION = re.compile("\x01([\\w-]+)(?:\x02([^\x01-\x05]*))?\x03")
_OPERATION = re.compile("\x04([^\x04\x05]*)\x05")
_ARGUMENTS = {"lambda": "lambda_", "set": "parameters", "no-intercept": "intercept=False", "non-adaptive": "adaptive=False", "restart": "restart=True",
              "ignore-weights": "ignore_weights=True"}
_LISTS = ("weights", "hidden")  # of numbers
_TEXTS = ("name", "solver", "key", "receipts", "changes")  # also where they look like numbers
_METHODS = ("grow", "propagate", "purge", "repair", "stream", "train", "verify")
_PREDICTIONS = {"pairs": "predict_pairs", "links": "predict_links"}
_EXPORTS = {"embeddings": "embeddings", "edges": "edges", "labels": "labels", "model": "export_model"}


def argument_of(key: str) -> str:
    """The argument that is the option ``--key`` of the command line."""
    return _ARGUMENTS.get(key, key.replace("-", "_")).partition("=")[0]


def _option(match: re.Match[str]) -> str:
    key, value = match[1], match[2]
    if value is None:
        return _ARGUMENTS.get(key, argument_of(key))
    if key == "split":
        return value if re.fullmatch(r"[\w=.,/ -]*", value) else repr(value)
    if key == "classes" and not re.fullmatch("[0-9]+", value):
        return f"classes={_listed(value)!r}"
    if key == "set":
        return _parameters([value])
    if key in _LISTS and value != "auto" and not value.startswith("unit="):
        return f"{key}=[{', '.join(value.split(','))}]"
    if len(value) > 1 and value[0] == value[-1] == "'":  # as a shell quotes it
        value = value[1:-1].replace("'\\''", "'")
    is_number = key not in _TEXTS and re.fullmatch("[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|[A-Z]", value)  # W stands for a number
    return f"{argument_of(key)}={value if is_number else repr(value)}"


def _parameters(values: list[str]) -> str:
    """The argument of all options ``--set NAME=VALUE`` of a command."""
    pairs = [value.partition("=") for value in values]
    items = (f"{name!r}: {number if re.fullmatch('[0-9.e+-]+', number) else repr(number) if number else '...'}" for name, _, number in pairs)
    return f"parameters={{{', '.join(items)}}}"


def _listed(value: str) -> list[str]:
    """A list of names as a shell and CSV quote it."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        value = value[1:-1].replace("'\\''", "'")
    return next(csv.reader([value]))


def _operation(match: re.Match[str]) -> str:
    verb = match[1].split(" ", 1)[0]
    options = [one for one in _OPTION.finditer(match[1]) if (one[1], one[2]) != ("requests", "/dev/null")]
    if verb == "import":
        return "`unweave.import_store()`"
    if verb == "export" and options and options[0][1] in _EXPORTS:
        return f"`store.{_EXPORTS[options[0][1]]}()`"
    if verb == "predict" and options and options[0][1] in _PREDICTIONS:
        return f"`store.{_PREDICTIONS[options[0][1]]}()`"
    if verb == "stream" and [one[1] for one in options] == ["expired"]:
        return "`stream.remove_expired()`"
    if verb not in _METHODS:  # the command line alone does it
        return "`unweave " + _OPTION.sub(lambda one: f"--{one[1]}" + (f" {one[2]}" if one[2] else ""), match[1]) + "`"
    words = [_option(one) for one in options if one[1] != "set"]
    if own := [one[2] for one in options if one[1] == "set"]:
        words.append(_parameters(own))
    arguments = ", ".join(word if "=" in word else f"{word}=True" for word in words)
    return f"`with store.stream({arguments}): pass`" if verb == "stream" else f"`store.{verb}({arguments})`"


#: The columns of features in memory that a message chooses, as the command line chooses those of a file.
_FEATURES = re.compile(r"(?<![\w./'-])features\[([\d:,]+)\]")


def columns_chosen(choice: str, count: str = "features.shape[1]", listed: bool = False) -> str:
    """The columns "1:", or "0,2:", as an index of a matrix, and ``listed`` as a list; ``count``: how many columns there are, in Python."""
    parts = [part.partition(":") for part in choice.split(",")]
    if len(parts) == 1 and not listed:
        return choice
    return "[" + ", ".join(f"*range({first or 0}, {last or count})" if colon else first for first, colon, last in parts) + "]"


def text_of(message: str) -> str:
    """A message of the library, plain, with arguments and calls of this package in the places of options and commands."""
    plain = _OPTION.sub(_option, _OPERATION.sub(_operation, message))
    # Columns of an array that has no file are those behind its rows.
    plain = _FEATURES.sub(lambda one: f"features[:, {columns_chosen(one[1])}]", plain)
    return "\n".join(printable(line) for line in plain.split("\n"))
