// algorithms/updates/pushed_rows.cpp - keeps rows to push in memory, and moves them to a spool when
// it is short.
#include "algorithms/updates/pushed_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/sweep/gather.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kLeastRows = 4;                      // rows of a chunk
constexpr std::uint64_t kLeastBytes = 4096;                // bytes of a chunk, where its rows are short
constexpr std::size_t kMostValues = std::size_t{1} << 18;  // values of a chunk of several rows: 1 MiB
constexpr std::size_t kAlignment = 64;                     // alignment of the deltas in a file

std::string reserved_rows() {
  return "rows to push (a smaller " + option("batch") + " has fewer)";
}

std::uint64_t bytes_of(std::size_t rows, std::uint32_t columns) {
  return std::uint64_t{rows} * (sizeof(NodeId) + sizeof(std::uint64_t) + columns * sizeof(std::int32_t));
}

}  // namespace

PushSpool::PushSpool(std::filesystem::path folder, std::uint32_t columns, NodeId nodes, MemoryBudget& budget)
    : folder_(std::move(folder)),
      columns_(columns),
      most_(nodes),
      budget_(budget),
      fingerprints_at_((nodes * sizeof(NodeId) + kAlignment - 1) / kAlignment * kAlignment),
      deltas_at_(fingerprints_at_ + (nodes * sizeof(std::uint64_t) + kAlignment - 1) / kAlignment * kAlignment) {}

bool PushSpool::is_better_for(std::uint64_t bytes) const noexcept {
  // Few rows are not worth a file; of many, something must be left for the level that they are
  // pushed to.
  return is_used_ || budget_.available() < bytes + std::min(memory_shares::kPushRoom.of(budget_), 16 * bytes);
}

void PushSpool::write(std::span<const NodeId> nodes, std::span<const std::uint64_t> fingerprints,
                      std::span<const std::int32_t> deltas) {
  std::uint64_t first = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (!is_used_) {
      file_.emplace(folder_, deltas_at_ + (std::uint64_t{most_} * columns_ + kTilePadding) * sizeof(std::int32_t));
      is_used_ = true;
    }
    first = rows_;
    rows_ += nodes.size();
  }
  file_->write(first * sizeof(NodeId), std::as_bytes(nodes));
  file_->write(fingerprints_at_ + first * sizeof(std::uint64_t), std::as_bytes(fingerprints));
  file_->write(deltas_at_ + first * columns_ * sizeof(std::int32_t), std::as_bytes(deltas));
}

PushSources PushSpool::take() {
  constexpr std::array<std::int32_t, kTilePadding> kZeros{};
  if (!is_used_) return {};
  file_->write(deltas_at_ + rows_ * columns_ * sizeof(std::int32_t), std::as_bytes(std::span(kZeros)));
  PushSources sources(*std::move(file_), rows_, fingerprints_at_, deltas_at_);
  file_.reset();
  rows_ = 0;
  is_used_ = false;
  return sources;
}

void PushedRows::add(NodeId node, const std::int32_t* delta, std::uint64_t fingerprint) {
  ++size_;
  if (!has_room()) return spool_->write({&node, 1}, {&fingerprint, 1}, {delta, columns_});
  chunks_.back().nodes.push_back(node);
  chunks_.back().fingerprints.push_back(fingerprint);
  chunks_.back().deltas.insert(chunks_.back().deltas.end(), delta, delta + columns_);
}

bool PushedRows::has_room() {
  if (!chunks_.empty() && chunks_.back().nodes.size() < chunks_.back().nodes.capacity()) return true;
  const std::size_t most = std::max<std::size_t>(1, kMostValues / std::max(1U, columns_));
  const std::size_t least = std::max<std::size_t>(kLeastRows, kLeastBytes / bytes_of(1, columns_));
  const std::size_t rows = std::clamp(size_ - 1, std::min(least, most), most);
  const std::uint64_t bytes = bytes_of(rows, columns_);
  if (!chunks_.empty() && spool_->is_better_for(bytes)) {
    Chunk last = std::move(chunks_.back());
    spool_->write(last.nodes, last.fingerprints, last.deltas);
    chunks_.pop_back();
    spill();
    last.nodes.clear();
    last.fingerprints.clear();
    last.deltas.clear();
    chunks_.push_back(std::move(last));
    return true;
  }
  Chunk chunk;
  try {
    if (budget_->available() >= bytes) chunk.memory = budget_->reserve(bytes, reserved_rows());
  } catch (const ResourceError&) {  // another task was faster
  }
  // A few rows have room even so: the spool takes several at a time much sooner than one by one.
  if (chunk.memory.bytes() == 0 && (!chunks_.empty() || bytes > kLeastBytes)) return false;
  chunk.nodes.reserve(rows);
  chunk.fingerprints.reserve(rows);
  chunk.deltas.reserve(rows * columns_);
  chunks_.push_back(std::move(chunk));
  return true;
}

void PushedRows::spill() {
  for (const Chunk& chunk : chunks_) spool_->write(chunk.nodes, chunk.fingerprints, chunk.deltas);
  chunks_.clear();
}

void PushedRows::follow() {
  if (spool_->is_used()) spill();
}

PushSources PushedRows::joined(std::vector<PushedRows> parts, std::uint32_t columns, MemoryBudget& budget) {
  std::size_t rows = 0;
  for (const PushedRows& part : parts) rows += part.size();
  // Small chunks that were freed may stay with the process: a second copy needs room of its own.
  if (rows > 0 && parts.front().spool_->is_better_for(bytes_of(rows, columns))) {
    for (PushedRows& part : parts) part.spill();
    return parts.front().spool_->take();
  }
  std::vector<std::pair<Chunk*, std::size_t>> chunks;  // and the rows before each
  std::size_t before = 0;
  for (PushedRows& part : parts) {
    for (Chunk& chunk : part.chunks_) {
      chunks.emplace_back(&chunk, before);
      before += chunk.nodes.size();
    }
  }
  std::vector<NodeId> nodes(rows);
  std::vector<std::uint64_t> fingerprints(rows);
  // Pages of the new rows are touched as the chunks go: until all are gone, the chunks' charge is
  // good for both.
  auto deltas = std::make_unique_for_overwrite<std::int32_t[]>(rows * columns + kTilePadding);
  std::fill_n(deltas.get() + rows * columns, kTilePadding, 0);
  run_items(chunks.size(), rows * columns < kMostValues ? 1 : active_threads(), [&](std::size_t item, std::size_t) {
    const auto& [chunk, first] = chunks[item];
    std::copy(chunk->nodes.begin(), chunk->nodes.end(), nodes.begin() + static_cast<std::ptrdiff_t>(first));
    std::copy(chunk->fingerprints.begin(), chunk->fingerprints.end(),
              fingerprints.begin() + static_cast<std::ptrdiff_t>(first));
    std::copy(chunk->deltas.begin(), chunk->deltas.end(), deltas.get() + first * columns);
    chunk->nodes = {};
    chunk->fingerprints = {};
    chunk->deltas = {};
  });
  parts.clear();
  return {std::move(nodes), std::move(fingerprints), std::move(deltas),
          budget.reserve(bytes_of(rows, columns), reserved_rows())};
}

}  // namespace unweave
