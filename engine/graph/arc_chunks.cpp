// engine/graph/arc_chunks.cpp - fills chunks of arcs, packs them into memory or a file, and widens
// the buckets as larger ids come.
#include "engine/graph/arc_chunks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "storage/io/error.h"

namespace unweave {

namespace {
constexpr std::size_t kKeyBytes = sizeof(std::uint64_t);
// Chunks lie a cache line more than their length apart: open chunks fill at about the same pace,
// and their ends would otherwise compete for the same sets of the caches.
constexpr std::size_t kStaggerKeys = 64 / kKeyBytes;

constexpr std::uint64_t low_mask(unsigned bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// Keys of a chunk without what all of them share, and back.
class Packing {
 public:
  Packing(const ArcChunk& chunk, ArcKeys keys)
      : base_(keys.first(chunk.first_source)),
        source_shift_(keys.bits_below_source()),
        low_bits_(chunk.low_bits),
        low_(low_mask(chunk.low_bits)) {}

  /// `out` may be the room of the keys itself. Nothing is written behind the packed keys: other
  /// chunks may lie there.
  template <std::size_t Bytes>
  void pack(const std::uint64_t* keys, std::size_t count, std::byte* out) const {
    const Packing the = *this;  // a copy that no byte written can lie on: it stays in registers
    const auto packed = [&](std::size_t i) {
      const std::uint64_t key = keys[i] - the.base_;
      return key >> the.source_shift_ << the.low_bits_ | (key & the.low_);
    };
    // Whole words are written, and what they put behind a key is written over by the next ones.
    const std::size_t whole = count - std::min(count, kKeyBytes / Bytes);
    for (std::size_t i = 0; i < whole; ++i) store(out + i * Bytes, packed(i), kKeyBytes);
    for (std::size_t i = whole; i < count; ++i) store(out + i * Bytes, packed(i), Bytes);
  }
  /// `in` may be the end of the room of `out`: a key is never written before those that it lies on
  /// are read. kKeyBytes - Bytes bytes behind the packed keys are read, too.
  template <std::size_t Bytes>
  void unpack(const std::byte* in, std::size_t count, std::uint64_t* out) const {
    const Packing the = *this;
    constexpr std::uint64_t kMask = low_mask(8 * Bytes);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t packed = 0;
      std::memcpy(&packed, in + i * Bytes, kKeyBytes);
      packed &= kMask;
      out[i] = the.base_ + ((packed >> the.low_bits_ << the.source_shift_) | (packed & the.low_));
    }
  }

 private:
  /// The bytes of least value come first.
  static void store(std::byte* out, std::uint64_t packed, std::size_t bytes) { std::memcpy(out, &packed, bytes); }

  std::uint64_t base_;
  unsigned source_shift_, low_bits_;
  std::uint64_t low_;
};

/// Calls `use` with the number of bytes as a constant, for which the compiler makes a loop of its
/// own.
template <class Use>
void with_key_bytes(std::size_t bytes, const Use& use) {
  switch (bytes) {
    case 1:
      return use(std::integral_constant<std::size_t, 1>());
    case 2:
      return use(std::integral_constant<std::size_t, 2>());
    case 3:
      return use(std::integral_constant<std::size_t, 3>());
    case 4:
      return use(std::integral_constant<std::size_t, 4>());
    case 5:
      return use(std::integral_constant<std::size_t, 5>());
    case 6:
      return use(std::integral_constant<std::size_t, 6>());
    case 7:
      return use(std::integral_constant<std::size_t, 7>());
    default:
      return use(std::integral_constant<std::size_t, 8>());
  }
}

}  // namespace

void require_room_for_weights(std::uint64_t nodes, std::uint32_t max_weight) {
  if (nodes <= ArcKeys(max_weight).id_limit()) return;
  throw UsageError(std::to_string(nodes) + " nodes: with weights up to " + std::to_string(max_weight) +
                   " a graph has at most " + std::to_string(ArcKeys(max_weight).id_limit()));
}

std::size_t ChunkStore::room_bytes(std::size_t chunk_arcs) noexcept {
  return (chunk_arcs + kStaggerKeys) * kKeyBytes;
}

ChunkStore::ChunkStore(std::filesystem::path temp_dir, ArcKeys keys, std::size_t bytes, std::size_t chunk_arcs,
                       std::size_t open_chunks)
    : temp_dir_(std::move(temp_dir)),
      keys_(keys),
      chunk_arcs_(chunk_arcs),
      stride_(room_bytes(chunk_arcs) / kKeyBytes),
      budget_(std::numeric_limits<std::uint64_t>::max()),
      rooms_(open_chunks * stride_ * kKeyBytes, budget_, "open chunks of arcs"),
      kept_(std::max(bytes, rooms_.size() + kUnpackSlack) - rooms_.size(), budget_, "arcs"),
      most_kept_(kept_.size() - kUnpackSlack) {}

std::uint64_t* ChunkStore::open() {
  const std::scoped_lock lock(mutex_);
  std::size_t index = used_;
  if (free_.empty()) {
    ++used_;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  return rooms_.as<std::uint64_t>() + index * stride_;
}

void ChunkStore::close(std::uint64_t* room, ArcChunk& chunk) {
  {
    const std::scoped_lock lock(mutex_);
    chunk.in_file = chunk.bytes() > most_kept_ - kept_end_;
    chunk.at = kept_end_;
    if (!chunk.in_file) kept_end_ += chunk.bytes();
    if (chunk.in_file && !spool_) spool_.emplace(temp_dir_);
  }
  std::byte* const out = chunk.in_file ? reinterpret_cast<std::byte*>(room) : kept_.data() + chunk.at;
  with_key_bytes(chunk.key_bytes,
                 [&](auto bytes) { Packing(chunk, keys_).pack<decltype(bytes)::value>(room, chunk.arcs, out); });
  if (chunk.in_file) chunk.at = spool_->append({reinterpret_cast<const char*>(out), chunk.bytes()});
  const std::scoped_lock lock(mutex_);
  free_.push_back(static_cast<std::size_t>(room - rooms_.as<std::uint64_t>()) / stride_);
}

void ChunkStore::read(const ArcChunk& chunk, std::uint64_t* out) const {
  const std::byte* in = kept_.data() + chunk.at;
  if (chunk.in_file) {
    auto* const end = reinterpret_cast<char*>(out + chunk.arcs) - chunk.bytes();
    spool_->read(chunk.at, {end, chunk.bytes()});
    in = reinterpret_cast<const std::byte*>(end);
  }
  with_key_bytes(chunk.key_bytes,
                 [&](auto bytes) { Packing(chunk, keys_).unpack<decltype(bytes)::value>(in, chunk.arcs, out); });
}

void ChunkStore::will_need(const ArcChunk& chunk) const noexcept {
  if (chunk.in_file) spool_->will_need(chunk.at, chunk.bytes());
}

ArcDistributor::ArcDistributor(ChunkStore& store, ArcKeys keys, std::size_t most_buckets, std::uint64_t nodes,
                               std::optional<NodeRange> sources)
    : store_(store), keys_(keys), sources_(sources), log2_width_(kMinBucketLog2), tails_(most_buckets) {
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
  if (sources_)
    distribute(edges, weights, [sources = *sources_](NodeId u) { return sources.contains(u); });
  else
    distribute(edges, weights, [](NodeId) { return true; });
}

template <class Keeps>
void ArcDistributor::distribute(std::span<const Edge> edges, std::span<const std::uint32_t> weights,
                                const Keeps& keeps) {
  const auto put = [&](NodeId u, std::uint64_t key) {
    if (!keeps(u)) return;
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
  const std::uint8_t log2_width = log2_bucket_width(largest, tails_.size(), log2_width_);
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
  std::uint64_t* const begin = tail.end - store_.chunk_arcs();
  ArcChunk& chunk = chunks_.emplace_back();
  chunk.first_source = static_cast<NodeId>(bucket << log2_width_);
  chunk.log2_width = log2_width_;
  chunk.low_bits = static_cast<std::uint8_t>(keys_.bits_of_targets(largest_));
  chunk.key_bytes = static_cast<std::uint8_t>(keys_.packed_bytes(log2_width_, largest_));
  chunk.arcs = static_cast<std::uint32_t>(tail.next - begin);
  chunk.weight = chunk.arcs;
  if (keys_.weighted())
    for (std::size_t i = 0; i < chunk.arcs; ++i) chunk.weight += keys_.weight(begin[i]) - 1;
  store_.close(begin, chunk);
  tail = {};
}

}  // namespace unweave
