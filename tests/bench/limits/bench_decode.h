// tests/bench/limits/bench_decode.h - how small are a store's shards, and how fast are their lists
// decoded and encoded?
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/resources/memory.h"
#include "storage/io/types.h"

namespace unweave {

struct DecodeBenchOptions {
  int repeats = 3;  ///< the best of so many runs counts
  std::uint64_t seed = 1;
};

/// Things a second.
struct BenchRate {
  double one = 0;  ///< on one thread
  double all = 0;  ///< on all threads of the process
};

/// Bits of the shards for each arc, by what they are spent on.
struct ShardBits {
  double degrees = 0;
  double offsets = 0;  ///< where each block begins
  double blocks = 0;
  double container = 0;  ///< headers and checksums
  [[nodiscard]] double total() const { return degrees + offsets + blocks + container; }
};

struct DecodeBench {
  NodeId nodes = 0;
  ArcIndex arcs = 0;
  std::uint64_t blocks = 0;       ///< blocks that have a neighbour
  std::uint64_t zstd_blocks = 0;  ///< how many of these are encoded by zstd
  std::size_t threads = 0;
  ShardBits bits_per_arc;
  BenchRate decode;      ///< arcs: all blocks, each decoded into a buffer that stays in cache, its ids added up there
  BenchRate memory_sum;  ///< the limit: uncompressed 32-bit ids added up out of memory
  BenchRate cache_sum;   ///< uncompressed ids added up out of the first-level cache
  BenchRate lists;       ///< lists of random nodes with neighbours, each decoded alone
  double mean_list_arcs = 0;         ///< length of these lists
  double mean_list_block_bytes = 0;  ///< bytes of the block of such a list: the most that is read for it
  BenchRate encode;                  ///< arcs: encode_lists over the store's first lists
  std::uint32_t id_sum = 0;          ///< sum of all decoded ids, modulo 2^32
  /// decode over a limit.
  [[nodiscard]] BenchRate ratio_to(const BenchRate& limit) const {
    return {decode.one / limit.one, decode.all / limit.all};
  }
};

/// Measures the shards of `store` as its generation has them, without the requests since. What is
/// measured runs in turn, after a run that is not counted, so files come from the page cache as far
/// as they fit there. Throws UsageError for a store without edges, ResourceError where 256 MiB and
/// 8 bytes a node do not fit `budget`, DataError, FormatError.
[[nodiscard]] DecodeBench run_bench_decode(const std::filesystem::path& store, const DecodeBenchOptions& options,
                                           MemoryBudget& budget);

}  // namespace unweave
