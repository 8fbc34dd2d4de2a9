"""What operations report."""
from __future__ import annotations

from typing import Any

__all__ = ["Record"]


class Record(dict[str, Any]):
    """A dictionary whose keys are attributes too. The keys are the fields that ``--json`` of the command line prints
    (tools/guide/reference/outputs.md)."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} here; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    @staticmethod
    def of(value: Any) -> Any:
        """Makes records of dictionaries, inside lists and dictionaries too."""
        if isinstance(value, dict):
            return Record({key: Record.of(one) for key, one in value.items()})
        if isinstance(value, list):
            return [Record.of(one) for one in value]
        return value
