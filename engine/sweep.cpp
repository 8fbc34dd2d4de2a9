#include "engine/sweep.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <string>

#include "engine/parallel.h"
#include "engine/token_graph.h"
#include "storage/error.h"

namespace unweave {
namespace {

constexpr std::size_t kRangeBlocks = 16;  // 512 rows: large against the cost of a task, small against L2 and the budget
constexpr std::size_t kRangeRows = kRangeBlocks * kBlockNodes;
constexpr std::size_t kTokensPerThread = 8;

/// The results of one range, held from its work until its write.
struct RangeOutput {
  explicit RangeOutput(std::size_t width)
      : nodes(kRangeRows),
        sums(std::make_unique_for_overwrite<std::int32_t[]>(kRangeRows * width)),
        wide_sums(std::make_unique_for_overwrite<std::int64_t[]>(kRangeRows * width)),
        wide_nodes(kRangeRows) {}

  std::vector<NodeId> nodes;
  std::unique_ptr<std::int32_t[]> sums;
  std::unique_ptr<std::int64_t[]> wide_sums;  // room for the worst case; pages that are never wide are never touched
  std::vector<std::uint32_t> wide_nodes;
  std::size_t num_nodes = 0;
  std::size_t num_wide = 0;
};

/// The wanted nodes of one block with their lists side by side.
struct BlockLists {
  std::array<NodeId, kBlockNodes> nodes{};
  std::size_t num_nodes = 0;
  const std::uint32_t* counts = nullptr;
  const NodeId* targets = nullptr;
  std::size_t num_targets = 0;
};

/// What a worker keeps between ranges: lists of the block being gathered and of the one after it.
struct Worker {
  std::array<BlockLists, 2> lists;
  std::array<std::array<std::uint32_t, kBlockNodes>, 2> counts{};  // of wanted nodes, where not all are
  std::array<std::vector<NodeId>, 2> targets;
};

class LevelSweep {
 public:
  LevelSweep(const BlockSource& source, const SweepLevel& level, std::size_t workers, std::size_t tokens)
      : source_(source), level_(level), workers_(workers) {
    outputs_.reserve(tokens);
    for (std::size_t i = 0; i < tokens; ++i) outputs_.emplace_back(level.input.width);
    source.make_slots(2 * workers);
  }

  void work(std::size_t item, std::size_t worker, std::size_t token) {
    RangeOutput& out = outputs_[token];
    out.num_nodes = 0;
    out.num_wide = 0;
    // One block is decoded ahead, so that the gather can fetch its first rows while it sums the last of the block before.
    std::size_t current = next_wanted(item * kRangeBlocks, last_block(item));
    if (current == last_block(item)) return;
    std::size_t side = 0;
    load(current, worker, side);
    while (current != last_block(item)) {
      const std::size_t next = next_wanted(current + 1, last_block(item));
      if (next != last_block(item)) load(next, worker, 1 - side);
      gather(workers_[worker].lists[side], next != last_block(item) ? &workers_[worker].lists[1 - side] : nullptr, out);
      current = next;
      side = 1 - side;
    }
  }

  void write(std::size_t item, std::size_t token, const SumSink& sink) const {
    const RangeOutput& out = outputs_[token];
    if (out.num_nodes == 0) return;
    const auto first = static_cast<NodeId>(item * kRangeRows);
    const auto last = static_cast<NodeId>(std::min<std::size_t>((item + 1) * kRangeRows, source_.num_nodes));
    sink({{first, last},
          std::span(out.nodes).first(out.num_nodes),
          level_.input.width,
          out.sums.get(),
          std::span(out.wide_nodes).first(out.num_wide),
          out.wide_sums.get()});
  }

 private:
  std::size_t last_block(std::size_t item) const { return std::min(source_.num_blocks, (item + 1) * kRangeBlocks); }

  /// The first block of [block, last) with a wanted row, or `last`.
  std::size_t next_wanted(std::size_t block, std::size_t last) const {
    if (level_.wanted == nullptr) return block;
    while (block < last && level_.wanted->block_bits(block) == 0) ++block;
    return block;
  }

  /// Decodes a block into one side of a worker and keeps the lists of the wanted nodes.
  void load(std::size_t block, std::size_t worker, std::size_t side) {
    DecodedBlock decoded;
    source_.decode(block, 2 * worker + side, decoded);
    assert(decoded.first == block * kBlockNodes && decoded.nodes <= kBlockNodes);
    const std::uint32_t all = decoded.nodes == kBlockNodes ? ~std::uint32_t{0} : (1U << decoded.nodes) - 1;
    const std::uint32_t wanted = level_.wanted == nullptr ? all : level_.wanted->block_bits(block) & all;
    BlockLists& lists = workers_[worker].lists[side];
    lists.num_nodes = 0;
    lists.num_targets = 0;
    for (std::uint32_t rest = wanted; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (decoded.counts[i] >= kMaxDegree - 1) {
        throw DataError("the node at position " + std::to_string(decoded.first + i) + ": " +
                        std::to_string(decoded.counts[i]) + " neighbours, more than the " +
                        std::to_string(kMaxDegree - 2) + " that rounding allows; remove some of its edges");
      }
      lists.nodes[lists.num_nodes++] = decoded.first + i;
      lists.num_targets += decoded.counts[i];
    }
    if (wanted == all) {
      lists.counts = decoded.counts;
      lists.targets = decoded.targets;
    } else {
      compact(decoded, wanted, workers_[worker], side);
    }
  }

  /// Copies the lists of some of a block's nodes next to each other: ids are few bytes against the rows they name.
  static void compact(const DecodedBlock& decoded, std::uint32_t wanted, Worker& worker, std::size_t side) {
    std::vector<NodeId>& targets = worker.targets[side];
    targets.clear();
    std::size_t kept = 0;
    const NodeId* list = decoded.targets;
    for (std::uint32_t i = 0; i < decoded.nodes; ++i) {
      if ((wanted >> i & 1U) != 0) {
        worker.counts[side][kept++] = decoded.counts[i];
        targets.insert(targets.end(), list, list + decoded.counts[i]);
      }
      list += decoded.counts[i];
    }
    worker.lists[side].counts = worker.counts[side].data();
    worker.lists[side].targets = targets.data();
  }

  void gather(const BlockLists& lists, const BlockLists* next, RangeOutput& out) const {
    const std::size_t width = level_.input.width;
    GatherLists in;
    in.nodes = std::span(lists.nodes).first(lists.num_nodes);
    in.counts = lists.counts;
    in.targets = lists.targets;
    in.num_targets = lists.num_targets;
    if (next != nullptr) in.lookahead = {next->targets, next->num_targets};
    std::uint32_t* const wide_nodes = out.wide_nodes.data() + out.num_wide;
    const std::size_t wide = gather_lists(level_.input, in,
                                          {out.sums.get() + out.num_nodes * width,
                                           out.wide_sums.get() + out.num_wide * width, wide_nodes, level_.quotients});
    for (std::size_t i = 0; i < wide; ++i) wide_nodes[i] += static_cast<std::uint32_t>(out.num_nodes);
    std::copy_n(lists.nodes.begin(), lists.num_nodes, out.nodes.begin() + static_cast<std::ptrdiff_t>(out.num_nodes));
    out.num_nodes += lists.num_nodes;
    out.num_wide += wide;
  }

  const BlockSource& source_;
  const SweepLevel& level_;
  std::vector<Worker> workers_;
  std::vector<RangeOutput> outputs_;
};

}  // namespace

std::uint64_t sweep_token_bytes(std::size_t width) {
  return kRangeRows * (width * (sizeof(std::int32_t) + sizeof(std::int64_t)) + sizeof(NodeId) + sizeof(std::uint32_t));
}

void sweep_level(const BlockSource& source, const SweepLevel& level, const SweepOptions& options, MemoryBudget& budget,
                 const SumSink& sink) {
  if (level.input.scale_bits < 0 || level.input.scale_bits > kMaxScaleBits) {
    throw UsageError("scale bits must lie in 0.." + std::to_string(kMaxScaleBits));
  }
  if (source.num_nodes == 0 || level.input.width == 0) return;
  assert(source.num_blocks == (static_cast<std::size_t>(source.num_nodes) + kBlockNodes - 1) / kBlockNodes);
  const std::size_t threads = active_threads();
  const std::uint64_t token_bytes = sweep_token_bytes(level.input.width);
  const std::uint64_t worker_bytes = 2 * source.max_decoded_bytes;
  const std::size_t most = options.max_tokens > 0 ? options.max_tokens : kTokensPerThread * threads;
  // Fewer tokens and workers where the budget is short, but one of each or none at all.
  const std::uint64_t available = budget.available();
  const std::uint64_t for_workers = available / 2 / std::max<std::uint64_t>(1, worker_bytes);
  const std::size_t workers = std::clamp<std::size_t>(for_workers, 1, std::min(threads, most));
  const std::uint64_t rest = available - std::min(available, workers * worker_bytes);
  const std::size_t tokens = std::clamp<std::size_t>(rest / token_bytes, 1, most);
  const Reservation reservation = budget.reserve(tokens * token_bytes + workers * worker_bytes, "buffers of the sweep");

  LevelSweep sweep(source, level, std::min(workers, tokens), tokens);
  TokenGraph plan;
  plan.items = (source.num_blocks + kRangeBlocks - 1) / kRangeBlocks;
  plan.tokens = tokens;
  plan.workers = std::min(workers, tokens);
  plan.in_order = options.in_order;
  plan.work = [&](std::size_t item, std::size_t worker, std::size_t token) { sweep.work(item, worker, token); };
  plan.write = [&](std::size_t item, std::size_t token) { sweep.write(item, token, sink); };
  run_token_graph(plan);
}

}  // namespace unweave
