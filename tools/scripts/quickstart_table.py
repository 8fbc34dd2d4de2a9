# tools/scripts/quickstart_table.py - the lines of `unweave stream --json` as a table, row by row as they come.
#
#   unweave stream STORE --requests F --solver exact --json | python3 tools/scripts/quickstart_table.py
import json
import sys


def number(form):
    return lambda value: "-" if value is None else format(value, form)


def text(value):
    return "-" if value is None else value


def yes_or_no(value):
    return "-" if value is None else "yes" if value else "no"


# Heading, field of the JSON line, form of the value.
COLUMNS = [
    ("batch", "batch", number("d")),
    ("removed", "applied", number(",d")),
    ("accuracy", "accuracy_test", number(".4f")),
    ("propagate s", "seconds_propagate", number(".4f")),
    ("unlearn s", "seconds_unlearn", number(".4f")),
    ("rows", "rows_touched", number(",d")),
    ("arcs", "arcs_visited", number(",d")),
    ("certified", "certified", yes_or_no),
    ("by", "claim", text),
]


def print_row(cells):
    print("  ".join(cell.rjust(max(9, len(head))) for cell, (head, _, _) in zip(cells, COLUMNS)), flush=True)


def main():
    print_row([head for head, _, _ in COLUMNS])
    for line in sys.stdin:
        batch = json.loads(line)
        print_row([form(batch.get(field)) for _, field, form in COLUMNS])


main()
