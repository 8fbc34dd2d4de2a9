// storage/input/edge_formats.h - the reader of each edge format; open_edges() chooses among them.
#pragma once

#include <memory>

#include "storage/input/edge_reader.h"

namespace unweave {

/// Each takes `source` at byte 0.
[[nodiscard]] std::unique_ptr<EdgeReader> open_text_edges(ByteSource source, const EdgeOptions& options);
[[nodiscard]] std::unique_ptr<EdgeReader> open_matrix_market_edges(ByteSource source, const EdgeOptions& options);
[[nodiscard]] std::unique_ptr<EdgeReader> open_metis_edges(ByteSource source, const EdgeOptions& options);
/// Where weights are ignored or read, a column that is taken for one may be an end: throws InputError where the header of a text calls a
/// later column an end of an edge, and not the first two.
void require_ends_first(std::string_view header, const LineReader& lines);
/// `file` is what `source` was made from.
[[nodiscard]] std::unique_ptr<EdgeReader> open_npy_edges(ByteSource source, const InputFile& file,
                                                         const EdgeOptions& options);
/// Takes the archive whole.
[[nodiscard]] std::unique_ptr<EdgeReader> open_npz_edges(const InputFile& file, const EdgeOptions& options);

}  // namespace unweave
