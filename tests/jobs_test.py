#!/usr/bin/env python3
"""A propagation in jobs of Slurm, Kubernetes and Dask has the bytes of one process.

    jobs_test.py slurm|kubernetes|dask UNWEAVE [PYTHON PACKAGE'S FOLDER]

Slurm runs on this machine alone, with a key, ports and folders of its own. Exit code 77: what a part needs is not installed.
"""
import hashlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "tools" / "examples"
OPTIONS = ["--hops", "2", "--rows", "all"]
JOBS = 3


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, timeout=300, **more)


def digest(store):
    """Every published byte of a store."""
    sums = hashlib.sha256()
    for file in sorted(path for path in store.rglob("*") if path.is_file()):
        sums.update(f"{file.relative_to(store)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return sums.hexdigest()


def make_stores(unweave, folder):
    run(unweave, "generate", folder / "imported", "--model", "sbm", "--nodes", "2000", "--features", "40", "--quiet", stdout=subprocess.DEVNULL)
    shutil.copytree(folder / "imported", folder / "one")
    run(unweave, "propagate", folder / "one", *OPTIONS, "--quiet", stdout=subprocess.DEVNULL)
    shutil.copytree(folder / "imported", folder / "store")
    return folder / "store", digest(folder / "one")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(done, what, seconds=120):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            sys.exit(f"{what}: not after {seconds} s")
        time.sleep(0.2)


def slurm(unweave, folder):
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin") is None:
            skip(f"{program} is not installed")
    if os.geteuid() != 0:
        skip("slurmd starts jobs as other users, which only root may")
    store, expected = make_stores(unweave, folder)
    os.environ["PATH"] = f"{unweave.parent}:{os.environ['PATH']}:/usr/sbin"
    host = socket.gethostname().split(".")[0]
    key, munge = folder / "key", folder / "munge.socket"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    config = folder / "slurm.conf"
    config.write_text(f"""ClusterName=tiles
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser={pwd.getpwuid(os.geteuid()).pw_name}
AuthType=auth/munge
AuthInfo=socket={munge}
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
    os.environ["SLURM_CONF"] = str(config)
    daemons = []
    try:
        daemons.append(subprocess.Popen(["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}", f"--pid-file={folder}/munged.pid",
                                         f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"]))
        wait_until(munge.exists, "munged", 30)
        daemons.append(subprocess.Popen(["slurmctld", "-D", "-f", config]))
        daemons.append(subprocess.Popen(["slurmd", "-D", "-f", config, "-N", host]))
        def is_idle():
            shown = subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True, timeout=60)
            return shown.stdout.strip() in ("idle", "mixed")
        end = time.monotonic() + 60
        while not is_idle():
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in daemons):
                for log in ("slurmctld.log", "slurmd.log"):
                    print(log, (folder / log).read_text()[-3000:] if (folder / log).exists() else "", sep="\n")
                skip("Slurm does not come up on this machine")
            time.sleep(0.5)
        os.environ["ARRAY_OPTIONS"] = f"--output={folder}/%A-%a.out --ntasks=1"
        last = run(EXAMPLES / "propagate_slurm.sh", store, JOBS, *OPTIONS, "--memory", "64M", stdout=subprocess.PIPE, text=True).stdout.strip()

        def has_ended():
            return subprocess.run(["squeue", "--noheader", "--jobs", last], capture_output=True, text=True, timeout=60).stdout.strip() == ""
        wait_until(has_ended, "the job that joins the tiles")
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(timeout=60)
    if digest(store) != expected:
        for out in sorted(folder.glob("*.out")):
            print(out.name, out.read_text(), sep="\n")
        sys.exit("the store of the jobs of Slurm has other bytes")


def kubernetes(unweave, folder):
    try:
        import yaml
    except ImportError:
        skip("python3-yaml is not installed")
    store, expected = make_stores(unweave, folder)
    tiles, assemble = yaml.safe_load_all((EXAMPLES / "propagate_kubernetes.yaml").read_text())
    for job in (tiles, assemble):
        assert set(job) == {"apiVersion", "kind", "metadata", "spec"} and (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
        assert set(job["spec"]) <= {"completionMode", "completions", "parallelism", "backoffLimit", "template"}
        pod = job["spec"]["template"]["spec"]
        assert set(pod) == {"restartPolicy", "containers", "volumes"} and pod["restartPolicy"] in ("OnFailure", "Never")
        assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == [volume["name"] for volume in pod["volumes"]]
    assert tiles["spec"]["completionMode"] == "Indexed" and tiles["spec"]["parallelism"] <= tiles["spec"]["completions"]

    def command(job, index):
        words = job["spec"]["template"]["spec"]["containers"][0]["command"]
        assert words[0] == "unweave"
        words = [word.replace("$(JOB_COMPLETION_INDEX)", str(index)).replace("/stores/papers.store", str(store)) for word in words[1:]]
        words[words.index("--memory") + 1] = "64M"
        return [unweave, *words, "--rows", "all"]
    count = tiles["spec"]["completions"]
    assert command(tiles, 0)[-3] == f"0/{count}"
    running = [subprocess.Popen([str(word) for word in command(tiles, index)], stdout=subprocess.DEVNULL) for index in reversed(range(2))]
    assert [one.wait(timeout=120) for one in running] == [0, 0]
    for index in range(2, count):
        run(*command(tiles, index), stdout=subprocess.DEVNULL)
    run(*command(assemble, None), stdout=subprocess.DEVNULL)
    assert digest(store) == expected, "the store of the jobs of Kubernetes has other bytes"


def dask(unweave, folder):
    try:
        from dask.distributed import LocalCluster
    except ImportError:
        skip("python3-distributed is not installed")
    sys.path.insert(0, str(EXAMPLES))
    import propagate_dask
    run(unweave, "generate", folder / "imported", "--model", "sbm", "--nodes", "2000", "--features", "40", "--classes", "0", "--quiet",
        stdout=subprocess.DEVNULL)
    shutil.copytree(folder / "imported", folder / "one")
    run(unweave, "propagate", folder / "one", "--quiet", stdout=subprocess.DEVNULL)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(folder / "work")) as cluster:
        report = propagate_dask.propagate(cluster.scheduler_address, str(folder / "imported"), JOBS, 2)
    assert report.tiles == JOBS
    assert digest(folder / "imported") == digest(folder / "one"), "the store of the jobs of Dask has other bytes"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="unweave-jobs-") as made:
        pathlib.Path(made).chmod(0o755)
        {"slurm": slurm, "kubernetes": kubernetes, "dask": dask}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(made))
