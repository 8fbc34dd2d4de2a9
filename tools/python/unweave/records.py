"""What operations report."""
from __future__ import annotations

import keyword
from typing import Any

__all__ = ["Record"]


class Record(dict[str, Any]):
    """A dictionary whose keys are attributes too. The keys are the fields that ``--json`` of the command line prints
    (tools/guide/reference/outputs.md), without what a command measures of its own process. A key that is a word of Python, as ``lambda``,
    has an attribute that ends in an underscore: ``report.lambda_`` is ``report["lambda"]``."""

    def __getattr__(self, name: str) -> Any:
        key = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"there is no {name!r} here; there are {', '.join(self._attributes())}") from None

    def _attributes(self) -> list[str]:
        return [key + "_" if keyword.iskeyword(key) else key for key in self]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._attributes()]

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in zip(self._attributes(), self.values()))})"

    def __reduce__(self) -> Any:
        return Record, (dict(self),)

    @staticmethod
    def of(value: Any) -> Any:
        """Makes records of dictionaries, inside lists and dictionaries too.

        ``value``: a dictionary, a list, or anything else, which comes back as it is.
        """
        if isinstance(value, dict):
            return Record({key: Record.of(one) for key, one in value.items()})
        if isinstance(value, list):
            return [Record.of(one) for one in value]
        return value
