// engine/graph/arc_chunks.cpp - fills chunks of arcs in memory or in a file, and widens the buckets as larger ids come.
#include "engine/graph/arc_chunks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "storage/io/error.h"

namespace unweave {

namespace {
constexpr std::size_t kKeyBytes = sizeof(std::uint64_t);
// Chunks lie a cache line more than their length apart: open chunks fill at about the same pace, and their ends would
// otherwise compete for the same sets of the caches.
constexpr std::size_t kStaggerKeys = 64 / kKeyBytes;
}  // namespace

void require_room_for_weights(std::uint64_t nodes, std::uint32_t max_weight) {
  if (nodes <= ArcKeys(max_weight).id_limit()) return;
  throw UsageError(std::to_string(nodes) + " nodes: with weights up to " + std::to_string(max_weight) +
                   " a graph has at most " + std::to_string(ArcKeys(max_weight).id_limit()));
}

ChunkStore::ChunkStore(std::filesystem::path temp_dir, std::size_t bytes, std::size_t chunk_arcs,
                       std::size_t open_chunks)
    : temp_dir_(std::move(temp_dir)),
      chunk_arcs_(chunk_arcs),
      stride_(chunk_arcs + kStaggerKeys),
      chunks_(std::max(open_chunks, bytes / (stride_ * kKeyBytes))),
      budget_(HugeBuffer::charge(chunks_ * stride_ * kKeyBytes)),
      memory_(chunks_ * stride_ * kKeyBytes, budget_, "arcs"),
      keepable_(chunks_ - open_chunks) {}

std::uint64_t* ChunkStore::open() {
  const std::scoped_lock lock(mutex_);
  std::size_t index = used_;
  if (free_.empty()) {
    ++used_;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  return memory_.as<std::uint64_t>() + index * stride_;
}

void ChunkStore::close(const std::uint64_t* room, std::size_t arcs, ArcChunk& chunk) {
  const auto at = static_cast<std::size_t>(room - memory_.as<std::uint64_t>());
  chunk.arcs = static_cast<std::uint32_t>(arcs);
  chunk.at = at;
  chunk.in_file = false;
  {
    const std::scoped_lock lock(mutex_);
    if (keepable_ > 0) {
      --keepable_;
      return;
    }
    if (!spool_) spool_.emplace(temp_dir_);
  }
  chunk.at = spool_->append({reinterpret_cast<const char*>(room), arcs * kKeyBytes});
  chunk.in_file = true;
  const std::scoped_lock lock(mutex_);
  free_.push_back(at / stride_);
}

void ChunkStore::read(const ArcChunk& chunk, std::uint64_t* out) const {
  const std::size_t bytes = chunk.arcs * kKeyBytes;
  if (chunk.in_file) {
    spool_->read(chunk.at, {reinterpret_cast<char*>(out), bytes});
  } else {
    std::memcpy(out, memory_.as<std::uint64_t>() + chunk.at, bytes);
  }
}

void ChunkStore::will_need(const ArcChunk& chunk) const noexcept {
  if (chunk.in_file) spool_->will_need(chunk.at, chunk.arcs * kKeyBytes);
}

ArcDistributor::ArcDistributor(ChunkStore& store, ArcKeys keys, std::size_t most_buckets, std::uint64_t nodes)
    : store_(store), keys_(keys), log2_width_(kMinBucketLog2), tails_(most_buckets) {
  if (nodes > 0) widen_for(static_cast<NodeId>(nodes - 1));
}

void ArcDistributor::add(std::span<const Edge> edges, std::span<const std::uint32_t> weights) {
  NodeId smallest = smallest_;
  NodeId largest = 0;
  std::uint64_t upward = 0;
  for (const Edge& edge : edges) {
    smallest = std::min({smallest, edge.u, edge.v});
    largest = std::max({largest, edge.u, edge.v});
    upward += edge.u < edge.v ? 1 : 0;
  }
  if (largest >= keys_.id_limit())
    throw DataError("node " + std::to_string(largest) + ": a graph with weights this large has nodes below " +
                    std::to_string(keys_.id_limit()) + "; declare a smaller " + option("max-weight"));
  widen_for(largest);
  smallest_ = smallest;
  upward_ += upward;
  largest_ = std::max(largest_, largest);
  edges_ += edges.size();
  const auto put = [&](NodeId u, std::uint64_t key) {
    Tail& tail = tails_[u >> log2_width_];
    if (tail.next == tail.end) make_room(u >> log2_width_);
    *tail.next++ = key;
  };
  // Most graphs have no weights, and for them the compiler knows the shifts.
  constexpr ArcKeys kPlain;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge edge = edges[i];
    if (edge.u == edge.v) {
      ++self_loops_;
    } else if (!keys_.weighted()) {
      put(edge.u, kPlain.key(edge.u, edge.v));
      put(edge.v, kPlain.key(edge.v, edge.u));
    } else {
      const std::uint32_t weight = weights.empty() ? 1 : weights[i];
      put(edge.u, keys_.key(edge.u, edge.v, weight));
      put(edge.v, keys_.key(edge.v, edge.u, weight));
    }
  }
}

void ArcDistributor::finish() {
  for (std::size_t bucket = 0; bucket < tails_.size(); ++bucket) close(bucket);
}

/// Chunks of the width until now are complete and nest in the new ones.
void ArcDistributor::widen_for(NodeId largest) {
  std::uint8_t log2_width = log2_width_;
  while (largest >> log2_width >= tails_.size()) ++log2_width;
  if (log2_width == log2_width_) return;
  finish();
  log2_width_ = log2_width;
}

void ArcDistributor::make_room(std::size_t bucket) {
  close(bucket);
  Tail& tail = tails_[bucket];
  tail.next = store_.open();
  tail.end = tail.next + store_.chunk_arcs();
}

void ArcDistributor::close(std::size_t bucket) {
  Tail& tail = tails_[bucket];
  if (tail.end == nullptr) return;
  const std::uint64_t* const begin = tail.end - store_.chunk_arcs();
  ArcChunk& chunk = chunks_.emplace_back();
  chunk.bucket = static_cast<std::uint32_t>(bucket);
  chunk.log2_width = log2_width_;
  const auto arcs = static_cast<std::size_t>(tail.next - begin);
  chunk.weight = arcs;
  if (keys_.weighted())
    for (std::size_t i = 0; i < arcs; ++i) chunk.weight += keys_.weight(begin[i]) - 1;
  store_.close(begin, arcs, chunk);
  tail = {};
}

}  // namespace unweave
