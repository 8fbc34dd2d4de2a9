"""Errors of the library. Each is what the command line ends with an exit code of its own for."""
from __future__ import annotations

__all__ = ["Error", "UsageError", "DataError", "ResourceError", "CheckError"]


class Error(Exception):
    """What all errors of Unweave are. ``options`` names the arguments that the message speaks of."""

    def __init__(self, message: str, options: list[str] | None = None) -> None:
        super().__init__(message)
        self.options = list(options or [])


class UsageError(Error, ValueError):
    """Wrong arguments (exit code 1)."""


class DataError(Error):
    """Data that are wrong or cannot be read (exit code 2)."""


class ResourceError(Error):
    """Not enough memory, disk or descriptors, or another process writes the store (exit code 3)."""


class CheckError(Error):
    """A statement that should hold is false (exit code 4)."""
