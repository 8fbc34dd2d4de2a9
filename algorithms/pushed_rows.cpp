#include "algorithms/pushed_rows.h"

#include <algorithm>
#include <utility>

#include "engine/gather.h"

namespace unweave {
namespace {

constexpr std::size_t kLeastRows = 4;                      // of a chunk
constexpr std::size_t kMostValues = std::size_t{1} << 18;  // of a chunk of several rows: 1 MiB
constexpr const char* kWhat = "rows to push (a smaller --batch has fewer)";

std::uint64_t bytes_of(std::size_t rows, std::uint32_t columns) {
  return std::uint64_t{rows} * (sizeof(NodeId) + columns * sizeof(std::int32_t));
}

}  // namespace

void PushedRows::add(NodeId node, const std::int32_t* delta) {
  if (chunks_.empty() || chunks_.back().nodes.size() == chunks_.back().nodes.capacity()) {
    const std::size_t most = std::max<std::size_t>(1, kMostValues / std::max(1U, columns_));
    const std::size_t rows = std::min(std::max(kLeastRows, size_), most);
    Chunk chunk;
    chunk.memory = budget_->reserve(bytes_of(rows, columns_), kWhat);
    chunk.nodes.reserve(rows);
    chunk.deltas.reserve(rows * columns_);
    chunks_.push_back(std::move(chunk));
  }
  chunks_.back().nodes.push_back(node);
  chunks_.back().deltas.insert(chunks_.back().deltas.end(), delta, delta + columns_);
  ++size_;
}

PushSources PushedRows::joined(std::vector<PushedRows> parts, std::uint32_t columns, MemoryBudget& budget) {
  std::size_t rows = 0;
  for (const PushedRows& part : parts) rows += part.size();
  PushSources sources;
  // Pages of the new rows are touched as the chunks go: until all are gone, the chunks' charge is good for both.
  sources.nodes.reserve(rows);
  sources.deltas.reserve(rows * columns + kTilePadding);
  for (PushedRows& part : parts) {
    for (Chunk& chunk : part.chunks_) {
      sources.nodes.insert(sources.nodes.end(), chunk.nodes.begin(), chunk.nodes.end());
      sources.deltas.insert(sources.deltas.end(), chunk.deltas.begin(), chunk.deltas.end());
      chunk.nodes = {};
      chunk.deltas = {};
    }
  }
  sources.deltas.resize(rows * columns + kTilePadding);
  parts.clear();
  sources.memory = budget.reserve(bytes_of(rows, columns), kWhat);
  return sources;
}

}  // namespace unweave
