#!/usr/bin/env python3
# tests/skips_test.py - what tests/skips.py makes of runs of ctest.
#
#   tests/skips_test.py CTEST
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPS = pathlib.Path(__file__).resolve().parent / "skips.py"
BASE = {name: "true" for name in ("python.package", "python.install", "jobs.dask", "ranks.faults.openmpi", "ranks.faults.mpich")}


def judged(ctest, scripts, part="base", **environment):
    """Exit code and texts of tests/skips.py after a run of tests, each of which is a script of sh."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        lines = []
        for name, script in scripts.items():
            (folder / name).write_text(script)
            lines.append(f'add_test({name} sh "{folder / name}")\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n')
        (folder / "CTestTestfile.cmake").write_text("".join(lines))
        subprocess.run([ctest, "--test-dir", folder, "--output-junit", folder / "results.xml", "--test-output-size-passed", "1000000"],
                       stdout=subprocess.DEVNULL, check=False)
        clean = {name: value for name, value in os.environ.items() if name != "UNWEAVE_DATA"}
        ended = subprocess.run([sys.executable, "-B", SKIPS, folder / "results.xml", part], capture_output=True, text=True, check=False,
                               env={**clean, **environment})
        return ended.returncode, ended.stdout, ended.stderr


def main():
    ctest = sys.argv[1]

    def check(scripts, code, *parts, part="base", **environment):
        ended = judged(ctest, {**BASE, **scripts}, part, **environment)
        assert ended[0] == code and all(text in ended[1] + ended[2] for text in parts), (scripts, ended)

    check({}, 0, "Nothing was skipped.")
    data = {"tools.x.data": "echo 'skipped: UNWEAVE_DATA is not set'; exit 77"}
    check(data, 0, "  tools.x.data: UNWEAVE_DATA is not set (tests/run goes without outside data sets)\n")
    check(data, 1, "must not be missing:\n  tools.x.data: ", UNWEAVE_DATA="/data")
    check({"report.browser": "echo 'skipped: there is no chromium'; exit 77"}, 1, "report.browser: there is no chromium")
    check({"a": "exit 77"}, 1, "a: it does not say why")
    # What a test that passes leaves out counts, also behind much other output.
    case = "head -c 100000 /dev/zero | tr '\\0' 'x'; echo; echo 'skipped: a case: {}'; head -c 100000 /dev/zero | tr '\\0' 'x'"
    check({"storage.io.unit": case.format("the file system of the temporary folder keeps all")}, 0, "a case: the file system")
    check({"storage.io.unit": case.format("it is Sunday")}, 1, "storage.io.unit: a case: it is Sunday")
    arrow = "SKIPPED [2] test_columns.py:238: could not import 'pyarrow': No module named 'pyarrow'"
    check({"python.package": f"echo \"{arrow}\""}, 0, "Debian has no package of it")
    check({"python.package": f"echo \"{arrow.replace('pyarrow', 'pandas')}\""}, 1, "python.package: test_columns.py:238")
    # What one part may skip another one is for.
    site = {"site.pages": "echo 'skipped: no Sphinx with Furo and MyST'; exit 77"}
    check(site, 0, "site.pages: no Sphinx")
    check(site, 1, "site.pages: no Sphinx", part="site")
    # A test that the build left out.
    ended = judged(ctest, {name: script for name, script in BASE.items() if name != "ranks.faults.mpich"})
    assert ended[0] == 1 and "ranks.faults.mpich: the build has no such test" in ended[2], ended


if __name__ == "__main__":
    main()
