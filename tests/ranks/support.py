"""What the tests of jobs of several ranks share: the launcher, stores, their bytes."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

ENVIRONMENT = {
    # Several ranks on few cores, and as root in a container.
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


class Launcher:
    """Runs the program of one library of MPI under its mpirun."""

    def __init__(self, program, mpirun, faults=None):
        self.program, self.mpirun, self.faults = pathlib.Path(program).resolve(), mpirun, faults and pathlib.Path(faults).resolve()
        self.sessions = tempfile.TemporaryDirectory(prefix="ranks-", ignore_cleanup_errors=True)

    @property
    def environment(self):
        """Of one job. Each has a folder of sessions of its own: Open MPI removes the one that jobs share when it seems to be empty,
        also where another job is about to use it."""
        return os.environ | ENVIRONMENT | {"OMPI_MCA_orte_tmpdir_base": tempfile.mkdtemp(dir=self.sessions.name)}

    def command(self, ranks, *words, fault=None, calls=None, sizes=None):
        more = []
        if fault or calls or sizes:
            more = ["env", f"LD_PRELOAD={self.faults}", f"UNWEAVE_MPI_FAULT={fault or ''}", f"UNWEAVE_MPI_CALLS={calls or ''}",
                    f"UNWEAVE_MPI_SIZES={sizes or ''}"]
        return [str(word) for word in [self.mpirun, "-n", ranks, *more, self.program, *words]]

    def run(self, ranks, *words, code=0, timeout=300, **more):
        """Returns what came on standard output. Any other exit code than `code` (None: any but 0) ends the test."""
        done = subprocess.run(self.command(ranks, *words, **more), env=self.environment, capture_output=True, text=True, timeout=timeout)
        if (done.returncode == 0) if code is None else (done.returncode != code):
            sys.exit(f"{ranks} ranks, {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done if code != 0 else done.stdout

    def alone(self, *words):
        """One process, without a launcher."""
        return subprocess.run([str(word) for word in [self.program, *words]], check=True, capture_output=True, text=True, timeout=300).stdout


def calls_of(path):
    """How many calls each rank has made, by the file that the library of faults has left; which is removed."""
    calls = dict(map(int, line.split()) for line in pathlib.Path(path).read_text().splitlines())
    pathlib.Path(path).unlink()
    return calls


def bytes_of(store):
    """Every byte of a store, but for those of temporary files."""
    sums = hashlib.sha256()
    for file in sorted(path for path in pathlib.Path(store).rglob("*") if path.is_file()):
        sums.update(f"{file.relative_to(store)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return sums.hexdigest()


def check(holds, what):
    if not holds:
        sys.exit(what)
