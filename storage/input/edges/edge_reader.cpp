// storage/input/edges/edge_reader.cpp - recognises the format of an edge file and opens the reader
// for it.
#include "storage/input/edges/edge_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/input/bytes/npy.h"
#include "storage/input/edges/edge_formats.h"
#include "storage/input/edges/metis_check.h"
#include "storage/input/foreign_format.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

[[noreturn]] void refuse_weights_file(const EdgeOptions& options) {
  throw UsageError(
      options.naming_weights(display_name(*options.weights).string()) +
      ": only arrays of edges (.npy) have their weights in a file beside them; text has them in a third column");
}

/// Whether the file is an archive in which edges are to be found, or an array of one of NumPy,
/// beside which weights may lie.
bool is_archive_of_edges(const InputFile& file) {
  return !file.memory && (file.member.empty() || (file.path.extension() == ".npz" && file.columns.empty())) &&
         is_zip(file.path);
}

/// The reader of a file that is no text of pairs; none where it is one, whose bytes are then in
/// `source`.
std::unique_ptr<EdgeReader> open_other_edges(const InputFile& file, const EdgeOptions& options, bool by_look,
                                             std::optional<ByteSource>& source) {
  if (is_archive_of_edges(file)) return open_npz_edges(file, options);
  source.emplace(file);
  if (file.path.extension() == ".npz" && file.member.empty() && !file.memory)
    throw InputError(source->name(), "byte 0", "named .npz, but not an archive", "fetch or write the file again");
  if (is_npy(file, *source)) return open_npy_edges(*std::move(source), file, options);
  if (options.weights) refuse_weights_file(options);
  constexpr std::string_view kBanner = "%%MatrixMarket";
  const std::string_view head = source->peek(kBanner.size());
  if (head.starts_with(kBanner) || head.starts_with(kBanner.substr(1)) || uncompressed_extension(file.path) == ".mtx")
    return open_matrix_market_edges(*std::move(source), options);
  constexpr std::size_t kLookedAt = std::size_t{64} << 10;
  if (uncompressed_extension(file.path) == ".metis" ||
      (by_look && begins_like_metis(source->peek(kLookedAt).substr(0, kLookedAt))))
    return open_metis_edges(*std::move(source), options);
  refuse_foreign_format(*source, file, InputKind::kEdges);
  return nullptr;
}

}  // namespace

std::string EdgeOptions::naming_weights(const std::string& file) const {
  return option("edge-weights", relation.empty() ? file : relation + "=" + file);
}

std::unique_ptr<EdgeReader> open_edges(const InputFile& file, const EdgeOptions& options) {
  if (options.ids_from_one) return open_tu_edges(file, options);
  std::optional<ByteSource> source;
  if (auto reader = open_other_edges(file, options, true, source)) return reader;
  return open_text_edges(*std::move(source), options, file.columns);
}

namespace {

/// An array whose numbers are names, as lines; nothing where the file is no array. Throws
/// InputError for a matrix.
std::optional<ByteSource> open_array_words(const InputFile& file, const EdgeOptions& options) {
  if (is_archive_of_edges(file)) {
    if (const auto array = npz_edge_array(file, options))
      return open_npy_words(ByteSource(array->file), array->file, array->options);
  } else {
    ByteSource source(file);
    if (is_npy(file, source)) return open_npy_words(std::move(source), file, options);
    const std::filesystem::path extension = uncompressed_extension(file.path);
    if (extension != ".mtx" && extension != ".metis" && !source.peek(1).starts_with('%')) return std::nullopt;
  }
  throw InputError(display_name(file), "whole file",
                   "rows and columns of a matrix are positions of nodes, and numbers here are names, as " +
                       option("ids-are", "names") + " says",
                   "write the edges as text or as an array of two columns");
}

}  // namespace

OpenedEdges open_named_edges(const InputFile& file, const EdgeOptions& options, FindNodes find, std::string names) {
  std::optional<ByteSource> source;
  // Arrays in memory have positions: whoever gives them has looked names up.
  if (options.ids_are == IdsAre::names && file.path != "-" && !file.memory)
    if (std::optional<ByteSource> words = open_array_words(file, options)) source.emplace(*std::move(words));
  if (!source) {
    if (auto reader = open_other_edges(file, options, false, source)) {
      if (options.ids_are != IdsAre::names || file.memory) return {std::move(reader), nullptr};
      throw InputError(display_name(file), "whole file",
                       "numbers here are names, and an array from a pipe is not read so", "name a file");
    }
  }
  const std::uint64_t positions = options.ids_are == IdsAre::positions ? options.num_nodes.value_or(0) : 0;
  return {nullptr, std::make_unique<NamedEdges>(*std::move(source), std::move(find), std::move(names), positions,
                                                options.weight_rule(), file.columns)};
}

}  // namespace unweave
