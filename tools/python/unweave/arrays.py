"""Arrays and tables of other packages, as inputs of an import. Nothing is copied where memory can be read as it lies."""
from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterable

import numpy as np

from . import _arrow
from .column_names import begin_with_ends, ends_among
from .columns import Columns, is_columnar, require_no_ids
from .errors import UsageError, columns_chosen
from .names import NameTable, NodeNumbers, Numbers, class_codes, class_names_of, is_missing, nodes_called, require_listed, require_no_texts, texts_of, told_as
from .request_lines import is_digits, is_encodable
from .row_order import index_of, is_default, require_nodes_as_values, require_order, require_unmoved

__all__ = ["array_of", "columns_of", "features_of", "ids_of", "input_of", "is_path", "joined", "labels_of", "little_endian", "names_of", "node_ids",
           "remarks_on_features", "remarks_on_rows", "require_flags", "require_no_largest", "require_no_table", "require_unmasked", "table_of",
           "whole_number", "with_rows"]


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def columns_of(value: Any) -> Columns | None:
    """Columns of files of Parquet or Arrow, where the value is such, or a path of one; else None."""
    return value if isinstance(value, Columns) else Columns(value) if is_columnar(value) else None


def array_of(value: Any, name: str) -> np.ndarray:
    """An array of NumPy over the memory of ``value``: an array, a tensor on the CPU (``__dlpack__``), a column or a series, a
    list of numbers. Throws UsageError for what is none, and for a masked array, whose gaps nobody would see."""
    require_unmasked(value, name)
    require_listed(value, name)
    with told_as(name, value):
        array = _array(value, name)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{name}: elements of type {array.dtype}, where numbers are wanted{_remedy_for(value, array, name)}", [name])
    return array


def _remedy_for(value: Any, array: np.ndarray, name: str) -> str:
    """What makes numbers of elements that are none by their type; an empty text where nothing does."""
    if array.dtype.names:
        return _remedy_for_fields(list(array.dtype.names), name)
    if array.dtype.kind not in "OUS":
        return ""
    elements = array.reshape(-1).tolist()
    if elements and hasattr(value, "tolist") and all(isinstance(one, (tuple, list)) for one in elements):
        return f"; give {name}.tolist()"
    if any(isinstance(one, (str, bytes)) for one in elements):
        if not hasattr(value, "select_dtypes"):
            return "; texts are names where all elements are"
        if name in ("labels", "y"):
            return f"; give one column, as {name}[{value.columns[0]!r}]"
        return f"; {name}.select_dtypes('number') leaves out columns of texts"
    if any(map(is_missing, elements)) and name not in ("labels", "y"):
        remedy = f"{name}.dropna()" if name in ("graph", "edges") else f"{name}.fillna(VALUE), with the value that they are to have"
        return "; values are missing" + (f": give {remedy}" if hasattr(value, "fillna") else "")
    try:
        numbers = np.array(elements, np.float64)
    except (TypeError, ValueError):
        return ""
    are_bools = all(isinstance(one, bool) for one in elements)
    kind = "bool" if are_bools else "int64" if np.array_equal(numbers, np.round(numbers)) else "float64"
    return f"; give {name}.astype('{kind}')" if hasattr(value, "astype") else f"; give numpy.array({name}, '{kind}')"


def _remedy_for_fields(fields: list[str], name: str) -> str:
    """What takes the fields that are meant of an array that has several, without the index that pandas puts before them."""
    index = fields[0] if len(fields) > 1 and fields[0] in ("index", "level_0") else None
    rest = fields[1:] if index else fields
    without = f", without {index!r}, which is the index of a frame" if index else ""
    if name in ("graph", "edges") and len(rest) > 1:
        ends = ends_among(rest) or (rest[:2] if len(rest) == 2 or begin_with_ends(rest) else ("SOURCE", "TARGET"))
        return f"; give the ends alone, as in ({name}[{ends[0]!r}], {name}[{ends[1]!r}]){without}"
    if name in ("features", "X"):
        return f"; give numpy.array({name}[{rest}].tolist()){without}" if index else f"; give numpy.array({name}.tolist())"
    return f"; give one field, as {name}[{rest[0]!r}]{without}"


def _unboxed(value: Any, array: np.ndarray, name: str) -> np.ndarray:
    """Numbers that pandas gives as objects, since those of their type may be missing, where none is; missing labels are NaN."""
    types = np.atleast_1d(np.asarray(getattr(value, "dtypes", getattr(value, "dtype", None)), dtype=object)).tolist()
    kinds = [getattr(kind, "numpy_dtype", kind) for kind in types]
    if not kinds or not all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in kinds):
        return array
    if not np.any(np.asarray(value.isna())):
        return value.to_numpy(np.result_type(*kinds))
    return value.to_numpy(np.float64, na_value=np.nan) if name in ("labels", "y") else array


def _array(value: Any, name: str) -> np.ndarray:
    if isinstance(value, np.ndarray):
        array = value
    elif hasattr(value, "__arrow_c_stream__"):
        columns = _arrow.columns(value, name)
        if len(columns) != 1:
            raise UsageError(f"{name}: a table of {len(columns)} columns, where one is wanted")
        array = joined(columns[0][1])
    elif hasattr(value, "to_numpy"):
        array = value.to_numpy()
        if array.dtype.kind == "O" and hasattr(value, "isna"):
            array = _unboxed(value, array, name)
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        array = np.from_dlpack(value)
    elif hasattr(value, "detach"):  # a tensor of PyTorch that may want a gradient
        array = np.asarray(value.detach())
    else:
        array = np.asarray(value)
    return array


def require_unmasked(value: Any, name: str) -> None:
    """A UsageError for a masked array of NumPy: what lies under its mask would be read as if it were there."""
    if not isinstance(value, np.ma.MaskedArray):
        return
    kind = value.dtype.kind
    if kind in "OUS":
        remedy = f"{name}.tolist(), which has None in their places"
    elif name in ("labels", "y"):
        remedy = f"{name}.filled(numpy.nan)" if kind == "f" else f"{name}.filled(-1)" if kind == "i" else f"{name}.astype(int).filled(-1)"
        remedy += ", which stands for no label"
    else:
        remedy = f"{name}.filled(False)" if kind == "b" else f"{name}.filled(VALUE), with the value that they are to have"
    raise UsageError(f"{name}: a masked array, whose masked elements would be read as if they were there; give {remedy}", [name])


def joined(chunks: list[np.ndarray]) -> np.ndarray:
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def little_endian(array: np.ndarray) -> np.ndarray:
    """The array with a type that a .npy file of Unweave's may have."""
    if array.dtype.byteorder == ">" or array.dtype.itemsize > 8:
        array = array.astype(np.float64 if array.dtype.kind == "f" else array.dtype.newbyteorder("<"))
    return array


def input_of(name: str, array: np.ndarray) -> dict[str, Any]:
    """One array as an input."""
    array = little_endian(array)
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    if not (fortran or array.flags.c_contiguous):
        array = np.ascontiguousarray(array)
    return {"name": name, "type": array.dtype.str.replace("|b", "|b"), "shape": list(array.shape),
            "fortran_order": bool(fortran), "pieces": [array.T if fortran else array]}


def node_ids(nodes: Any, name: str = "nodes", numbers: Numbers | None = None, numbers_are_names: bool = False,
             count: Callable[[], int] | None = None) -> np.ndarray | None:
    """Ids of nodes, from ids, a mask, or with ``numbers`` their names, which with ``numbers_are_names`` integers are, too; None for None.
    ``count``: says how many nodes there are, and how long a mask is; with it integers that may be names, or ids of other
    nodes, are an error."""
    if nodes is None:
        return None
    if isinstance(nodes, NodeNumbers):
        numbers, nodes = None, np.asarray(nodes)
    if isinstance(nodes, (str, bytes)):
        raise UsageError(f"{name}: {nodes!r} is one text, where a list of names or numbers is wanted", [name])
    require_no_table(nodes, name)
    if numbers is not None and (texts := texts_of(nodes, name)) is not None:
        require_nodes_as_values(nodes, name, lambda index: _may_be_nodes(index, numbers, numbers_are_names, count))
        return numbers([str(text) for text in texts])
    if isinstance(nodes, np.ma.MaskedArray):
        raise UsageError(f"{name}: a masked array, of which it is not clear what is meant; give its elements by .compressed()", [name])
    if numbers is not None and (words := _named_by_index(nodes, name, numbers_are_names)) is not None:
        try:
            if isinstance(words, np.ndarray):
                return nodes_called(words, f"{name}.index[{name}]", numbers, count, index_of(nodes))
            return numbers(words)
        except UsageError as error:
            raise UsageError(f"{name}: a mask whose index says whose its rows are: {error}; give {name}.to_numpy() where row i is that of node i",
                             [name]) from None
    array = array_of(nodes, name)
    nodes_are_integers = array.dtype.kind in "iu"
    if array.dtype.kind != "b":
        require_nodes_as_values(nodes, name, lambda index: _may_be_nodes(index, numbers, numbers_are_names, count))
    if array.dtype.kind == "b":
        wanted = count() if count is not None else None
        require_order(nodes, name, count=wanted)
        if array.ndim != 1 or (wanted is not None and len(array) != wanted):
            raise UsageError(f"{name}: a mask of shape {array.shape}, where one boolean for each of {'the' if wanted is None else wanted} nodes is wanted", [name])
        array = np.flatnonzero(array)
    elif nodes_are_integers and array.size > 2:
        _require_no_bits(array, name, nodes)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise UsageError(f"{name}: an array of shape {array.shape} and type {array.dtype}, where ids of nodes or a mask are wanted", [name])
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise UsageError(f"{name}: no node has the number {array.max()}", [name])
    remedies = None if array.ndim else (f"[str({name})]", f"unweave.NodeNumbers({name})")
    array = np.atleast_1d(array)
    if numbers is not None and numbers_are_names and nodes_are_integers:
        return nodes_called(array, name, numbers, count, remedies=remedies)
    if numbers is not None and nodes_are_integers and count is not None:
        require_no_texts(array, name, numbers, count, remedies)
    return array.astype(np.int64, copy=False)


def _may_be_nodes(index: np.ndarray, numbers: Numbers | None, are_names: bool, count: Callable[[], int] | None) -> bool:
    """Whether an index of a Series may be that of nodes: by their numbers, or some of it by their names."""
    if index.dtype.kind in "iuf":
        if np.any(index != np.floor(index)):
            return False
        if index.min() >= 0 and (count is None or index.max() < count()):
            return True
    if numbers is None or (index.dtype.kind in "iuf" and not are_names):
        return False
    for one in index[:8].tolist():
        try:
            numbers([str(one)])
        except UsageError:
            continue
        return True
    return False


def require_no_table(ids: Any, name: str) -> None:
    """A UsageError for a table where nodes are wanted: a column may have them, and of pandas the index as well."""
    has_index = hasattr(ids, "iloc") and hasattr(ids, "columns")
    columns = [] if isinstance(ids, Columns) else list(_columns_in(ids))
    if not has_index and len(columns) < 2:
        return
    may_have_nodes = has_index and not is_default(ids.index)
    # A column keeps the index, which may be read as its nodes unless it numbers chosen rows.
    numbers_rows = not may_have_nodes or (ids.index.is_monotonic_increasing and getattr(ids.index.dtype, "kind", "O") in "iu" and ids.index.name is None)
    remedies = [f"a column, {name}[{columns[0]!r}]" + ("" if numbers_rows else ".to_numpy()")] if columns else []
    if may_have_nodes:
        remedies.append(f"list({name}.index)")
    what = "whose index may have the nodes, or a column" if has_index else "of which a column may have the nodes,"
    raise UsageError(f"{name}: a table, {what} their numbers or a mask; give {', or '.join(remedies or ['a list of nodes'])}", [name])


def _require_no_bits(array: np.ndarray, name: str, value: Any) -> None:
    """A UsageError for ids that are a mask by all appearances."""
    if not np.any((array != 0) & (array != 1)):
        mask = f"{name}.astype(bool)" if hasattr(value, "astype") else f"numpy.array({name}, bool)"
        raise UsageError(f"{name}: {array.size} numbers that are all 0 or 1 seem to be a mask; give {mask}, or each node once, as a list",
                         [name])


def _named_by_index(mask: Any, name: str, numbers_are_names: bool) -> list[str] | np.ndarray | None:
    """The names that a mask of pandas has selected, whose index has the names of its rows, as integers where they are such; None
    for anything else."""
    if not hasattr(mask, "iloc") or getattr(mask, "dtype", None) != bool or (index := index_of(mask)) is None:
        return None
    if index.dtype.kind in "iu" and numbers_are_names:
        return index[mask.to_numpy()]
    texts = texts_of(index, name, missing=True)
    if texts is None:
        return None
    words = [text for text, there in zip(texts, mask.to_numpy()) if there]
    if None in words:
        raise UsageError(f"{name}: a mask that selects a row whose index has no name; give {name}.to_numpy() where row i is that of node i", [name])
    return [str(word) for word in words]


def whole_number(value: Any, name: str, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number within bounds; a UsageError for anything else."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(f"{name}: {value!r} is not a whole number from {least} to {most}", [name])
    return int(value)


def require_flags(**flags: Any) -> None:
    """A UsageError for a flag that is neither True nor False, by the name of its argument: "no" would count as True."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise UsageError(f"{name}: {value!r} is not True or False", [name])


def pair_words(pairs: Any) -> str:
    """Rules of pairs as the library takes them, from a text or a dict; a UsageError for anything else."""
    if isinstance(pairs, str) and pairs:
        return pairs
    if not isinstance(pairs, dict) or not pairs:
        raise UsageError(f"pairs: {pairs!r} is neither a text such as \"valid=.1,test=.1\" nor a dict such as {{\"valid\": .1, \"test\": .1}}",
                         ["pairs"])
    words = []
    for key, value in pairs.items():
        if isinstance(value, (bool, np.bool_)):
            if key != "apart":
                raise UsageError(f"pairs[{key!r}]: {value!r} is no number", ["pairs"])
            words += ["apart"] if value else []
        elif isinstance(value, (int, float, np.integer, np.floating)):
            words.append(f"{key}={value.item() if isinstance(value, np.generic) else value}")
        else:
            raise UsageError(f"pairs[{key!r}]: {value!r} is no number", ["pairs"])
    return ",".join(words)


def row_words(rows_of: Any, scale_rows: Any, lift: Any, pair: Any = None, pool: Any = None) -> dict[str, Any]:
    """What rows of a model are made of, as the library takes it, by the names of the arguments; a UsageError for what is neither text nor
    words, and for no words at all."""
    words = rows_of if rows_of is None or isinstance(rows_of, str) else _words_of(rows_of)
    if words is not None and not len(words):
        raise UsageError(f"rows_of: {rows_of!r} has no words; leave it out for \"levels\", or name them, as in \"stack,labels\"", ["rows_of"])
    if not isinstance(scale_rows, (str, type(None))):
        raise UsageError(f"scale_rows: {scale_rows!r} is neither \"clip\" nor \"unit\"", ["scale_rows"])
    is_width = isinstance(lift, (int, np.integer)) and not isinstance(lift, bool)
    if not (lift is None or is_width or isinstance(lift, str) and lift):
        raise UsageError(f"lift: {lift!r} is neither a whole number nor a text such as \"1024,key=7,bias=0.5\"", ["lift"])
    if not isinstance(pair, (str, type(None))):
        raise UsageError(f"pair: {pair!r} is no text such as \"hadamard,by=16\"", ["pair"])
    if not isinstance(pool, (str, type(None))):
        raise UsageError(f"pool: {pool!r} is neither \"mean\" nor \"root\", nor a text such as \"sum=64\"", ["pool"])
    return {"rows_of": words, "scale_rows": scale_rows, "lift": None if lift is None else str(lift), "pair": pair, "pool": pool}


def _words_of(rows_of: Any) -> list[str]:
    try:
        words = list(rows_of)
    except TypeError:
        words = [None]
    if isinstance(rows_of, dict) or not all(isinstance(word, str) for word in words):
        raise UsageError(f"rows_of: {rows_of!r} is not a text or a list of words, as in \"stack,labels\" or [\"stack\", \"labels\"]", ["rows_of"])
    return words


def _names_in_memory(names: Any) -> np.ndarray | list[str | None]:
    """Names of nodes: integers, or a text for each, None or "" for a node without a name; a UsageError for what is neither."""
    require_unmasked(names, "ids")
    require_listed(names, "ids")
    # NumPy makes texts of numbers, and of NaN, that stand among texts in a list.
    is_mixed = isinstance(names, (list, tuple)) and any(isinstance(one, (str, bytes)) for one in names)
    with told_as("ids", names):
        array = np.asarray(names.to_numpy() if hasattr(names, "to_numpy") else names, dtype=object if is_mixed else None)
        if array.dtype.kind == "O" and hasattr(names, "isna"):
            array = _unboxed(names, array, "ids")
    if array.dtype.kind in "iu":
        return array
    if array.ndim != 1 or array.dtype.kind not in "OUS":
        raise UsageError(f"ids: an array of shape {array.shape} and type {array.dtype}, where one name a node is wanted", ["ids"])
    texts = array.tolist()
    for number, name in enumerate(texts):
        text = texts[number] = name.decode(errors="surrogateescape") if isinstance(name, bytes) else name
        if text is None or (isinstance(text, str) and "\0" not in text and is_encodable(text)):
            continue
        remedy = ""
        if is_missing(name) and all(isinstance(one, str) or is_missing(one) for one in array):
            remedy = "; give [name if isinstance(name, str) else None for name in ids] where it has none"
        elif isinstance(name, (int, np.integer)) and not any(map(is_missing, array)):
            remedy = "; give [str(name) for name in ids] where numbers are names"
        raise UsageError(f"ids: {name!r} of node {number} is no name: a text is wanted, or None for a node without a name{remedy}", ["ids"])
    return texts


def names_of(names: Any) -> dict[str, Any]:
    """Options of an import for the names of nodes: a path, as ``--ids`` takes it; integers; or texts, one a node, None or "" for a node
    without a name."""
    if (files := columns_of(names)) is not None:
        return files.names()
    if is_path(names):
        return {"ids": os.fspath(names)}
    require_unmoved(names, "ids")
    given = _names_in_memory(names)
    if isinstance(given, np.ndarray):
        return {"ids": input_of("ids", np.atleast_1d(given))}
    texts = [(text or "").encode() for text in given]
    return {"ids": input_of("ids", np.array(texts, dtype=np.bytes_) if any(texts) else np.zeros(len(texts), "S1"))}


def table_of(names: Any) -> NameTable | None:
    """The numbers of nodes by these names, as ``ids`` of an import has them; None where they lie in files."""
    if names is None or is_path(names) or columns_of(names) is not None:
        return None
    given = _names_in_memory(names)
    return NameTable(given.reshape(-1).tolist() if isinstance(given, np.ndarray) else given, names.index if hasattr(names, "iloc") else None)


def features_of(features: Any, table: NameTable | None = None) -> dict[str, Any]:
    """Options of an import for the features: a path, an array (N, F), a sparse matrix of SciPy, or Columns. ``table``: the nodes' names."""
    require_order(features, "features", table)
    if (files := columns_of(features)) is not None:
        return files.features()
    if is_path(features):
        return {"features": os.fspath(features)}
    if hasattr(features, "tocsr"):
        matrix = features.tocsr()
        if not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        return {"csr": {"indptr": input_of("features.indptr", matrix.indptr), "indices": input_of("features.indices", matrix.indices),
                        "values": input_of("features.data", array_of(matrix.data, "features")), "columns": int(matrix.shape[1])}}
    require_no_ids(_columns_in(features), "features")
    array = _table(features, "features")
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise UsageError(f"features: an array of shape {array.shape}, where (N, F) is wanted")
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)  # rows are read one after another
    return {"features": input_of("features", array)}


def _columns_in(table: Any) -> Iterable[Any]:
    """The names of the columns of a table of pandas, polars or pyarrow, or of files; none for anything else."""
    if isinstance(table, Columns):
        return table.names_of_all()
    is_frame = hasattr(table, "iloc") or hasattr(table, "get_columns")
    return table.columns if is_frame and hasattr(table, "columns") else getattr(table, "column_names", ())


#: What columns beside features are called, of labels and of splits.
_NO_FEATURES = {"label", "labels", "y", "target", "targets", "class", "split", "fold",
                *(form.format(split) for split in ("train", "val", "valid", "validation", "test") for form in ("{}", "is_{}", "{}_mask"))}


def remarks_on_columns(features: Any, name: str) -> list[str]:
    """Columns of features that are called as labels or splits are."""
    return [f"{name}: the column {one!r} is one of the features, and is called as labels or splits are; leave it out if it is none"
            for one in _columns_in(features) if isinstance(one, str) and one.strip().lower() in _NO_FEATURES]


def remarks_on_rows(features: Any, name: str) -> list[str]:
    """What the names of the columns of rows in memory say, before these become an array without names: those of ids are a UsageError."""
    if is_path(features) or columns_of(features) is not None:
        return []  # the import looks at them
    require_no_ids(_columns_in(features), name)
    return remarks_on_columns(features, name)


def remarks_on_features(features: Any, given: Any, table: NameTable | None) -> list[str]:
    """What may be a slip in features: columns that are called as labels or splits are, and ids in the first column, which say
    another order of the rows. ``given``: the option that :func:`features_of` has made of them. ``table``: the nodes' names."""
    remarks = remarks_on_columns(columns_of(features) or features, "features")
    if not isinstance(given, dict) or len(given["shape"]) != 2 or given["shape"][1] < 2:
        return remarks
    rows = "features" if isinstance(features, np.ndarray) else "numpy.asarray(features)"
    if (found := _order_in(given["pieces"][0][:, 0], rows, table)) is not None:
        remarks.append(f"features: column 0 {found[0]}, and row i is taken for that of node i; {rows}[:, 1:] leaves it out, and "
                       f"{rows}[{found[1]}, 1:] also brings the rows into its order")
    return remarks


#: Columns of features as errors.text_of() chooses them.
_CHOSEN = re.compile(r"(?<![\w./'-])features\[:, ([0-9]*:[0-9]*|\[(?:[^\[\]]|\[1\])*\])\]")


def with_rows(remark: str, features: Any) -> str:
    """A remark of an import that chooses columns of ``features``, in the words that take them of such an object."""
    if is_path(features) or isinstance(features, Columns):
        return remark
    is_table = hasattr(features, "column_names")
    if hasattr(features, "tocsr"):
        rows, remark = "features.tocsr()", re.sub(r"^features\.indptr: ", "features: ", remark)
    else:
        rows = "features.iloc" if hasattr(features, "iloc") else "features" if hasattr(features, "shape") else "numpy.asarray(features)"
    count = "features.num_columns" if is_table else "features.shape[1]" if hasattr(features, "shape") else "numpy.shape(features)[1]"

    def chosen(one: re.Match[str]) -> str:
        choice = one[1].replace("features.shape[1]", count)
        if is_table:
            return f"features.select({choice if choice.startswith('[') else columns_chosen(choice, count, listed=True)})"
        return f"{rows}[:, {choice}]"

    return _CHOSEN.sub(chosen, remark)


def _order_in(column: np.ndarray, rows: str, table: NameTable | None) -> tuple[str, str] | None:
    """What a column of ids says where it says another order of the ``rows``, and what gives that order; None for any other column."""
    for begin in range(0, len(column), 4096):  # ids are whole numbers, each there once; of a feature that is not so the first rows tell
        some = column[begin:begin + 4096]
        if some.dtype.kind == "b" or np.any((some != np.floor(some)) | (some < 0) | (some > 2**53)) or len(np.unique(some)) < len(some):
            return None
    numbers, count = column.astype(np.int64), np.arange(len(column))
    if len(column) < 3:  # so few have such numbers by chance
        return None
    places = None if table is None else table.places(numbers.tolist())
    if places is not None and np.array_equal(np.sort(places), count):
        order = f"[{rows}[:, 0].tolist().index(int(name)) for name in ids]"
        return None if np.array_equal(places, count) else ("has the names of the nodes in another order than ids", order)
    count += numbers.min(initial=1)  # from 0, or from 1
    if np.array_equal(numbers, count) or not np.array_equal(np.sort(numbers), count):
        return None
    return "numbers the rows in another order than they stand in", f"numpy.argsort({rows}[:, 0])"


def require_no_largest(array: np.ndarray, name: str, value: Any) -> None:
    """A UsageError for labels of which one is the largest of a type without a sign: it may be a class, or what -1 has become."""
    if array.dtype.kind != "u" or array.size == 0 or array.max() != (most := np.iinfo(array.dtype).max):
        return
    rows = name if hasattr(value, "astype") else f"numpy.asarray({name})"
    as_class = f", or {rows}.astype(int) for the class" if array.dtype.itemsize < 8 else ""
    raise UsageError(f"{name}: {most}, the largest number of type {array.dtype}, may stand for no label, or be a class; give "
                     f"numpy.where({rows} == {most}, -1, {rows}.astype(int)) for none{as_class}", [name])


def _table(value: Any, name: str) -> np.ndarray:
    """An array of one or more columns."""
    if hasattr(value, "__arrow_c_stream__") and not isinstance(value, np.ndarray):
        named = _arrow.columns(value, name)
        if name == "features":
            require_no_ids([column for column, _ in named], name)
        columns = [joined(chunks) for _, chunks in named]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    return array_of(value, name)


def labels_of(labels: Any, classes: Any = None, table: NameTable | None = None) -> dict[str, Any]:
    """Options of an import for the classes of all nodes and their number or names: a path; an array of N numbers, -1 or NaN for none;
    or N names, None or NaN for none. ``classes``: how many there are, or their names. ``table``: the nodes' names."""
    require_unmasked(labels, "labels")
    require_order(labels, "labels", table)
    options: dict[str, Any] = {}
    names = None
    if classes is not None and not isinstance(classes, (int, np.integer)):
        names = class_names_of(classes)
        options = {"classes": len(names), "class_names": names}
    elif classes is not None:
        options = {"classes": whole_number(classes, "classes", 1, 2**31 - 1)}
    if labels is None:
        return options
    files = columns_of(labels)
    if files is None and is_path(labels):
        return options | {"labels": os.fspath(labels)}
    texts = files.texts(missing=True) if files is not None else texts_of(labels, "labels", missing=True)
    if texts is None:
        number = next((one for one in names or () if is_digits(one.lstrip("-"))), None)
        if number is not None:
            raise UsageError(f"labels: numbers, and {number!r} is the name of a class: a number may be a name, or count classes from 0; give names as texts",
                             ["labels", "classes"])
        if files is not None:
            return options | {"labels": files.vector("labels", missing=-1)}
        array = array_of(labels, "labels")
        require_no_largest(array, "labels", labels)
        return options | {"labels": input_of("labels", array)}
    if "classes" in options and names is None:
        raise UsageError(f"classes: {classes} is a number, and the labels are names; give the names of all classes, or leave it out", ["classes"])
    categories = getattr(getattr(labels, "dtype", None), "categories", None)
    if names is None and hasattr(categories, "__iter__"):
        names = [str(one) for one in categories]  # pandas' order
    if (place := next((i for i, one in enumerate(texts) if one == ""), None)) is not None:
        raise UsageError(f"labels: element {place} is an empty text, which may be a class or none; give None for none", ["labels"])
    codes, names = class_codes(texts, names)
    return {"labels": input_of("labels", codes), "classes": len(names), "class_names": names}


def graph_numbers(graphs: Any, count: Callable[[], int]) -> np.ndarray | None:
    """Numbers of graphs of a store, from numbers or a mask; None for None. ``count``: says how many graphs there are."""
    numbers = node_ids(graphs, "graphs", count=count)
    if numbers is None or not len(numbers):
        return numbers
    if (wrong := numbers[(numbers < 0) | (numbers >= count())]).size:
        there = f"has the graphs 0 to {count() - 1}" if count() else "has no whole graphs"
        raise UsageError(f"graphs: there is no graph {wrong[0]}; the store {there}", ["graphs"])
    return numbers


def graphs_of(graphs: Any, name: str) -> Any:
    """An input for whole numbers, one a node or one each of some graphs: a path, or an array; for splits also booleans, one a graph."""
    files = columns_of(graphs)
    if files is not None:
        return files.vector(name)
    if is_path(graphs):
        return os.fspath(graphs)
    array = array_of(graphs, name)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list
    if array.dtype.kind not in "biu" or array.ndim > 2:
        raise UsageError(f"{name}: elements of type {array.dtype}, where numbers of graphs, or a mask of graphs, are wanted", [name])
    return input_of(name, array)


def ids_of(ids: Any, name: str, table: NameTable | None = None, numbers_are_names: bool = False) -> Any:
    """An input for ids of nodes, or for a mask: a path, or an array of integers or of booleans; with ``table`` also of names, which with
    ``numbers_are_names`` integers are, too."""
    files = columns_of(ids)
    if files is None and is_path(ids):
        return os.fspath(ids)
    require_no_table(ids, name)
    if (texts := files.texts() if files is not None else texts_of(ids, name)) is not None:
        require_nodes_as_values(ids, name, lambda index: _may_be_nodes(index, table, numbers_are_names, None))
        if table is None:
            raise UsageError(f"{name}: names, and the nodes have none; ids gives them, as a list that names all nodes in the order of their rows", [name, "ids"])
        return input_of(name, table([str(text) for text in texts], name))
    if files is not None:
        return files.vector(name)
    if isinstance(ids, NodeNumbers):
        numbers_are_names = False
    array = array_of(ids, name)
    if array.dtype.kind != "b":
        require_nodes_as_values(ids, name, lambda index: _may_be_nodes(index, table, numbers_are_names, None))
    if array.dtype.kind == "b":
        require_order(ids, name, table)
        if array.ndim == 2 and 1 not in array.shape:
            raise UsageError(f"{name}: {array.shape[0]} x {array.shape[1]} booleans, where one for each node is wanted; give one of these masks, {name}[:, 0] where "
                             f"each is a column, or {name}[0]", [name])
    elif array.dtype.kind in "iu" and array.size > (0 if hasattr(ids, "iloc") and index_of(ids) is not None else 2):
        _require_no_bits(array, name, ids)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list
    if array.dtype.kind not in "biu":
        raise UsageError(f"{name}: elements of type {array.dtype}, where ids or a mask are wanted")
    if table is not None and numbers_are_names and array.dtype.kind in "iu":
        array = table.of_numbers(array, name)
    return input_of(name, array)
