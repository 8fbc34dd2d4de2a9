// storage/input/foreign_format.h - files of formats that are not read, told by their first bytes,
// with the Python that converts them.
#pragma once

#include <string>

#include "storage/input/bytes/byte_source.h"

namespace unweave {

/// What a file was given for.
enum class InputKind : std::uint8_t { kEdges, kFeatures, kLabels, kNodeIds };

/// The path as a literal of Python, or a stand-in where quoting it would take more than quotes.
[[nodiscard]] std::string python_path(const std::filesystem::path& path);

/// Throws InputError naming format and conversion where `source`, made from `file` and at its first
/// byte, holds Parquet, Arrow (file or stream), HDF5, XML (GraphML, GEXF), GML, JSON, a pickle, a
/// zip archive (one of torch.save, or of arrays, none of which is named) or UTF-16 text.
void refuse_foreign_format(ByteSource& source, const InputFile& file, InputKind kind);

}  // namespace unweave
