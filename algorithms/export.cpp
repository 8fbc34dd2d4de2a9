// algorithms/export.cpp - contents of a store as NumPy files, in the user's ids.
#include "algorithms/export.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "storage/error.h"
#include "storage/npy_writer.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkRows = 8192;

}  // namespace

void export_embeddings(const LiveStore& store, const std::optional<std::vector<NodeId>>& nodes,
                       std::span<const double> weights, const std::filesystem::path& file) {
  const Embedding& embedding = store.embedding();
  const NodeId all = store.contents().num_nodes();
  const std::uint64_t targets = embedding.cone().rows(embedding.levels());
  if (!nodes && targets < all)
    throw UsageError(std::to_string(all - targets) + " of " + std::to_string(all) +
                     " nodes have no embedding; name the wanted ones with --nodes, or run `unweave propagate " +
                     store.path().string() + " --rows all`");
  const std::uint64_t rows = nodes ? nodes->size() : all;
  const std::array<std::uint64_t, 2> shape{rows, embedding.columns()};
  NpyWriter writer(file, "<f4", sizeof(float), shape);
  std::vector<NodeId> consecutive;
  std::vector<float> z;
  for (std::uint64_t first = 0; first < rows; first += kChunkRows) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kChunkRows, rows - first));
    std::span<const NodeId> chunk;
    if (nodes) {
      chunk = std::span(*nodes).subspan(static_cast<std::size_t>(first), count);
    } else {
      consecutive.resize(count);
      std::iota(consecutive.begin(), consecutive.end(), static_cast<NodeId>(first));
      chunk = consecutive;
    }
    z.resize(count * embedding.columns());
    embedding.rows(chunk, weights, z.data());
    writer.append(std::span<const float>(z));
  }
  writer.finish();
}

void export_edges(const LiveStore& store, const std::filesystem::path& file) {
  const Graph& graph = store.contents().graph();
  const std::array<std::uint64_t, 2> shape{graph.num_arcs() / 2, 2};
  NpyWriter writer(file, "<i8", sizeof(std::int64_t), shape);
  Graph::BlockBuffer buffer;
  DecodedBlock block;
  std::vector<std::int64_t> pairs;
  for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
    graph.decode(b, buffer, block);
    pairs.clear();
    const NodeId* target = block.targets;
    for (std::uint32_t i = 0; i < block.nodes; ++i) {
      for (std::uint32_t k = 0; k < block.counts[i]; ++k, ++target) {
        if (*target < block.first + i) continue;
        pairs.push_back(block.first + i);
        pairs.push_back(*target);
      }
    }
    writer.append(std::span<const std::int64_t>(pairs));
  }
  writer.finish();
}

}  // namespace unweave
