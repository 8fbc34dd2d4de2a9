"""Files that appear when they are whole, in folders that others may write: no link is followed, neither in writing nor in reading. And where
outputs may lie."""
from __future__ import annotations

import os
import pathlib
import secrets
import stat

from .errors import DataError, UsageError

__all__ = ["array_path", "output_path", "read_file", "replace_file", "require_file"]


def output_path(value: str | os.PathLike[str], name: str, store: pathlib.Path) -> pathlib.Path:
    """The path of an output, that of the argument ``name``. A UsageError for one in the folder of the store, whatever links lead there: it might
    take the place of a file of the store, and a purge would not reach what it holds."""
    try:
        place, folder = (pathlib.Path(os.path.realpath(one)) for one in (value, store))
    except (TypeError, ValueError):  # no path at all, or a NUL in it
        raise UsageError(f"{name}: {value!r} is no path", [name]) from None
    if place == folder or folder in place.parents:
        raise UsageError(f"{name}: {os.fspath(value)!r} lies in the store {str(store)!r}; name a place outside the store, since a purge would not reach "
                         "what it holds", [name])
    return pathlib.Path(value)


def array_path(value: str | os.PathLike[str], name: str, store: pathlib.Path, endings: tuple[str, ...] = (".npy",)) -> pathlib.Path:
    """Likewise of an array of NumPy. A UsageError for a name that promises another format; one without an ending promises none."""
    path = output_path(value, name, store)
    if path.suffix and path.suffix not in endings:
        better = os.fspath(path.with_suffix(".npy"))
        raise UsageError(f"{name}: {os.fspath(value)!r} would hold a NumPy array, whatever its name says; give {better!r} (numpy.load reads it, "
                         "numpy.savetxt or pandas writes other formats)", [name])
    return path


def _folder(path: pathlib.Path, *, link: bool) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if link else os.O_NOFOLLOW))


def replace_file(path: pathlib.Path, text: str, *, beside: pathlib.Path | None = None, link: bool = True) -> None:
    """Puts a whole file, durable, in the place of what was there, a link itself included. ``beside``: the folder where it is made, that of
    ``path`` by default. ``link``: whether the folder of ``path`` may be a link. Throws OSError."""
    target = _folder(path.parent, link=link)
    try:
        source = target if beside is None else _folder(beside, link=True)
        name = f".{path.name}.{secrets.token_hex(8)}.new"
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=source)
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, path.name, src_dir_fd=source, dst_dir_fd=target)
            except BaseException:
                os.unlink(name, dir_fd=source)
                raise
        finally:
            if source != target:
                os.close(source)
    finally:
        os.close(target)


def require_file(path: pathlib.Path) -> os.stat_result:
    """What the system says of a regular file. A DataError for a link, a pipe and the like; throws OSError."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{path}: this is no regular file; remove it, whoever has put it there")
    return found


def read_file(path: pathlib.Path) -> str:
    """The text of a regular file. A DataError for a link, a pipe and the like; throws OSError."""
    require_file(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # also where it was changed since
    with open(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DataError(f"{path}: this is no regular file; remove it, whoever has put it there")
        return file.read()
