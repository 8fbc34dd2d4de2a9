// tests/bench/limits/bench_decode.cpp - times decoding and encoding of a store's lists, beside sums
// over plain ids.
#include "bench/limits/bench_decode.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/random/counter_random.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "storage/formats/manifest.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Uncompressed ids, 256 MiB of them: far more than any cache holds.
constexpr std::size_t kPlainIds = std::size_t{1} << 26;
/// 16 KiB of ids; twice that is read, which every first-level data cache holds.
constexpr std::size_t kCachedIds = std::size_t{1} << 12;
/// A run goes over small stores several times until it has met so many arcs, or nodes where there
/// are more of these.
constexpr std::uint64_t kMinRunArcs = std::uint64_t{1} << 25;
constexpr std::size_t kRandomLists = std::size_t{1} << 18;
constexpr std::size_t kPieceArcs = std::size_t{1} << 18;  // as `import` hands lists to encode_lists

/// Sum of ids modulo 2^32. Four streams at once, since additions to one vector would wait for each
/// other.
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

/// One thing to measure: body(first, last) on pieces of [0, items) returns a sum of what it has
/// seen, which keeps compilers from dropping the work.
struct Task {
  std::size_t items;
  std::size_t grain;     ///< most items of a piece
  std::uint64_t rounds;  ///< rounds over all items, in one run
  double work;           ///< work of a round, in the unit of the rate
  std::function<std::uint32_t(std::size_t first, std::size_t last)> body;
  BenchRate rate{};       ///< rate of the best run
  std::uint32_t sum = 0;  ///< sum of a round
};

double run_rate(Task& task, std::uint64_t rounds) {
  const Clock::time_point start = Clock::now();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::atomic<std::uint32_t> total = 0;
    parallel_ranges(0, task.items, task.grain,
                    [&](std::size_t first, std::size_t last) { total += task.body(first, last); });
    task.sum = total;
  }
  return task.work * static_cast<double>(rounds) / seconds_since(start);
}

/// Runs all tasks in turn, again and again, so that a busy moment of the machine does not hit one
/// of them alone.
void measure(std::span<Task*> tasks, int repeats) {
  for (Task* const task : tasks) run_rate(*task, 1);  // warms up
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (Task* const task : tasks) task->rate.all = std::max(task->rate.all, run_rate(*task, task->rounds));
    const ThreadLimit single(1);
    for (Task* const task : tasks) task->rate.one = std::max(task->rate.one, run_rate(*task, task->rounds));
  }
}

/// The shards of a store as one sequence of blocks.
class Shards {
 public:
  explicit Shards(const std::filesystem::path& store) : manifest_(read_manifest(store)) {
    for (std::size_t i = 0; i < manifest_.shards.size(); ++i)
      shards_.emplace_back(store, manifest_.shards[i], span_range(manifest_.nodes, i), manifest_.nodes,
                           manifest_.max_weight);
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
  [[nodiscard]] std::uint64_t block_arcs(std::size_t block) const { return of_block(block).block_ids(within(block)); }
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
      degrees += shards_[i].packed_count_bytes();
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

/// Room for one block or list that stays in cache.
NodeId* buffer_of(std::vector<NodeId>& buffer, std::size_t arcs) {
  if (buffer.size() < arcs + kDecodeSlack) buffer.resize(arcs + kDecodeSlack);
  return buffer.data();
}

/// The store's first lists, uncompressed, and after them the same again until all kPlainIds ids are
/// there.
struct PlainLists {
  std::vector<std::uint32_t> counts;  ///< whole blocks
  HugeBuffer memory;
  std::size_t arcs = 0;  ///< sum of counts
  [[nodiscard]] const NodeId* ids() const noexcept { return memory.as<NodeId>(); }
};

PlainLists plain_lists(const Shards& shards, MemoryBudget& budget) {
  PlainLists lists;
  lists.memory = HugeBuffer(sizeof(NodeId) * kPlainIds, budget, "lists of the benchmark");
  auto* const ids = lists.memory.as<NodeId>();
  std::vector<NodeId> buffer;
  for (std::size_t block = 0; block < shards.num_blocks(); ++block) {
    const std::size_t arcs = shards.block_arcs(block);
    if (lists.arcs + arcs > kPlainIds) break;
    NodeId* const block_ids = buffer_of(buffer, arcs);
    shards.decode(block, block_ids);
    std::copy_n(block_ids, arcs, ids + lists.arcs);
    lists.arcs += arcs;
    const std::size_t first = block * kBlockNodes;
    for (std::size_t node = first; node < std::min<std::size_t>(first + kBlockNodes, shards.nodes()); ++node)
      lists.counts.push_back(shards.count(static_cast<NodeId>(node)));
  }
  for (std::size_t i = lists.arcs; i < kPlainIds; ++i)
    ids[i] = lists.arcs > 0 ? ids[i - lists.arcs] : static_cast<NodeId>(i);
  return lists;
}

Task decode_task(const Shards& shards, ArcIndex all_arcs) {
  return {shards.num_blocks(), 256, 1 + kMinRunArcs / std::max<ArcIndex>(all_arcs, shards.nodes()),
          static_cast<double>(all_arcs), [&shards](std::size_t first, std::size_t last) {
            std::vector<NodeId> buffer;
            std::uint32_t sum = 0;
            for (std::size_t block = first; block < last; ++block) {
              const std::size_t arcs = shards.block_arcs(block);
              NodeId* const ids = buffer_of(buffer, arcs);
              shards.decode(block, ids);
              sum += sum_of(ids, arcs);
            }
            return sum;
          }};
}

/// Nodes drawn at random among those that have neighbours, of which there must be one. They are
/// drawn as ranks, which two walks over the counts turn into nodes: however few nodes have
/// neighbours, it takes no longer.
std::vector<NodeId> random_nodes(const Shards& shards, std::uint64_t seed) {
  std::uint64_t linked = 0;
  for (NodeId node = 0; node < shards.nodes(); ++node) linked += shards.count(node) > 0 ? 1 : 0;
  struct Draw {
    std::uint64_t rank;
    std::size_t place;
  };
  std::vector<Draw> draws(kRandomLists);
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i] = {bits_below(random_bits(seed, i), linked), i};
  std::sort(draws.begin(), draws.end(), [](const Draw& a, const Draw& b) { return a.rank < b.rank; });
  std::vector<NodeId> nodes(kRandomLists);
  std::uint64_t rank = 0;
  std::size_t next = 0;
  for (NodeId node = 0; next < draws.size(); ++node) {
    if (shards.count(node) == 0) continue;
    for (; next < draws.size() && draws[next].rank == rank; ++next) nodes[draws[next].place] = node;
    ++rank;
  }
  return nodes;
}

Task list_task(const Shards& shards, const std::vector<NodeId>& nodes) {
  return {nodes.size(), 1024, 1, static_cast<double>(nodes.size()),
          [&shards, &nodes](std::size_t first, std::size_t last) {
            std::vector<NodeId> buffer;
            std::uint32_t sum = 0;
            for (std::size_t i = first; i < last; ++i) {
              const std::size_t count = shards.count(nodes[i]);
              NodeId* const ids = buffer_of(buffer, count);
              shards.of_node(nodes[i]).decode_node(nodes[i], ids);
              sum += sum_of(ids, count);
            }
            return sum;
          }};
}

Task memory_task(const PlainLists& lists) {
  return {kPlainIds, 1 << 16, 2, static_cast<double>(kPlainIds),
          [&lists](std::size_t first, std::size_t last) { return sum_of(lists.ids() + first, last - first); }};
}

Task cache_task(const PlainLists& lists) {
  return {kPlainIds, 1 << 20, 8, static_cast<double>(kPlainIds), [&lists](std::size_t first, std::size_t last) {
            std::uint32_t sum = 0;
            // The place moves, so that a compiler cannot add up once and multiply.
            for (std::size_t i = 0; first < last; first += kCachedIds, i = (i + 16) % kCachedIds)
              sum += sum_of(lists.ids() + i, std::min(kCachedIds, last - first));
            return sum;
          }};
}

struct Piece {
  std::span<const std::uint32_t> counts;
  std::span<const NodeId> targets;
};

/// The lists as `import` hands them to encode_lists.
std::vector<Piece> encoding_pieces(const PlainLists& lists) {
  std::vector<Piece> pieces;
  std::size_t begin = 0, from = 0, to = 0;
  for (std::size_t node = 0; node < lists.counts.size(); ++node) {
    to += lists.counts[node];
    const bool whole = (node + 1) % kBlockNodes == 0 && to - from >= kPieceArcs;
    if (!whole && node + 1 < lists.counts.size()) continue;
    pieces.push_back(
        {std::span(lists.counts).subspan(begin, node + 1 - begin), std::span(lists.ids() + from, to - from)});
    begin = node + 1;
    from = to;
  }
  return pieces;
}

Task encode_task(const PlainLists& lists, const std::vector<Piece>& pieces) {
  return {pieces.size(), 1, 1 + kMinRunArcs / 8 / std::max({std::size_t{1}, lists.arcs, lists.counts.size()}),
          static_cast<double>(lists.arcs), [&pieces](std::size_t first, std::size_t last) {
            thread_local EncodedLists encoded;  // keeps its memory, as in a pipeline
            std::uint32_t bytes = 0;
            for (std::size_t i = first; i < last; ++i) {
              encode_lists({pieces[i].counts, pieces[i].targets}, 1, encoded);
              bytes += static_cast<std::uint32_t>(encoded.bytes.size());
            }
            return bytes;
          }};
}

}  // namespace

DecodeBench run_bench_decode(const std::filesystem::path& store, const DecodeBenchOptions& options,
                             MemoryBudget& budget) {
  const Reservation degrees =
      budget.reserve(sizeof(std::uint32_t) * std::uint64_t{read_manifest(store).nodes}, "degrees of the store");
  const Shards shards(store);
  DecodeBench result;
  shards.describe(result);
  if (result.arcs == 0)
    throw UsageError(store.string() + ": has no edges, so there is nothing to decode; name a store that has some");
  result.threads = active_threads();
  const std::vector<NodeId> nodes = random_nodes(shards, options.seed);
  double list_arcs = 0, block_bytes = 0;
  for (const NodeId node : nodes) {
    list_arcs += shards.count(node);
    block_bytes += static_cast<double>(shards.block_bytes(node / kBlockNodes).size());
  }
  result.mean_list_arcs = list_arcs / static_cast<double>(nodes.size());
  result.mean_list_block_bytes = block_bytes / static_cast<double>(nodes.size());

  const Reservation counts_memory =
      budget.reserve(sizeof(std::uint32_t) * std::uint64_t{shards.nodes()}, "degrees of the benchmark");
  const PlainLists lists = plain_lists(shards, budget);
  const std::vector<Piece> pieces = encoding_pieces(lists);
  Task decode = decode_task(shards, result.arcs), memory = memory_task(lists), cache = cache_task(lists),
       list = list_task(shards, nodes), encode = encode_task(lists, pieces);
  std::array<Task*, 5> tasks{&decode, &memory, &cache, &list, &encode};
  measure(tasks, options.repeats);
  result.decode = decode.rate;
  result.id_sum = decode.sum;
  result.memory_sum = memory.rate;
  result.cache_sum = cache.rate;
  result.lists = list.rate;
  result.encode = encode.rate;
  return result;
}

}  // namespace unweave
