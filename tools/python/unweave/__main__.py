"""Conversions of files, for the command line: ``python3 -m unweave forget-set FILE``."""
from __future__ import annotations

import argparse
import sys

from .errors import Error, UsageError
from .forget_sets import KINDS, UNITS, read_forget_set


def _forget_set(options: argparse.Namespace) -> str:
    forget = read_forget_set(options.file, options.kind, unit=options.unit)
    if options.to == "requests":
        return "".join(line + "\n" for line in forget.requests(named=options.named))
    return forget.json() if options.to == "json" else forget.text(both_directions=options.both_directions)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m unweave")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("forget-set", help="print a forget set as lines of requests, as JSON, or as text")
    one.add_argument("file", help="JSON, or text with a node or an edge a line")
    one.add_argument("--kind", choices=KINDS, help="what the targets are, where the file does not say it")
    one.add_argument("--unit", choices=UNITS, help="what the targets of features are")
    one.add_argument("--to", choices=("requests", "json", "text"), default="requests", help="requests by default")
    one.add_argument("--named", action="store_true", help="the store has names: mark numbers, as in #17")
    one.add_argument("--both-directions", action="store_true", help="text: both arcs of an edge")
    one.set_defaults(run=_forget_set)
    options = parser.parse_args(arguments)
    try:
        sys.stdout.write(options.run(options))
    except Error as error:
        print(f"unweave: {error}", file=sys.stderr)
        return 1 if isinstance(error, UsageError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
