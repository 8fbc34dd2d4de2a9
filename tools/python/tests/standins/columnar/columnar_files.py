"""What stands for files of Parquet and Arrow in these tests: archives of NumPy, a member a column and a group of rows, "GROUP.COLUMN".
Texts are arrays of objects; missing values are "GROUP.COLUMN!", booleans."""
import io
import pathlib

import numpy as np

MAGIC = {".parquet": b"PAR1", ".arrow": b"ARROW1\0\0", ".feather": b"ARROW1\0\0", ".arrows": b"\xff\xff\xff\xff"}


def write(file, columns, groups, missing=None):
    """``columns``: arrays by name; ``groups``: rows of each group."""
    parts, first = {}, 0
    for number, rows in enumerate(groups):
        for name, values in columns.items():
            parts[f"{number}.{name}"] = np.asarray(values)[first:first + rows]
            if missing and name in missing:
                parts[f"{number}.{name}!"] = missing[name][first:first + rows]
        first += rows
    content = io.BytesIO()
    np.savez(content, **parts)
    file.write_bytes(MAGIC[file.suffix] + content.getvalue())
    return file


def groups(file):
    """Dictionaries of (values, missing or None), group after group."""
    content = pathlib.Path(file).read_bytes()
    archive = np.load(io.BytesIO(content[content.index(b"PK\x03\x04"):]), allow_pickle=True)
    for number in sorted({int(name.partition(".")[0]) for name in archive.files}):
        mine = {name.partition(".")[2]: archive[name] for name in archive.files if name.startswith(f"{number}.")}
        yield {name: (values, mine.get(name + "!")) for name, values in mine.items() if not name.endswith("!")}
