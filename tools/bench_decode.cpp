#include "tools/bench_decode.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <vector>

#include "algorithms/counter_random.h"
#include "engine/parallel.h"
#include "storage/error.h"
#include "storage/manifest.h"
#include "storage/shard.h"
#include "storage/store_layout.h"

namespace unweave {
namespace {

/// Uncompressed ids, 256 MiB of them: far more than any cache holds.
constexpr std::size_t kPlainIds = std::size_t{1} << 26;
/// 16 KiB of ids; twice that is read, which every first-level data cache holds.
constexpr std::size_t kCachedIds = std::size_t{1} << 12;
/// A run goes over small stores several times until it has decoded so many arcs.
constexpr std::uint64_t kMinRunArcs = std::uint64_t{1} << 23;
constexpr std::size_t kRandomLists = std::size_t{1} << 18;
constexpr std::size_t kPieceArcs = std::size_t{1} << 18;  // as `import` hands lists to encode_lists

/// Sum of ids modulo 2^32. Four streams at once, since additions to one vector would wait for each other.
std::uint32_t sum_of(const NodeId* ids, std::size_t count) {
  const std::size_t quarter = count / 4;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  for (std::size_t i = 0; i < quarter; ++i) {
    a += ids[i];
    b += ids[quarter + i];
    c += ids[2 * quarter + i];
    d += ids[3 * quarter + i];
  }
  for (std::size_t i = 4 * quarter; i < count; ++i) a += ids[i];
  return a + b + c + d;
}

/// Items of work, all of which one run visits `rounds` times, and what a round counts for in the rate.
struct Run {
  std::size_t items;
  std::size_t grain;  ///< most items of a piece
  std::uint64_t rounds;
  double work;
};

/// Rate of the best of several runs of body(first, last) -> sum over pieces of the items. `sum` becomes the total of a
/// round, which keeps compilers from dropping the work.
template <class Body>
double best_rate(const Run& run, int repeats, std::uint32_t& sum, const Body& body) {
  double best = std::numeric_limits<double>::max();
  for (int repeat = -1; repeat < repeats; ++repeat) {  // the first one warms up
    const std::uint64_t rounds = repeat < 0 ? 1 : run.rounds;
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::atomic<std::uint32_t> total = 0;
      parallel_ranges(0, run.items, run.grain,
                      [&](std::size_t first, std::size_t last) { total += body(first, last); });
      sum = total;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (repeat >= 0) best = std::min(best, seconds / static_cast<double>(rounds));
  }
  return run.work / best;
}

template <class Body>
BenchRate rate(const Run& run, int repeats, std::uint32_t& sum, const Body& body) {
  BenchRate result;
  result.all = best_rate(run, repeats, sum, body);
  const ThreadLimit single(1);
  result.one = best_rate(run, repeats, sum, body);
  return result;
}

/// The shards of a store as one sequence of blocks.
class Shards {
 public:
  explicit Shards(const std::filesystem::path& store) : manifest_(read_manifest(store)) {
    for (std::size_t i = 0; i < manifest_.shards.size(); ++i)
      shards_.emplace_back(store, manifest_.shards[i], span_range(manifest_.nodes, i), manifest_.nodes);
  }

  [[nodiscard]] NodeId nodes() const noexcept { return manifest_.nodes; }
  [[nodiscard]] std::size_t num_blocks() const noexcept {
    return (std::size_t{nodes()} + kBlockNodes - 1) / kBlockNodes;
  }
  [[nodiscard]] const Shard& of_block(std::size_t block) const { return shards_[block / shard_blocks()]; }
  [[nodiscard]] std::size_t within(std::size_t block) const { return block % shard_blocks(); }
  [[nodiscard]] const Shard& of_node(NodeId node) const { return of_block(node / kBlockNodes); }
  [[nodiscard]] std::uint32_t count(NodeId node) const {
    const Shard& shard = of_node(node);
    return shard.counts()[node - shard.range().first];
  }
  [[nodiscard]] std::uint64_t block_arcs(std::size_t block) const { return of_block(block).block_arcs(within(block)); }
  [[nodiscard]] std::span<const std::byte> block_bytes(std::size_t block) const {
    return of_block(block).block_bytes(within(block));
  }
  void decode(std::size_t block, NodeId* targets) const { of_block(block).decode(within(block), targets); }

  /// Fills in what the shards hold and what they spend on it.
  void describe(DecodeBench& out) const {
    std::uint64_t files = 0, degrees = 0, offsets = 0, blocks = 0;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      out.arcs += shards_[i].arcs();
      files += manifest_.shards[i].bytes;
      degrees += sizeof(std::uint32_t) * shards_[i].counts().size();
      offsets += sizeof(std::uint32_t) * (shards_[i].num_blocks() + 1);
    }
    for (std::size_t block = 0; block < num_blocks(); ++block) {
      const auto bytes = block_bytes(block);
      blocks += bytes.size();
      out.blocks += bytes.empty() ? 0 : 1;
      out.zstd_blocks += uses_zstd(bytes) ? 1 : 0;
    }
    out.nodes = nodes();
    const double bits = 8 / static_cast<double>(std::max<ArcIndex>(1, out.arcs));
    out.bits_per_arc = {bits * static_cast<double>(degrees), bits * static_cast<double>(offsets),
                        bits * static_cast<double>(blocks),
                        bits * static_cast<double>(files - degrees - offsets - blocks)};
  }

 private:
  [[nodiscard]] std::size_t shard_blocks() const noexcept { return span_nodes(nodes()) / kBlockNodes; }
  Manifest manifest_;
  std::vector<Shard> shards_;
};

/// The store's first lists, uncompressed, and after them the same again until `ids` is full.
struct PlainLists {
  std::vector<std::uint32_t> counts;  ///< whole blocks
  std::vector<NodeId> ids;
  std::size_t arcs = 0;  ///< sum of counts
};

PlainLists plain_lists(const Shards& shards) {
  PlainLists lists;
  std::vector<NodeId> buffer;
  for (std::size_t block = 0; block < shards.num_blocks(); ++block) {
    const std::size_t arcs = shards.block_arcs(block);
    if (lists.ids.size() + arcs > kPlainIds) break;
    if (buffer.size() < arcs + kDecodeSlack) buffer.resize(arcs + kDecodeSlack);
    if (lists.ids.empty()) lists.ids.reserve(kPlainIds);
    shards.decode(block, buffer.data());
    lists.ids.insert(lists.ids.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(arcs));
    const std::size_t first = block * kBlockNodes;
    for (std::size_t node = first; node < std::min<std::size_t>(first + kBlockNodes, shards.nodes()); ++node)
      lists.counts.push_back(shards.count(static_cast<NodeId>(node)));
  }
  lists.arcs = lists.ids.size();
  lists.ids.resize(kPlainIds);
  for (std::size_t i = lists.arcs; i < kPlainIds; ++i)
    lists.ids[i] = lists.arcs > 0 ? lists.ids[i - lists.arcs] : static_cast<NodeId>(i);
  return lists;
}

BenchRate decode_rate(const Shards& shards, const DecodeBenchOptions& options, DecodeBench& out) {
  const Run run{shards.num_blocks(), 256, 1 + kMinRunArcs / out.arcs, static_cast<double>(out.arcs)};
  return rate(run, options.repeats, out.id_sum, [&](std::size_t first, std::size_t last) {
    std::vector<NodeId> buffer;
    std::uint32_t sum = 0;
    for (std::size_t block = first; block < last; ++block) {
      const std::size_t arcs = shards.block_arcs(block);
      if (buffer.size() < arcs + kDecodeSlack) buffer.resize(arcs + kDecodeSlack);
      shards.decode(block, buffer.data());
      sum += sum_of(buffer.data(), arcs);
    }
    return sum;
  });
}

BenchRate list_rate(const Shards& shards, const DecodeBenchOptions& options, DecodeBench& out) {
  std::vector<NodeId> nodes;
  std::uint64_t arcs = 0, bytes = 0;
  for (std::uint64_t i = 0; nodes.size() < kRandomLists; ++i) {
    const auto node = static_cast<NodeId>(bits_below(random_bits(options.seed, i), shards.nodes()));
    if (shards.count(node) == 0) continue;
    nodes.push_back(node);
    arcs += shards.count(node);
    bytes += shards.block_bytes(node / kBlockNodes).size();
  }
  out.mean_list_arcs = static_cast<double>(arcs) / kRandomLists;
  out.mean_list_block_bytes = static_cast<double>(bytes) / kRandomLists;
  std::uint32_t sum = 0;
  return rate({kRandomLists, 1024, 1, kRandomLists}, options.repeats, sum, [&](std::size_t first, std::size_t last) {
    std::vector<NodeId> buffer;
    std::uint32_t piece_sum = 0;
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t count = shards.count(nodes[i]);
      if (buffer.size() < count + kDecodeSlack) buffer.resize(count + kDecodeSlack);
      shards.of_node(nodes[i]).decode_node(nodes[i], buffer.data());
      piece_sum += sum_of(buffer.data(), count);
    }
    return piece_sum;
  });
}

/// Arcs a second on one thread.
double encode_rate(const PlainLists& lists, int repeats) {
  struct Piece {
    std::span<const std::uint32_t> counts;
    std::span<const NodeId> targets;
  };
  std::vector<Piece> pieces;
  std::size_t begin = 0, from = 0, to = 0;
  for (std::size_t node = 0; node < lists.counts.size(); ++node) {
    to += lists.counts[node];
    const bool whole = (node + 1) % kBlockNodes == 0 && to - from >= kPieceArcs;
    if (!whole && node + 1 < lists.counts.size()) continue;
    pieces.push_back(
        {std::span(lists.counts).subspan(begin, node + 1 - begin), std::span(lists.ids).subspan(from, to - from)});
    begin = node + 1;
    from = to;
  }
  EncodedLists encoded;
  std::uint32_t bytes = 0;
  const ThreadLimit single(1);
  return best_rate({pieces.size(), 1, 1 + kMinRunArcs / 4 / lists.arcs, static_cast<double>(lists.arcs)}, repeats,
                   bytes, [&](std::size_t first, std::size_t last) {
                     std::uint32_t sum = 0;
                     for (std::size_t i = first; i < last; ++i) {
                       encode_lists(pieces[i].counts, pieces[i].targets, encoded);
                       sum += static_cast<std::uint32_t>(encoded.bytes.size());
                     }
                     return sum;
                   });
}

}  // namespace

DecodeBench run_bench_decode(const std::filesystem::path& store, const DecodeBenchOptions& options,
                             MemoryBudget& budget) {
  const Shards shards(store);
  DecodeBench result;
  shards.describe(result);
  if (result.arcs == 0)
    throw UsageError(store.string() + ": has no edges, so there is nothing to decode; name a store that has some");
  result.threads = active_threads();
  result.decode = decode_rate(shards, options, result);
  result.lists = list_rate(shards, options, result);

  const Reservation memory = budget.reserve(
      sizeof(NodeId) * kPlainIds + sizeof(std::uint32_t) * std::uint64_t{shards.nodes()}, "lists of the benchmark");
  const PlainLists lists = plain_lists(shards);
  std::uint32_t sum = 0;
  result.memory_sum =
      rate({kPlainIds, 1 << 16, 1, kPlainIds}, options.repeats, sum,
           [&](std::size_t first, std::size_t last) { return sum_of(&lists.ids[first], last - first); });
  result.cache_sum =
      rate({kPlainIds, 1 << 20, 1, kPlainIds}, options.repeats, sum, [&](std::size_t first, std::size_t last) {
        std::uint32_t piece_sum = 0;
        // The place moves, so that a compiler cannot add up once and multiply.
        for (std::size_t i = 0; first < last; first += kCachedIds, i = (i + 16) % kCachedIds)
          piece_sum += sum_of(&lists.ids[i], std::min(kCachedIds, last - first));
        return piece_sum;
      });
  if (lists.arcs > 0) result.encode = encode_rate(lists, options.repeats);
  return result;
}

}  // namespace unweave
