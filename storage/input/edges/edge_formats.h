// storage/input/edges/edge_formats.h - the reader of each edge format; open_edges() chooses among
// them.
#pragma once

#include <memory>
#include <optional>

#include "storage/input/bytes/npy.h"
#include "storage/input/bytes/raw_bytes.h"
#include "storage/input/edges/edge_reader.h"

namespace unweave {

/// Each takes `source` at byte 0.
[[nodiscard]] std::unique_ptr<EdgeReader> open_text_edges(ByteSource source, const EdgeOptions& options,
                                                          const std::string& columns);
/// Text of two ids a line, of num_nodes nodes, the first of which is 1.
[[nodiscard]] std::unique_ptr<EdgeReader> open_tu_edges(const InputFile& file, const EdgeOptions& options);
[[nodiscard]] std::unique_ptr<EdgeReader> open_matrix_market_edges(ByteSource source, const EdgeOptions& options);
[[nodiscard]] std::unique_ptr<EdgeReader> open_metis_edges(ByteSource source, const EdgeOptions& options);
/// How the ids of an array of edges lie in its file: those of an edge side by side, or all first
/// ends before all second ones.
enum class EdgeLayout : std::uint8_t { pairs, rows };
/// Throws InputError for an array that is none of edges.
[[nodiscard]] EdgeLayout edge_layout(const NpyReader& array, const InputFile& file, const EdgeOptions& options);
/// Throws InputError for an array that has not one number for each of so many edges.
void require_one_weight_an_edge(const NpyReader& weights, std::uint64_t edges);
/// `file` is what `source` was made from.
[[nodiscard]] std::unique_ptr<EdgeReader> open_npy_edges(ByteSource source, const InputFile& file,
                                                         const EdgeOptions& options);
/// An array of edges as a text of edges between names: its numbers, and their weights where
/// options.weights has some.
[[nodiscard]] ByteSource open_npy_words(ByteSource source, const InputFile& file, const EdgeOptions& options);
/// Takes the archive whole.
[[nodiscard]] std::unique_ptr<EdgeReader> open_npz_edges(const InputFile& file, const EdgeOptions& options);
/// An array of edges in an archive, and how it is to be read.
struct NpzEdgeArray {
  InputFile file;
  EdgeOptions options;
};
/// The array of edges of an archive, nothing where that has a sparse matrix. Throws InputError
/// where it has neither.
[[nodiscard]] std::optional<NpzEdgeArray> npz_edge_array(const InputFile& file, const EdgeOptions& options);

}  // namespace unweave
