#!/usr/bin/env python3
"""Keeps a table of PostgreSQL in step with a feed of changes (`unweave stream --changes FEED`).

    python3 tools/examples/follow_postgresql.py FEED READER [--vector] [PSQL'S OPTIONS ...]

It needs `psql` and the package unweave. The table embedding has a row a node: node bigint, and z real[], whose values are those of the
embedding, bit for bit. With --vector z is a vector of the extension pgvector. Options such as -h and -d go to psql.

Each entry is one transaction, which also writes the number of the entry into the table unweave_feed. So whoever is killed between the
transaction and the receipt takes the entry again, and finds that the table has it.
"""
import json
import subprocess
import sys

import numpy as np

import unweave

SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding (node bigint PRIMARY KEY, z {type} NOT NULL);
CREATE TABLE IF NOT EXISTS unweave_feed (reader text PRIMARY KEY, entry bigint NOT NULL);
"""
BEGIN = """
BEGIN;
CREATE TEMPORARY TABLE change (node bigint, z {type}) ON COMMIT DROP;
COPY change FROM STDIN;
"""
# What is complete replaces all. A tombstone is a change without z.
END = """\\.
DELETE FROM embedding WHERE {complete} OR node IN (SELECT node FROM change);
INSERT INTO embedding SELECT node, z FROM change WHERE z IS NOT NULL;
INSERT INTO unweave_feed VALUES ('{reader}', {entry}) ON CONFLICT (reader) DO UPDATE SET entry = EXCLUDED.entry;
COMMIT;
"""


class Database:
    def __init__(self, options):
        self._psql = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", *options]

    def run(self, texts):
        """Statements, and rows of a COPY among them. What it prints is returned."""
        with subprocess.Popen(self._psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
            try:
                for text in texts:
                    psql.stdin.write(text)
                psql.stdin.close()
            except BrokenPipeError:
                pass  # it has ended with an error, which it has printed
            said = psql.stdout.read()
        if psql.returncode != 0:
            sys.exit(f"follow_postgresql: psql ended with {psql.returncode}; nothing of this entry is in the table")
        return said


def rows_of(change, brackets):
    """Lines of a COPY. The shortest decimal digits that give a float32 back are those of repr()."""
    first, last = brackets
    for node, row in zip(change.ids.tolist(), change.rows):
        yield f"{node}\t{first}{','.join(np.format_float_scientific(value, unique=True, trim='-') for value in row)}{last}\n"
    for node in change.removed.tolist():
        yield f"{node}\t\\N\n"


def follow(feed, reader, options):
    vector = "--vector" in options
    database = Database([option for option in options if option != "--vector"])
    changes = unweave.Changes(feed, reader)
    columns = json.loads((changes.folder / "changes.jsonl").read_text().splitlines()[-1])["columns"]
    kind, brackets = (f"vector({columns})", "[]") if vector else ("real[]", "{}")
    database.run(["SET client_min_messages = warning;", SCHEMA.format(type=kind)])
    known = int(database.run([f"SELECT coalesce(max(entry), 0) FROM unweave_feed WHERE reader = '{reader}';"]) or 0)
    for change in changes:
        # A feed that was begun anew counts from 1 again, and its first entry is complete.
        if change.entry > known or change.complete:
            complete = "true" if change.complete else "false"
            database.run([BEGIN.format(type=kind), *rows_of(change, brackets), END.format(complete=complete, reader=reader, entry=change.entry)])
            known = change.entry
        changes.take(change)  # durable: it does not come again


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    follow(sys.argv[1], sys.argv[2], sys.argv[3:])
