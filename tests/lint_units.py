#!/usr/bin/env python3
# tests/lint_units.py - clang-tidy of some files, several a translation unit: most of its time goes into headers that they share.
#
#   python3 tests/lint_units.py BUILD FILE ...
#
# BUILD has compile_commands.json of a configuration without units of its own. What is wrong with a unit is asked of its files one by
# one: two files that are never compiled together may both have a function of one name.
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

FILES_A_UNIT = 6


def flags_of(entry):
    """The words of a command without its file and what is made of it."""
    words = iter(shlex.split(entry["command"]))
    kept = []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-MQ"):
            next(words)
        elif word not in ("-c", "-MD", entry["file"]):
            kept.append(word)
    return tuple(kept)


def tidy(database, file):
    """What clang-tidy finds; empty where it finds nothing."""
    done = subprocess.run(["clang-tidy-14", "-quiet", "-p", database, file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "" if done.returncode == 0 else done.stdout or f"{file}: clang-tidy ended with {done.returncode}\n"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
    files = [str(pathlib.Path(name).resolve()) for name in sys.argv[2:]]
    groups = collections.defaultdict(list)
    for file in files:
        if file in commands:  # an example that only users compile is in no command
            # A check is chosen by the folder of the translation unit.
            folder = build / "tests" / "units" if "/tests/" in file else build / "units"
            groups[folder, flags_of(commands[file]), commands[file]["directory"]].append(file)
    units, entries = {}, []
    for (folder, flags, directory), own in groups.items():
        folder.mkdir(parents=True, exist_ok=True)
        for first in range(0, len(own), FILES_A_UNIT):
            unit = str(folder / f"unit{len(units)}.cpp")
            units[unit] = own[first:first + FILES_A_UNIT]
            pathlib.Path(unit).write_text("".join(f'#include "{file}"\n' for file in units[unit]))
            entries.append({"directory": directory, "file": unit, "command": shlex.join([*flags, "-c", unit])})
    database = build / "units"
    database.mkdir(parents=True, exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(entries))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        unread = [file for unit, found in zip(units, pool.map(lambda unit: tidy(database, unit), units)) if found for file in units[unit]]
        found = "".join(pool.map(lambda file: tidy(build, file), unread))
    print(found, end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
