// engine/graph/arc_chunks.h - arcs distributed by source: chunks of arcs whose sources lie in one
// aligned range of ids. They are kept in memory as far as a budget goes, then in a temporary file,
// in as few bytes as tell the sources of one range apart, and the targets. It is the inner half of
// arc_sort.h.
//
// An arc u -> v is a 64-bit key whose parts ArcKeys places: source, target, weight. Bucket b of
// width 2^w holds the sources [b * 2^w, (b + 1) * 2^w), so the buckets of a smaller width nest in
// those of a larger one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/resources/memory.h"
#include "storage/io/spool_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Logarithm of the fewest nodes a bucket has: an open chunk for less would cost a small graph more
/// memory than its arcs.
inline constexpr std::uint8_t kMinBucketLog2 = 13;

/// Where an arc's parts lie in its key: the source highest, then the target, both as wide, then the
/// weight less 1.
class ArcKeys {
 public:
  /// Without weights ids have 32 bits each; weights up to 2^b take b from both together.
  explicit constexpr ArcKeys(std::uint32_t max_weight = 1) noexcept
      : weight_bits_(static_cast<unsigned>(std::bit_width(max_weight - 1))), id_bits_((64 - weight_bits_) / 2) {}

  [[nodiscard]] constexpr bool weighted() const noexcept { return weight_bits_ > 0; }
  /// Ids must be below it, and so many nodes there may be: the end of their arcs, first(nodes), is
  /// a key too.
  [[nodiscard]] constexpr std::uint64_t id_limit() const noexcept { return (std::uint64_t{1} << id_bits_) - 1; }
  /// The first key that an arc from u may have, u at most id_limit().
  [[nodiscard]] constexpr std::uint64_t first(std::uint64_t u) const noexcept { return u << (id_bits_ + weight_bits_); }
  [[nodiscard]] constexpr std::uint64_t key(std::uint64_t u, NodeId v, std::uint32_t weight = 1) const noexcept {
    return first(u) | std::uint64_t{v} << weight_bits_ | (weight - 1);
  }
  [[nodiscard]] constexpr NodeId source(std::uint64_t key) const noexcept {
    return static_cast<NodeId>(key >> (id_bits_ + weight_bits_));
  }
  [[nodiscard]] constexpr NodeId target(std::uint64_t key) const noexcept {
    return static_cast<NodeId>(key >> weight_bits_ & ((std::uint64_t{1} << id_bits_) - 1));
  }
  [[nodiscard]] constexpr std::uint32_t weight(std::uint64_t key) const noexcept {
    return 1 + static_cast<std::uint32_t>(key & ((std::uint64_t{1} << weight_bits_) - 1));
  }
  /// Bits below those of the source, and how many of them targets up to `largest` need.
  [[nodiscard]] constexpr unsigned bits_below_source() const noexcept { return id_bits_ + weight_bits_; }
  [[nodiscard]] constexpr unsigned bits_of_targets(NodeId largest) const noexcept {
    return static_cast<unsigned>(std::bit_width(largest)) + weight_bits_;
  }
  /// Bytes that tell the arcs of a bucket of 2^log2_width nodes apart, whose targets go up to
  /// `largest`.
  [[nodiscard]] constexpr unsigned packed_bytes(unsigned log2_width, NodeId largest) const noexcept {
    return std::max(1U, (log2_width + bits_of_targets(largest) + 7) / 8);
  }

 private:
  unsigned weight_bits_;
  unsigned id_bits_;
};

/// Throws UsageError for more nodes than a graph of such weights can have.
void require_room_for_weights(std::uint64_t nodes, std::uint32_t max_weight);

/// Logarithm of the width of `buckets` buckets, a power of two, that nodes up to `largest` lie in;
/// at least `log2_width`.
[[nodiscard]] constexpr std::uint8_t log2_bucket_width(NodeId largest, std::size_t buckets,
                                                       std::uint8_t log2_width = kMinBucketLog2) noexcept {
  while (largest >> log2_width >= buckets) ++log2_width;
  return log2_width;
}

/// Arcs of one bucket in no order. A packed arc has `key_bytes` bytes: what the source lies above
/// the first one of the bucket, then the `low_bits` lowest bits of the key.
struct ArcChunk {
  std::uint64_t at = 0;      ///< offset in the file or in memory
  std::uint64_t weight = 0;  ///< what all its arcs weigh
  std::uint32_t arcs = 0;
  NodeId first_source = 0;      ///< the bucket begins with it
  std::uint8_t log2_width = 0;  ///< logarithm of the bucket's width
  std::uint8_t low_bits = 0;
  std::uint8_t key_bytes = 0;
  bool in_file = false;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{arcs} * key_bytes; }
};

/// Memory and file that hold chunks. All members may be called from any thread.
class ChunkStore {
 public:
  /// `bytes` bounds the memory. `open_chunks` chunks of `chunk_arcs` arcs may be out at a time, and
  /// must fit.
  ChunkStore(std::filesystem::path temp_dir, ArcKeys keys, std::size_t bytes, std::size_t chunk_arcs,
             std::size_t open_chunks);

  /// Bytes of the room of an open chunk.
  [[nodiscard]] static std::size_t room_bytes(std::size_t chunk_arcs) noexcept;
  [[nodiscard]] std::size_t chunk_arcs() const noexcept { return chunk_arcs_; }
  /// Room for a chunk, to be filled and given to close().
  [[nodiscard]] std::uint64_t* open();
  /// Stores the keys at the beginning of an open chunk's room, in memory while some remains, else
  /// in the file; then the room is free again. Sets `at` and `in_file` of `chunk`, the rest of
  /// which is the caller's. Throws ResourceError, DataError.
  void close(std::uint64_t* room, ArcChunk& chunk);

  /// Bytes behind the keys of a chunk that read() may look at, and leaves as they are.
  static constexpr std::size_t kUnpackSlack = sizeof(std::uint64_t);
  /// Writes the keys of a chunk to `out`, which has room for them and kUnpackSlack.
  void read(const ArcChunk& chunk, std::uint64_t* out) const;
  /// Bytes in the file.
  [[nodiscard]] std::uint64_t spooled_bytes() const noexcept {
    const std::scoped_lock lock(mutex_);
    return spool_ ? spool_->size() : 0;
  }
  /// A hint that chunks will be read soon.
  void will_need(const ArcChunk& chunk) const noexcept;

 private:
  std::filesystem::path temp_dir_;
  ArcKeys keys_;
  std::size_t chunk_arcs_;
  std::size_t stride_;  // keys from one room to the next
  MemoryBudget budget_;
  HugeBuffer rooms_;  // those of open chunks
  HugeBuffer kept_;   // packed chunks, as far as they go
  std::uint64_t most_kept_;
  std::optional<SpoolFile> spool_;
  mutable std::mutex mutex_;    // guards what follows, and the making of spool_
  std::size_t used_ = 0;        // rooms ever used; the others have not been touched
  std::uint64_t kept_end_ = 0;  // where the next chunk goes
  std::vector<std::size_t> free_;
};

/// Distributes arcs to chunks. One thread at a time.
class ArcDistributor {
 public:
  /// Opens at most `most_buckets` (a power of two) chunks of `store` at a time, which outlives this
  /// object. `nodes` > 0: sources will be below it. `sources`: arcs of others are left out, but
  /// their edges are counted.
  ArcDistributor(ChunkStore& store, ArcKeys keys, std::size_t most_buckets, std::uint64_t nodes,
                 std::optional<NodeRange> sources = std::nullopt);

  /// Takes each edge u-v as the arcs u -> v and v -> u; counts and drops self loops. `weights`: one
  /// an edge, or empty where all are 1. Throws DataError for an id that the keys have no room for.
  void add(std::span<const Edge> edges, std::span<const std::uint32_t> weights = {});
  /// Closes all chunks; they are then complete.
  void finish();

  [[nodiscard]] const std::vector<ArcChunk>& chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint64_t edges() const noexcept { return edges_; }
  [[nodiscard]] std::uint64_t self_loops() const noexcept { return self_loops_; }
  [[nodiscard]] std::uint64_t upward() const noexcept { return upward_; }  ///< edges u-v with u < v, repeats too
  [[nodiscard]] NodeId smallest() const noexcept { return smallest_; }
  [[nodiscard]] NodeId largest() const noexcept { return largest_; }

 private:
  struct Tail {
    std::uint64_t* next = nullptr;
    std::uint64_t* end = nullptr;
  };

  template <class Keeps>
  void distribute(std::span<const Edge> edges, std::span<const std::uint32_t> weights, const Keeps& keeps);
  void widen_for(NodeId largest);
  void make_room(std::size_t bucket);
  void close(std::size_t bucket);

  ChunkStore& store_;
  ArcKeys keys_;
  std::optional<NodeRange> sources_;
  std::uint8_t log2_width_;
  std::vector<Tail> tails_;
  std::vector<ArcChunk> chunks_;
  std::uint64_t edges_ = 0;
  std::uint64_t self_loops_ = 0;
  std::uint64_t upward_ = 0;
  NodeId smallest_ = std::numeric_limits<NodeId>::max();
  NodeId largest_ = 0;
};

}  // namespace unweave
