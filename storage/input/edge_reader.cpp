// storage/input/edge_reader.cpp - recognises the format of an edge file and opens the reader for it.
#include "storage/input/edge_reader.h"

#include "storage/input/edge_formats.h"
#include "storage/input/foreign_format.h"
#include "storage/input/metis_check.h"
#include "storage/input/node_id.h"
#include "storage/input/npy.h"
#include "storage/io/error.h"

namespace unweave {

std::unique_ptr<EdgeReader> open_edges(const InputFile& file, const EdgeOptions& options) {
  if (!file.memory && file.member.empty() && is_zip(file.path)) return open_npz_edges(file, options);
  ByteSource source(file);
  if (file.path.extension() == ".npz" && file.member.empty() && !file.memory)
    throw InputError(source.name(), "byte 0", "named .npz, but not an archive", "fetch or write the file again");
  if (is_npy(file, source)) return open_npy_edges(std::move(source), file, options);
  const std::uint64_t limit = id_limit(options.num_nodes);
  constexpr std::string_view kBanner = "%%MatrixMarket";
  const std::string_view head = source.peek(kBanner.size());
  if (head.starts_with(kBanner) || uncompressed_extension(file.path) == ".mtx") {
    return open_matrix_market_edges(std::move(source), limit, options.ignore_weights);
  }
  constexpr std::size_t kLookedAt = std::size_t{64} << 10;
  if (uncompressed_extension(file.path) == ".metis" || begins_like_metis(source.peek(kLookedAt).substr(0, kLookedAt)))
    return open_metis_edges(std::move(source), limit, options.ignore_weights);
  refuse_foreign_format(source, file, InputKind::kEdges);
  return open_text_edges(std::move(source), limit, options.ignore_weights);
}

}  // namespace unweave
