#!/usr/bin/env python3
# tests/skips.py - lists what a run of ctest has skipped and why, and fails where that was not to be.
#
#   tests/skips.py RESULTS PART     RESULTS: what `ctest --output-junit` wrote; PART: of tests/run
#
# A test says what it leaves out in lines "skipped: WHY" of its output, pytest in lines "SKIPPED [COUNT] PLACE: WHY". It ends with 77
# where it leaves out all, and the C++ tests also where they leave out some cases. What ALLOWED does not name fails the run: tests/run
# installs what its tests need, so that a test that does without is a fault.
import os
import re
import shutil
import sys
import xml.etree.ElementTree

# Names of tests, what they say, why that may be, and where: by default everywhere.
ALLOWED = [
    (r".*", "UNWEAVE_DATA is not set", "tests/run goes without outside data sets", lambda part: not os.environ.get("UNWEAVE_DATA")),
    (r"python\.package", r"UNWEAVE_DATA names no folder with ind\.", "Planetoid's own files are nothing that the other tests need"),
    (r"python\.package", "could not import '(pyarrow|duckdb)'", "Debian has no package of it"),
    (r"python\.package", "could not import 'torch'|torch is a stand-in", "PyTorch is large, and a stand-in has its interface"),
    (r"python\.package", "no PostgreSQL", "only the part database installs it", lambda part: part != "database"),
    (r"site\.pages", "no Sphinx", "only the part site and .ci/run install it", lambda part: part != "site"),
    (r"formats\.pipe", r"no Node\.js", "tests/run takes npm where it is, and installs none"),
    (r"formats\.pipe|.*\.browser", "no .*(hyparquet|apache-arrow|axe-core)", "there is no npm that could install them",
     lambda part: not shutil.which("npm")),
    (r"jobs\.slurm", "only root may|does not come up on this machine", "Slurm needs rights that a container may not have"),
    (r".*", "the file system of the temporary folder", "TMPDIR may lie in memory"),
    (r"tools\.help\.unit", "a sandbox lets nobody become another user", "no right can be installed"),
    (r"tools\.whole_program\.slow", "the dynamic loader lies elsewhere", "other processors have one of another name"),
]
# Tests that the build leaves out where something is missing.
NEEDED = {"base": ["python.package", "python.install", "jobs.dask", "ranks.faults.openmpi", "ranks.faults.mpich"],
          "site": ["site.pages"], "packages": ["package.debian"], "database": ["python.package"]}


def reasons_of(test):
    """What a test has left out; empty for one that was run as a whole."""
    output = test.findtext("system-out") or ""
    found = re.findall(r"^(?:skipped: |SKIPPED \[\d+\] )(.*)$", output, re.MULTILINE)
    is_skipped = test.find("skipped") is not None or test.get("status") in ("notrun", "disabled")
    return sorted(set(found)) or ([" ".join(output.split()) or "it does not say why"] if is_skipped else [])


def allowance(name, reason, part):
    """Why this may be skipped here; None where it may not."""
    for names, said, why, *where in ALLOWED:
        if re.fullmatch(names, name) and re.search(said, reason) and all(holds(part) for holds in where):
            return why
    return None


def main():
    results, part = sys.argv[1:]
    tests = {test.get("name"): reasons_of(test) for test in xml.etree.ElementTree.parse(results).iter("testcase")}
    faults = [f"{name}: the build has no such test" for name in NEEDED.get(part, []) if name not in tests]
    print("Skipped:" if any(tests.values()) else "Nothing was skipped.")
    for name, reasons in sorted(tests.items()):
        for reason in reasons:
            why = allowance(name, reason, part)
            print(f"  {name}: {reason}" + (f" ({why})" if why else ""))
            if not why:
                faults.append(f"{name}: {reason}")
    if faults:
        sys.exit("tests/skips.py: what tests/run installs must not be missing:\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    main()
