"""tools/audit/store_files.py - the files of a store in NumPy: shards, features, labels and sums, as storage/FORMAT.md has them.

Shares nothing with the program. Checksums are not looked at: whoever compares sums with their terms needs none.
"""
import ctypes
import ctypes.util
import json
import pathlib

import numpy as np

HEADER = 128
VERSION = 12
# What is known here, of what a store may need: all but "real-weights", whose lists have weights of their own.
NEEDS = {"names", "ids-are", "expiries", "weights", "rows", "layers", "arcs-of-relations", "types", "ends", "packed-features", "shared-features",
         "pairs", "graphs"}
BLOCK = 32
GROUP = 16


class Unreadable(Exception):
    """A file is not what FORMAT.md says, or holds what this program does not read."""


def read_manifest(store):
    path = pathlib.Path(store) / "manifest.json"
    try:
        outer = json.loads(path.read_text(encoding="utf-8"))
        if outer["format"] != "unweave store" or outer["version"] != VERSION or not NEEDS.issuperset(outer["needs"]):
            raise Unreadable(f"{path}: format {outer['format']} {outer['version']} with {outer.get('needs')}, not unweave store {VERSION} with {sorted(NEEDS)}")
        return outer["contents"]
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path}: no manifest of a store ({error}); `unweave verify` says what is damaged") from None


def spans_of(nodes):
    """First and last node of each span."""
    size = 65536
    while size * 1024 < nodes:
        size *= 2
    return [(first, min(nodes, first + size)) for first in range(0, nodes, size)]


class Sealed:
    """A sealed file: its parameters, and views of its bytes. `kind`: what it must be."""

    def __init__(self, store, entry, kind):
        self.path = pathlib.Path(store) / entry["path"]
        size = self.path.stat().st_size
        if not self.path.is_file() or size != entry["bytes"] or size < HEADER:
            raise Unreadable(f"{self.path}: byte {size}: the manifest says a file of {entry['bytes']} bytes; restore it from a copy")
        self.bytes = np.memmap(self.path, dtype=np.uint8, mode="r")
        if bytes(self.bytes[:16]) != b"UNWEAVE\0" + kind.ljust(8).encode():
            raise Unreadable(f"{self.path}: byte 0: not a file of kind {kind}")
        head = self.bytes[24:80].view("<u8")
        self.payload, self.parameters = int(head[0]), [int(one) for one in head[1:]]

    def view(self, offset, dtype, count):
        """`count` values from byte `offset` of the payload on; their type has the size of its alignment or less."""
        begin = HEADER + offset
        end = begin + count * np.dtype(dtype).itemsize
        if count < 0 or end > HEADER + self.payload:
            raise Unreadable(f"{self.path}: byte {begin}: what should be there goes past the payload")
        return self.bytes[begin:end].view(dtype)


def load_bits(words, positions, widths):
    """Values of up to 32 bits at bit positions; `words` is the 64-bit word that begins at each byte."""
    return (words[positions >> 3] >> (positions & 7).astype(np.uint64)) & ((np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1))


def words_of(data):
    """The little-endian 64-bit word that begins at each byte of `data`, zeros past its end."""
    padded = np.zeros(len(data) + 8, np.uint8)
    padded[: len(data)] = data
    return np.ndarray((len(data) + 1,), "<u8", padded, 0, (1,))


def expand(counts):
    """For `counts` values of each of some things: the number of the thing, and of the value in it."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def read_groups(words, begin, shapes, sizes, owner):
    """All values of groups that lie one after another from bytes begin[i] on for every owner i (ascending, with groups of
    owners side by side). shapes, sizes: of each group. Returns the values, and the byte where each owner's groups end."""
    widths = (shapes & 127).astype(np.int64)
    runs = (sizes * widths + 7) // 8
    patched = np.flatnonzero(shapes & 128)
    starts = np.cumsum(runs) - runs
    first_group = np.searchsorted(owner, np.arange(len(begin)))
    group_base = np.append(starts, runs.sum())[first_group]  # runs of the owners before
    starts = starts - group_base[owner] + begin[owner]
    extra = np.zeros(len(begin), np.int64)  # bytes of patches that each owner has had
    high_at, high_widths, masks = (np.zeros(len(patched), np.int64) for _ in range(3))
    patch_bytes = np.zeros(len(shapes), np.int64)
    # The k-th patched group of every owner at a time: where the next one lies depends on it.
    _, rank = expand(np.bincount(owner[patched], minlength=len(begin))) if len(patched) else (None, np.zeros(0, np.int64))
    for k in range(rank.max() + 1 if len(patched) else 0):
        now = np.flatnonzero(rank == k)
        groups = patched[now]
        at = starts[groups] + extra[owner[groups]] + runs[groups]
        word = words[at]
        high_widths[now] = (word & np.uint64(255)).astype(np.int64)
        masks[now] = ((word >> np.uint64(8)) & np.uint64(65535)).astype(np.int64)
        high_at[now] = at + 3
        bits = sum((masks[now] >> i) & 1 for i in range(GROUP))
        patch_bytes[groups] = 3 + (bits * high_widths[now] + 7) // 8
        extra[owner[groups]] += patch_bytes[groups]
    before = np.cumsum(patch_bytes) - patch_bytes
    starts += before - np.append(before, patch_bytes.sum())[first_group][owner]
    group, within = expand(sizes)
    values = load_bits(words, starts[group] * 8 + within * widths[group], widths[group])
    if len(patched):
        bit = np.arange(GROUP)
        has = (masks[:, None] >> bit) & 1 == 1
        has &= bit < sizes[patched][:, None]
        place = np.cumsum((masks[:, None] >> bit) & 1, axis=1) - 1
        which, at = np.nonzero(has)
        high = load_bits(words, high_at[which] * 8 + place[which, at] * high_widths[which], high_widths[which])
        first_value = np.cumsum(sizes) - sizes
        target = first_value[patched[which]] + at
        values[target] |= high << widths[patched[which]].astype(np.uint64)
    ends = begin.copy()
    np.add.at(ends, owner, runs + patch_bytes)
    return values, ends


def read_counts(shard, offset, length, nodes):
    """Neighbours of each node: groups one after another, each behind its shape."""
    data = bytes(shard.view(offset, np.uint8, length))
    shapes, begins, at = [], [], 0
    for first in range(0, nodes, GROUP):
        size, shape = min(GROUP, nodes - first), data[at]
        shapes.append(shape)
        begins.append(at + 1)
        at += 1 + (size * (shape & 127) + 7) // 8
        if shape & 128:
            at += 3 + (bin(data[at + 1] | data[at + 2] << 8).count("1") * data[at] + 7) // 8
    if at != length:
        raise Unreadable(f"{shard.path}: the counts end at byte {at}, not {length}")
    groups = len(shapes)
    sizes = np.minimum(GROUP, nodes - GROUP * np.arange(groups))
    words = words_of(np.frombuffer(data, np.uint8))
    return read_groups(words, np.array(begins, np.int64), np.array(shapes, np.uint8), sizes, np.arange(groups))[0].astype(np.int64)


_zstd = None


def decompress(frame, path):
    """A zstd frame of at most 65,536 bytes of content, by the C library."""
    global _zstd
    if _zstd is None:
        _zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        _zstd.ZSTD_decompress.restype = ctypes.c_size_t
        _zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    content = ctypes.create_string_buffer(65536)
    size = _zstd.ZSTD_decompress(content, 65536, frame, len(frame))
    if size > 65536:
        raise Unreadable(f"{path}: a block does not decompress")
    return content.raw[:size]


def read_varints(content):
    values = np.frombuffer(content, np.uint8)
    last = values < 128
    number = np.cumsum(last) - last
    starts = np.flatnonzero(np.append(True, last[:-1]))
    shift = 7 * (np.arange(len(values)) - starts[number])
    out = np.zeros(int(last.sum()), np.uint64)
    np.add.at(out, number, (values & 127).astype(np.uint64) << shift.astype(np.uint64))
    return out


def read_shard(store, entry, first, last):
    """Neighbour lists of nodes [first, last): counts, and the ids side by side (int64), as often as their edges weigh."""
    shard = Sealed(store, entry, "shard")
    nodes = last - first
    if shard.parameters[:2] != [first, nodes]:
        raise Unreadable(f"{shard.path}: byte 32: of other nodes")
    blocks = (nodes + BLOCK - 1) // BLOCK
    offsets = shard.view(0, "<u4", blocks + 1).astype(np.int64)
    length = shard.parameters[4]
    counts = read_counts(shard, 4 * (blocks + 1), length, nodes)
    body = 4 * (blocks + 1) + length
    data = np.array(shard.view(body, np.uint8, int(offsets[-1])))
    words = words_of(data)
    per_block = np.add.reduceat(counts, np.arange(0, nodes, BLOCK)) if nodes else np.zeros(0, np.int64)
    used = per_block > 0
    encodings = np.full(blocks, -1)
    encodings[used] = data[offsets[:-1][used]]
    if np.any(encodings > 1):
        raise Unreadable(f"{shard.path}: a block of another encoding")
    bases = np.zeros(blocks, np.int64)
    bases[used] = (words[offsets[:-1][used] + 1] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    block_of = np.arange(nodes) // BLOCK
    list_ends = np.cumsum(counts)
    gaps = np.zeros(int(list_ends[-1]) if nodes else 0, np.int64)  # the first of each list, then its gaps + 1

    packed = np.flatnonzero((encodings[block_of] == 0) & (counts > 0))  # non-empty lists of packed blocks
    if len(packed):
        ids = np.flatnonzero(encodings == 0)
        of = np.searchsorted(ids, block_of[packed])
        lists = np.bincount(of, minlength=len(ids))
        first_width = words[offsets[ids] + 5] & np.uint64(255)
        _, rank = expand(lists)
        firsts = load_bits(words, (offsets[ids][of] + 6) * 8 + rank * first_width[of].astype(np.int64), first_width[of])
        gaps[list_ends[packed] - counts[packed]] = firsts.astype(np.int64) + bases[block_of[packed]]
        groups = (counts[packed] - 1 + GROUP - 1) // GROUP
        in_block = np.bincount(of, weights=groups, minlength=len(ids)).astype(np.int64)
        shapes_at = offsets[ids] + 6 + (lists * first_width.astype(np.int64) + 7) // 8
        owner, number = expand(in_block)
        shapes = data[shapes_at[owner] + number]
        of_list, group_rank = expand(groups)
        sizes = np.minimum(GROUP, counts[packed][of_list] - 1 - GROUP * group_rank)
        values, ends = read_groups(words, shapes_at + in_block, shapes, sizes, owner)
        if not np.array_equal(ends, offsets[ids + 1]):
            raise Unreadable(f"{shard.path}: a block does not end where the next one begins")
        of_value, value_rank = expand(counts[packed] - 1)
        gaps[(list_ends - counts)[packed][of_value] + 1 + value_rank] = values.astype(np.int64) + 1

    for block in np.flatnonzero(encodings == 1):
        content = read_varints(decompress(bytes(data[offsets[block] + 5 : offsets[block + 1]]), shard.path)).astype(np.int64)
        members = np.arange(block * BLOCK, min(nodes, (block + 1) * BLOCK))
        begin = int(list_ends[members[0]] - counts[members[0]])
        content += 1
        heads = np.cumsum(counts[members]) - counts[members]
        content[heads[counts[members] > 0]] += bases[block] - 1
        gaps[begin : begin + len(content)] = content

    total = np.cumsum(gaps)
    starts = list_ends - counts
    filled = counts > 0
    before = np.zeros(nodes, np.int64)
    before[filled] = total[starts[filled]] - gaps[starts[filled]]
    ids = total - np.repeat(before, counts)
    if shard.parameters[5] > 0:  # where edges have weights, a neighbour stands there once for each unit, and its place was added
        ids -= expand(counts)[1]
    return counts, ids


class Features:
    """Rows of the features of one span, as float32."""

    def __init__(self, store, manifest, entry, first, last):
        half = manifest["feature_type"] == "f16"
        self.columns, self.rows = manifest["features"], last - first
        self.dtype = "<f2" if half else "<f4"
        self.sparse = manifest["sparse_features"]
        packed = pathlib.Path(entry["path"]).suffix.startswith(".packed")
        self.file = Sealed(store, entry, ("sparse" if self.sparse else "packed" if packed else "dense") + ("16" if half else ""))
        self.there, self.rank, self.tiles_at = None, None, 0  # rows that a dense file has: all
        if packed:
            words = (self.rows + 63) // 64
            self.there = np.unpackbits(self.file.view(0, np.uint8, 8 * words), bitorder="little")[: self.rows].astype(bool)
            if int(self.there.sum()) != self.file.parameters[3]:
                raise Unreadable(f"{self.file.path}: {int(self.there.sum())} rows are there, not {self.file.parameters[3]}")
            self.rank = np.append(0, np.cumsum(self.there))
            self.tiles_at = 8 * words + 4 * (words + 1)
        if self.sparse:
            entries = self.file.parameters[3]
            self.offsets = self.file.view(0, "<u8", self.rows + 1).astype(np.int64)
            at = 8 * (self.rows + 1)
            self.indices = self.file.view(at, "<u4", entries)
            self.values = self.file.view(at + 4 * entries, self.dtype, entries)

    def read(self, begin, end):
        """Rows [begin, end) of the span."""
        out = np.zeros((end - begin, self.columns), np.float32)
        if self.sparse:
            low, high = self.offsets[begin], self.offsets[end]
            row = np.repeat(np.arange(end - begin), np.diff(self.offsets[begin : end + 1]))
            out[row, self.indices[low:high]] = self.values[low:high]
            return out
        size = np.dtype(self.dtype).itemsize
        here = np.arange(end - begin) if self.there is None else np.flatnonzero(self.there[begin:end])
        rows, first = (self.rows, begin) if self.there is None else (int(self.rank[-1]), int(self.rank[begin]))
        for column in range(0, self.columns, 32):
            width = min(32, self.columns - column)
            tile = self.file.view(self.tiles_at + (rows * column + first * width) * size, self.dtype, len(here) * width)
            out[here, column : column + width] = tile.reshape(len(here), width)
        return out


def feature_rows(manifest):
    """Rows of the feature files: one for each node of users where all its copies share it."""
    layers = manifest.get("layers")
    if layers is None or manifest["order"] != "none":
        return manifest["nodes"]
    kinds = 1 if layers == "directed" else len(layers["relations"]) + len(layers["subsets"])
    ends = 2 if layers == "directed" or layers.get("directed") else 1
    return manifest["nodes"] // (kinds * ends)


class NodeFeatures:
    """Rows of the features of all nodes, as float32."""

    def __init__(self, store, manifest):
        self.store, self.manifest, self.rows = store, manifest, feature_rows(manifest)
        self.spans, self.files = spans_of(self.rows), {}

    def file(self, span):
        if span not in self.files:
            self.files = {span: Features(self.store, self.manifest, self.manifest["feature_files"][span], *self.spans[span])}
        return self.files[span]

    def read(self, begin, end):
        """Rows of nodes [begin, end)."""
        parts, size = [], self.spans[0][1]
        while begin < end:
            row = begin % self.rows
            first, last = self.spans[row // size]
            count = min(end - begin, last - row)
            parts.append(self.file(row // size).read(row - first, row - first + count))
            begin += count
        return np.concatenate(parts)


class Sums:
    """Rows of the sums of one level and span."""

    def __init__(self, store, entry, level, first, last, columns):
        self.file = Sealed(store, entry, "state")
        self.first, self.columns, nodes = first, columns, last - first
        if self.file.parameters[:3] != [level, first, nodes] or self.file.parameters[4] != columns:
            raise Unreadable(f"{self.file.path}: byte 32: of another level, other nodes or columns")
        rows, wide = self.file.parameters[3], self.file.parameters[5]
        words = 0 if rows == nodes else (nodes + 63) // 64
        bits = np.unpackbits(self.file.view(0, np.uint8, 8 * words), bitorder="little")[:nodes]
        self.members = np.ones(nodes, bool) if rows == nodes else bits.astype(bool)
        if int(self.members.sum()) != rows:
            raise Unreadable(f"{self.file.path}: {int(self.members.sum())} members, {rows} rows")
        align = 64
        while align < min(4096, 4 * columns):
            align *= 2
        self.rank = np.cumsum(self.members) - self.members
        self.rows_at = (HEADER + 8 * words + align - 1) // align * align - HEADER
        wide_at = self.rows_at + 4 * rows * columns
        self.wide_nodes = self.file.view(wide_at, "<u4", wide).astype(np.int64)
        self.wide_rows = self.file.view((wide_at + 4 * wide + 7) // 8 * 8, "<i8", wide * columns).reshape(wide, columns)

    def read(self, begin, end):
        """Of nodes [begin, end) of the span: which have rows, and these rows as float64, which holds sums below 2^53."""
        here = np.flatnonzero(self.members[begin:end])
        rank = int(self.rank[begin]) if begin < len(self.rank) else 0
        view = self.file.view(self.rows_at + 4 * rank * self.columns, "<i4", len(here) * self.columns)
        rows = view.reshape(len(here), self.columns).astype(np.float64)
        low, high = np.searchsorted(self.wide_nodes, [self.first + begin, self.first + end])
        rows[np.searchsorted(here, self.wide_nodes[low:high] - self.first - begin)] = self.wide_rows[low:high]
        return here, rows


def read_labels(store, manifest):
    return Sealed(store, manifest["labels"], "labels").view(0, "<i4", manifest["nodes"])
