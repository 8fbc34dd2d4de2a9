// storage/input/foreign_format.h - files of formats that are not read, told by their first bytes, with the Python that
// converts them.
#pragma once

#include <string>

#include "storage/input/byte_source.h"

namespace unweave {

/// What a file was given for.
enum class InputKind : std::uint8_t { kEdges, kFeatures, kLabels, kNodeIds };

/// Throws InputError naming format and conversion where `source`, made from `file` and at its first byte, holds Parquet,
/// Arrow (file or stream), HDF5, XML (GraphML, GEXF), GML, JSON, a pickle, a zip archive (one of torch.save, a sparse
/// matrix of SciPy, other arrays) or UTF-16 text; where it is given for edges, METIS adjacency lists too.
void refuse_foreign_format(ByteSource& source, const InputFile& file, InputKind kind);

/// The error for METIS adjacency lists, `place` where they were recognised.
[[noreturn]] void throw_metis(const std::filesystem::path& file, std::string_view place);

}  // namespace unweave
