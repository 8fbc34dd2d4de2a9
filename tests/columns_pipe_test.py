#!/usr/bin/env python3
"""Parquet and Arrow files that packages of npm have written go through the pipe of the guide into an import, and make the store that
their arrays make.

    python3 -B tests/columns_pipe_test.py UNWEAVE [NODE_MODULES]

NODE_MODULES (by default build/npm/node_modules) has hyparquet, hyparquet-writer and apache-arrow: `tools/install-dependencies --npm`
puts them there. Ends with 77, which ctest takes for skipped, where they or Node.js are missing. Exits 1 at the first thing that is wrong.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools" / "scripts" / "columns_to_text.mjs"
NODES, EDGES, WIDTH = 300, 5000, 4

# Reads arrays.json and writes the same as Parquet, in groups of rows, and as Arrow.
WRITER = """
import fs from 'node:fs';
import { parquetWriteFile } from 'hyparquet-writer';
import * as arrow from 'apache-arrow';
const { u, v, x, names } = JSON.parse(fs.readFileSync('arrays.json'));
const big = BigInt64Array.from(u.map(BigInt));
const column = (name, data, type) => ({ name, data, type });
const edges = (from, to) => [column('src', big.slice(from, to), 'INT64'), column('dst', Int32Array.from(v.slice(from, to)), 'INT32'),
                             column('weight', u.slice(from, to).map(() => 0.5), 'DOUBLE')];
const half = u.length / 2;
parquetWriteFile({ filename: 'edges0.parquet', columnData: edges(0, half), rowGroupSize: 700 });
parquetWriteFile({ filename: 'edges1.parquet', columnData: edges(half, u.length), rowGroupSize: 100000 });
parquetWriteFile({ filename: 'x.parquet', rowGroupSize: 128,
                   columnData: x[0].map((_, c) => column(`f${c}`, Float32Array.from(x.map((row) => row[c])), 'FLOAT')) });
parquetWriteFile({ filename: 'named.parquet', rowGroupSize: 999,
                   columnData: [column('a', u.map((i) => names[i]), 'STRING'), column('b', v.map((i) => names[i]), 'STRING')] });
parquetWriteFile({ filename: 'names.parquet', columnData: [column('name', names, 'STRING')] });
parquetWriteFile({ filename: 'gap.parquet', rowGroupSize: 2, columnData: [column('src', [0, 1, 2, null], 'INT32'), column('dst', [1, 2, 3, 4], 'INT32')] });
parquetWriteFile({ filename: 'blank.parquet', columnData: [column('a', ['ann', 'b c'], 'STRING'), column('b', ['bob', 'ann'], 'STRING')] });
const table = arrow.tableFromArrays({ src: big, dst: Int32Array.from(v) });
fs.writeFileSync('edges.arrow', arrow.tableToIPC(table, 'file'));
fs.writeFileSync('edges.arrows', arrow.tableToIPC(table, 'stream'));
const lists = new arrow.FixedSizeList(x[0].length, new arrow.Field('item', new arrow.Float32()));
fs.writeFileSync('x.arrow', arrow.tableToIPC(arrow.tableFromArrays({ x: arrow.vectorFromArray(x, lists) }), 'file'));
"""


def check(holds, what):
    if not holds:
        sys.exit(f"columns_pipe_test: {what}")


class Folder:
    def __init__(self, unweave, modules, path):
        self.unweave, self.path, self.stores = unweave, path, 0
        (path / "node_modules").symlink_to(modules)

    def node(self, *words, cwd=None):
        return subprocess.run(["node", *map(str, words)], cwd=cwd or self.path, capture_output=True, text=True, check=False)

    def imported(self, options, piped=None):
        """The content digest of a store; with `piped`, "-" among the options is what the script prints of these words. The last store
        is self.last."""
        self.stores += 1
        self.last = self.path / f"s{self.stores}"
        command = [self.unweave, "import", self.last, *options]
        if piped is None:
            ended = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False)
        else:
            with subprocess.Popen(["node", SCRIPT, *map(str, piped)], cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as script:
                ended = subprocess.run(command, cwd=self.path, stdin=script.stdout, capture_output=True, text=True, check=False)
                script.stdout.close()
                said = script.stderr.read()
            if ended.returncode != 0 or script.returncode != 0:
                return None, said, ended
        check(ended.returncode == 0, f"{command} ended with {ended.stderr}")
        told = subprocess.run([self.unweave, "info", self.last, "--digest", "--json"], capture_output=True, text=True, check=True)
        return json.loads(told.stdout.splitlines()[-1])["digest"], "", ended


def main():
    unweave = pathlib.Path(sys.argv[1]).resolve()
    modules = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build/npm/node_modules").resolve()
    missing = [name for name in ("hyparquet", "hyparquet-writer", "apache-arrow") if not (modules / name).is_dir()]
    if not shutil.which("node") or missing:
        print(f"skipped: {'no Node.js' if not shutil.which('node') else 'no ' + ', '.join(missing) + ' in ' + str(modules)}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Folder(unweave, modules, pathlib.Path(scratch))
        pipes(folder)
        refusals(folder)
    print("all pipes carried what they should")


def pipes(folder):
    rng = np.random.default_rng(3)
    edges, x = rng.integers(0, NODES, (EDGES, 2)), rng.normal(size=(NODES, WIDTH)).astype(np.float32)
    names = [f"person-{node}@example.org" for node in range(NODES)]
    np.save(folder.path / "edges.npy", edges)
    np.save(folder.path / "x.npy", x)
    (folder.path / "names.txt").write_text("".join(name + "\n" for name in names))
    arrays = {"u": edges[:, 0].tolist(), "v": edges[:, 1].tolist(), "x": x.astype(float).tolist(), "names": names}
    (folder.path / "arrays.json").write_text(json.dumps(arrays))
    (folder.path / "write.mjs").write_text(WRITER)
    made = folder.node("write.mjs")
    check(made.returncode == 0, f"the files could not be written: {made.stderr}")

    wanted, _, _ = folder.imported(["--edges", "edges.npy", "--features", "x.npy"])
    for words in (["--columns", "src,dst", "edges0.parquet", "edges1.parquet"], ["--columns", "dst,src", "edges1.parquet", "edges0.parquet"],
                  ["edges.arrow"], ["--columns", "src,dst", "edges.arrows"]):
        found, said, ended = folder.imported(["--edges", "-", "--features", "x.npy"], words)
        check(found == wanted, f"edges through {words}: {said} {ended.stderr}")
    for words in (["x.parquet"], ["--columns", "x", "x.arrow"]):
        found, said, ended = folder.imported(["--edges", "edges.npy", "--features", "-", "--nodes", str(NODES)], words)
        check(found == wanted, f"features through {words}: {said} {ended.stderr}")

    named, _, _ = folder.imported(["--edges", "edges.npy", "--ids", "names.txt"])
    found, said, ended = folder.imported(["--edges", "-", "--ids", "names.txt"], ["--columns", "a,b", "named.parquet"])
    check(found == named, f"edges by name: {said} {ended.stderr}")
    found, said, ended = folder.imported(["--edges", "edges.npy", "--ids", "-"], ["names.parquet"])
    check(found == named, f"names: {said} {ended.stderr}")


def refusals(folder):
    (folder.path / "junk.parquet").write_text("junk")
    whole = (folder.path / "edges0.parquet").read_bytes()
    (folder.path / "cut.parquet").write_bytes(whole[:len(whole) // 2])
    for words, what in ((["gap.parquet"], "row 3, column src: no value"), (["blank.parquet"], 'row 1, column a: "b c"'),
                        (["--columns", "src,nil", "edges0.parquet"], "no column nil; there are src, dst, weight"), (["absent.parquet"], "absent.parquet"),
                        (["junk.parquet"], "junk.parquet"), (["cut.parquet"], "cut.parquet"), (["edges0.parquet", "--colums"], "--colums")):
        found, said, ended = folder.imported(["--edges", "-", "--nodes", str(NODES)], words)
        check(found is None and what in said, f"{words}: said {said!r}")
        # The part that came before the error is no graph.
        check(ended.returncode == 2 and not folder.last.exists(), f"{words}: the import ended with {ended.returncode}: {ended.stderr}")
    elsewhere = folder.path / "elsewhere"
    elsewhere.mkdir()
    os.rename(folder.path / "node_modules", folder.path / "elsewhere_modules")
    told = folder.node(SCRIPT, folder.path / "x.parquet", cwd=elsewhere)
    check(told.returncode == 2 and "run npm install hyparquet" in told.stderr, f"without packages it says {told.stderr!r}")


if __name__ == "__main__":
    main()
