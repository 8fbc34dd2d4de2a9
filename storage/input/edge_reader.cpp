#include "storage/input/edge_reader.h"

#include "storage/error.h"
#include "storage/input/edge_formats.h"
#include "storage/input/node_id.h"

namespace unweave {

std::unique_ptr<EdgeReader> open_edges(const InputFile& file, const EdgeOptions& options) {
  ByteSource source(file);
  const std::uint64_t limit = id_limit(options.num_nodes);
  const std::string_view head = source.peek(16);
  if (head.starts_with("\x93NUMPY")) return open_npy_edges(std::move(source), file, limit, options.temp_dir);
  if (head.starts_with("%%MatrixMarket")) return open_matrix_market_edges(std::move(source), limit);
  if (head.starts_with("PK\x03\x04")) {
    throw InputError(source.name(), "byte 0", "this is a zip archive", "unpack it and name the file with the edges");
  }
  return open_text_edges(std::move(source), limit);
}

}  // namespace unweave
