#!/usr/bin/env python3
"""tools/audit/verify_propagation.py - whether all sums of a store are those of their terms, by code of its own, in one pass.

    tools/audit/verify_propagation.py STORE [--jobs N]

Shares nothing with the program. For every level l and some random integer factors q (one a column) and r (one a node), it
compares, as exact integers,

    sum over rows u of level l of r_u q.S(u)   with   sum over nodes v of a_v q.t(v),   a_v = sum of r_u over v's list and v,

which are equal where S(u) is the sum of t over u and its neighbours (Freivalds, 1977). t is formed again: from the features at
level 0, from the sums of the level below and the degrees else. The factors are drawn anew for each run. What is wrong passes with
a chance of at most 2^-31. Every row that is read must be there; with the labelled nodes as targets, these are the last level.

Reads a store without later requests: after `propagate`, or `purge`, or a checkpoint without runs. Prints what is false, a line
each, and exits 1; 0 where all holds; 2 where something cannot be read. Python 3.9 and NumPy.
"""
import argparse
import decimal
import math
import multiprocessing
import secrets
import signal
import sys

import numpy as np

import store_files
from store_files import Unreadable

ROWS_BYTES = 1 << 24  # rows of float64 at a time
LIMB = 20


def power_of(degree, exponent):
    """degree^exponent rounded to 40 bits."""
    with decimal.localcontext() as context:
        context.prec = 60
        value = decimal.Decimal(int(degree)) ** decimal.Decimal(exponent)
        scale = 40 - math.frexp(float(value))[1]
        return math.ldexp(int((value * decimal.Decimal(2) ** scale).to_integral_value(decimal.ROUND_HALF_EVEN)), -scale)


def level0(features, degrees, rho, bits):
    """t of level 0: rint(2^bits x d^(rho-1)), cut off at +-2^bits."""
    scale = 2.0**bits
    if rho == 0.5:
        t = scale * features / np.sqrt(degrees.astype(np.float64))[:, None]
    elif rho == 0:
        t = scale * features / degrees[:, None]
    elif rho == 1:
        t = scale * features
    else:
        known, inverse = np.unique(degrees, return_inverse=True)
        t = features * (scale * np.array([power_of(one, rho - 1) for one in known]))[inverse][:, None]
    return np.clip(np.rint(t), -scale, scale)


def weighted(weights, products):
    """sum_i weights[i] products[i, k] for every k, exactly. weights: below 2^60; products: whole numbers of modulus below 2^53."""
    sums = [0] * products.shape[1]
    whole = products.astype(np.int64)
    for place in range(0, 60, LIMB):
        limb = (weights >> np.uint64(place)).astype(np.int64) & ((1 << LIMB) - 1)
        for part in range(3):
            digits = (whole >> (LIMB * part)) & ((1 << LIMB) - 1) if part < 2 else whole >> (2 * LIMB)
            found = limb @ digits  # below 2^(20 + 20 + rows): 2^23 rows at most
            for k, one in enumerate(found):
                sums[k] += int(one) << (place + LIMB * part)
    return sums


def leave_interrupts():
    """A worker's: the parent is interrupted, and ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Verifier:
    def __init__(self, store, manifest):
        self.store, self.manifest = store, manifest
        self.propagation = manifest["propagation"]
        self.levels, self.columns, self.nodes = self.propagation["levels"], manifest["features"], manifest["nodes"]
        self.spans = store_files.spans_of(self.nodes)
        # q.S must be exact in float64, so that large sums and many columns leave few bits for each q, and need more of them.
        wide = [self.sums(level, span).wide_rows for level in range(1, self.levels + 1) for span in range(len(self.spans))]
        largest = max([2**31] + [int(np.abs(rows).max()) for rows in wide if rows.size])
        room = 53 - max(1, self.columns - 1).bit_length() - largest.bit_length() + 1
        if room < 1:
            raise Unreadable(f"{store}: sums of {largest}, more than this program adds up")
        random = np.random.Generator(np.random.PCG64(secrets.randbits(128)))
        self.q = random.integers(1, 2**room, (self.columns, -(-40 // room)), endpoint=True).astype(np.float64)
        self.r = random.integers(0, 2**32, self.nodes, dtype=np.uint32)
        self.masks = []  # rows of each level
        for level in range(1, self.levels + 1):
            if self.propagation["all_rows"]:
                self.masks.append(None)
                continue
            self.masks.append(np.concatenate([self.sums(level, span).members for span in range(len(self.spans))]))

    def sums(self, level, span):
        first, last = self.spans[span]
        return store_files.Sums(self.store, self.manifest["levels"][level]["partitions"][span], level, first, last, self.columns)

    def span(self, span):
        """Both sides of every level, as far as a span has them: [level - 1][left or right][k]; and how many rows are missing."""
        first, last = self.spans[span]
        try:
            counts, ids = store_files.read_shard(self.store, self.manifest["shards"][span], first, last)
        except (IndexError, ValueError, OverflowError, MemoryError) as error:
            raise Unreadable(f"{self.store}/{self.manifest['shards'][span]['path']}: no lists of neighbours ({error}); "
                             "`unweave verify` says what is damaged") from None
        if ids.size and (ids.min() < 0 or ids.max() >= self.nodes):
            raise Unreadable(f"{self.store}: {self.manifest['shards'][span]['path']}: ids past the number of nodes")
        sides = [[[0] * self.q.shape[1] for _ in range(2)] for _ in range(self.levels)]
        weights = []
        for mask in self.masks:
            r = self.r if mask is None else np.where(mask, self.r, np.uint32(0))
            total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(r[ids], dtype=np.uint64)])
            ends = np.cumsum(counts)
            weights.append(total[ends] - total[ends - counts] + r[first:last])
            if mask is None and not weights[1:]:
                weights *= self.levels
                break
        features = store_files.NodeFeatures(self.store, self.manifest)
        files = [self.sums(level, span) for level in range(1, self.levels + 1)]
        step = max(1, ROWS_BYTES // (8 * self.columns))
        missing = 0
        for begin in range(0, last - first, step):
            end = min(last - first, begin + step)
            degrees = counts[begin:end] + 1
            here = np.arange(end - begin)
            t = level0(features.read(first + begin, first + end).astype(np.float64), degrees, self.propagation["rho"], self.propagation["scale_bits"])
            for level in range(self.levels):
                weight = weights[level][begin:end]
                missing += int(np.count_nonzero(weight)) - int(np.count_nonzero(weight[here]))
                self.add(sides[level][1], weight[here], t)
                here, rows = files[level].read(begin, end)
                self.add(sides[level][0], self.r[first + begin + here].astype(np.uint64), rows)
                t = np.rint(rows / degrees[here][:, None])
        return sides, missing

    def add(self, side, weights, rows):
        for k, one in enumerate(weighted(weights, rows @ self.q)):
            side[k] += one

    def run(self, jobs):
        """What is false, a line each."""
        false = []
        if not self.propagation["all_rows"]:
            labelled = store_files.read_labels(self.store, self.manifest) >= 0
            if not np.array_equal(labelled, self.masks[-1]):
                false.append(f"level {self.levels}: its rows are not those of the labelled nodes")
        totals = [[[0] * self.q.shape[1] for _ in range(2)] for _ in range(self.levels)]
        missing = 0
        with multiprocessing.get_context("fork").Pool(jobs, leave_interrupts) as pool:
            for sides, gone in pool.imap_unordered(self.span, range(len(self.spans))):
                missing += gone
                for level in range(self.levels):
                    for side in range(2):
                        totals[level][side] = [x + y for x, y in zip(totals[level][side], sides[level][side])]
        if missing:
            false.append(f"{missing} rows that a level above reads are not there")
        false += [f"level {level + 1}: the sums are not those of their terms" for level in range(self.levels)
                  if totals[level][0] != totals[level][1]]
        return false


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count(), help="processes; one a core")
    options = parser.parse_args()
    try:
        manifest = store_files.read_manifest(options.store)
        if not manifest["propagation"]:
            raise Unreadable(f"{options.store}: it was never propagated")
        if manifest["propagation"].get("keep"):
            raise Unreadable(f"{options.store}: it keeps rows in place of sums, which `unweave verify` compares with a projection")
        overlays = [kind for files in manifest["levels"] for kind in ("run", "stale") if files.get(kind)]
        if manifest["journal"] or manifest["changes"] or overlays:
            raise Unreadable(f"{options.store}: it has requests that its files do not contain; run `unweave purge` on a copy first")
        verifier = Verifier(options.store, manifest)
        false = verifier.run(options.jobs)
    except (OSError, ValueError, KeyError, IndexError, Unreadable) as error:
        print("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in f"verify_propagation: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("verify_propagation: interrupted; nothing was written", file=sys.stderr)
        return 130
    for line in false:
        print(line)
    if not false:
        rows = sum(verifier.nodes if mask is None else int(mask.sum()) for mask in verifier.masks)
        print(f"{rows} rows of {verifier.levels} levels are the sums of their terms")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
