// engine/sweep/sweep.cpp - decodes blocks of lists and gathers their sums on all threads.
#include "engine/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kReadRanges = kReadBlocks / kSweepRangeBlocks;

/// The wanted nodes of one block with their lists side by side.
struct BlockLists {
  std::array<NodeId, kBlockNodes> nodes{};
  std::array<NodeId, kBlockNodes> rows{};  ///< rows of the input tile
  std::size_t num_nodes = 0;
  const std::uint32_t* counts = nullptr;
  const NodeId* targets = nullptr;
  const std::uint32_t* weights = nullptr;  ///< beside the targets, where they have some
  std::size_t num_targets = 0;
};

/// An array that begins on a cache line, so that no store of a vector goes to two of them.
struct FreeLines {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class T>
using Lines = std::unique_ptr<T, FreeLines>;

template <class T>
Lines<T> lines(std::size_t count) {
  constexpr std::size_t kLine = 64;
  void* const memory = std::aligned_alloc(kLine, (count * sizeof(T) + kLine - 1) / kLine * kLine);
  if (memory == nullptr) throw std::bad_alloc();
  return Lines<T>(static_cast<T*>(memory));
}

/// Lists side by side, in just the memory of the longest ones so far: it is what the budget is
/// charged for.
class TargetBuffer {
 public:
  NodeId* make_room(std::size_t targets) {
    if (targets > room_) {
      ids_.reset();
      ids_ = lines<NodeId>(targets);
      room_ = targets;
    }
    return ids_.get();
  }

 private:
  Lines<NodeId> ids_;
  std::size_t room_ = 0;
};

/// Blocks whose sums are handed over together: enough for a chunk of a file, few enough to stay in
/// L2.
std::size_t group_blocks(std::size_t width) {
  constexpr std::size_t kGroupBytes = std::size_t{64} << 10;
  const std::size_t block_bytes = kBlockNodes * width * sizeof(std::int32_t);
  return std::min(kSweepRangeBlocks, std::bit_ceil((kGroupBytes + block_bytes - 1) / block_bytes));
}

/// What a worker keeps: lists of the block being gathered and of the one after it, and the results
/// of a group.
struct Worker {
  Worker(std::size_t rows, std::size_t width, bool is_checked)
      : nodes(rows),
        sums(lines<std::int32_t>(rows * width)),
        wide_sums(lines<std::int64_t>(rows * width)),
        wide_nodes(rows) {
    if (!is_checked) return;
    weights.resize(rows);
    column_sums.emplace(width);
    column_terms.emplace(width);
  }

  std::array<BlockLists, 2> lists;
  std::array<std::array<std::uint32_t, kBlockNodes>, 2> counts{};  // counts of wanted nodes, where not all are
  std::array<TargetBuffer, 2> targets;
  std::array<std::vector<std::uint32_t>, 2> target_weights;  // what the same arcs weigh, where they have weights
  std::vector<NodeId> nodes;
  std::size_t num_nodes = 0;
  Lines<std::int32_t> sums;
  Lines<std::int64_t> wide_sums;  // room for the worst case; pages that are never wide are never touched
  std::vector<std::uint32_t> wide_nodes;
  std::size_t num_wide = 0;
  std::vector<std::int32_t> weights;
  std::optional<ColumnTotals> column_sums, column_terms;  // totals of the partition of `checked_from`
  NodeId checked_from = 0;
};

/// Writes the weights of the lists of some of a block's nodes, one after another: what the next
/// level reads of them.
void weigh_lists(const DecodedBlock& decoded, std::uint32_t self, std::uint32_t nodes, const LevelCheck& check,
                 std::int32_t* weights) {
  const NodeId* list = decoded.targets;
  for (std::uint32_t i = 0; i < decoded.nodes; ++i) {
    const std::span<const NodeId> targets(list, decoded.counts[i]);
    list += decoded.counts[i];
    if ((nodes >> i & 1U) == 0) continue;
    if (decoded.weights != nullptr || self != 1) {
      const std::uint32_t* const beside =
          decoded.weights == nullptr ? nullptr : decoded.weights + (targets.data() - decoded.targets);
      *weights++ = check.key->list_weight(decoded.first + i, self, targets, beside, check.readers);
      continue;
    }
    *weights++ = check.readers == nullptr ? check.key->list_weight(decoded.first + i, targets)
                                          : check.key->list_weight(decoded.first + i, targets, *check.readers);
  }
}

/// Throws DataError where the weights of a node's edges and its self loop are too many for its
/// quotients.
void require_degree(const DecodedBlock& decoded, std::uint32_t at, std::uint32_t self) {
  const std::size_t before = std::accumulate(decoded.counts, decoded.counts + at, std::size_t{0});
  const std::uint32_t* const weights = decoded.weights + before;
  const std::uint64_t degree = std::accumulate(weights, weights + decoded.counts[at], std::uint64_t{self});
  if (degree < kMaxDegree) return;
  throw DataError("the node at position " + std::to_string(decoded.first + at) + ": its weights add up to " +
                  std::to_string(degree) + " units, more than the " + std::to_string(kMaxDegree - 1) +
                  " that rounding allows; take a larger unit, or remove some of its edges");
}

template <class T>
class LevelSweep {
 public:
  LevelSweep(const BlockSource& source, const SweepTile<T>& tile, const SweepLevel& level, std::size_t workers,
             const SumSink& sink)
      : source_(source),
        tile_(tile),
        wanted_(level.wanted),
        input_rows_(level.input_rows),
        quotient_rows_(level.quotient_rows),
        check_(level.check),
        sink_(sink),
        group_(group_blocks(tile.input.width)) {
    for (std::size_t i = 0; i < workers; ++i)
      workers_.emplace_back(group_ * kBlockNodes, tile.input.width, check_ != nullptr);
    source.make_slots(2 * workers);
  }

  void run() {
    const std::size_t ranges = (source_.num_blocks + kSweepRangeBlocks - 1) / kSweepRangeBlocks;
    run_items(ranges, workers_.size(), [&](std::size_t item, std::size_t worker) { work(item, worker); });
    if (check_ == nullptr) return;
    for (Worker& worker : workers_) end_partition(worker);
  }

 private:
  void work(std::size_t item, std::size_t worker) {
    if (item % kReadRanges == 0) scan_ahead(source_, item * kSweepRangeBlocks, wanted_);
    // One block is decoded ahead, so that the gather can fetch its first rows while it sums the
    // last of the block before.
    std::size_t current = next_wanted(item * kSweepRangeBlocks, last_block(item));
    if (current == last_block(item)) return;
    if (check_ != nullptr) begin_partition(static_cast<NodeId>(current * kBlockNodes), workers_[worker]);
    std::size_t side = 0;
    load(current, worker, side);
    while (current != last_block(item)) {
      const std::size_t next = next_wanted(current + 1, last_block(item));
      if (next != last_block(item)) load(next, worker, 1 - side);
      gather(workers_[worker], side, next != last_block(item));
      if (next == last_block(item) || next / group_ != current / group_) hand_over(current / group_, workers_[worker]);
      current = next;
      side = 1 - side;
    }
  }

  std::size_t last_block(std::size_t item) const {
    return std::min(source_.num_blocks, (item + 1) * kSweepRangeBlocks);
  }

  /// The first block of [block, last) with a wanted row, or `last`.
  std::size_t next_wanted(std::size_t block, std::size_t last) const {
    if (wanted_ == nullptr) return block;
    while (block < last && wanted_->block_bits(block) == 0) ++block;
    return block;
  }

  /// Decodes a block into one side of a worker and keeps the lists of the wanted nodes.
  void load(std::size_t block, std::size_t worker, std::size_t side) {
    DecodedBlock decoded;
    source_.decode(block, 2 * worker + side, decoded);
    assert(decoded.first == block * kBlockNodes && decoded.nodes <= kBlockNodes);
    const std::uint32_t all = decoded.nodes == kBlockNodes ? ~std::uint32_t{0} : (1U << decoded.nodes) - 1;
    const std::uint32_t wanted = wanted_ == nullptr ? all : wanted_->block_bits(block) & all;
    BlockLists& lists = workers_[worker].lists[side];
    lists.num_nodes = 0;
    lists.num_targets = 0;
    for (std::uint32_t rest = wanted; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (decoded.weights != nullptr) {
        require_degree(decoded, i, source_.self_weight);
      } else if (decoded.counts[i] >= kMaxDegree - 1) {
        throw DataError("the node at position " + std::to_string(decoded.first + i) + ": " +
                        std::to_string(decoded.counts[i]) + " neighbours, more than the " +
                        std::to_string(kMaxDegree - 2) + " that rounding allows; remove some of its edges");
      }
      const NodeId node = decoded.first + i;
      lists.rows[lists.num_nodes] = input_rows_ == nullptr ? node : row_of(node);
      lists.nodes[lists.num_nodes++] = node;
      lists.num_targets += decoded.counts[i];
    }
    if (check_ != nullptr && check_->must_weigh)
      weigh_lists(decoded, source_.self_weight, wanted, *check_, check_->weights + quotient_row(lists.nodes.front()));
    if (wanted == all && input_rows_ == nullptr) {
      lists.counts = decoded.counts;
      lists.targets = decoded.targets;
      lists.weights = decoded.weights;
    } else {
      compact(decoded, wanted, workers_[worker], side);
    }
  }

  /// Where the input tile has the row of a node. What the file of a level says of its rows may be
  /// wrong.
  NodeId row_of(NodeId node) const {
    if (!input_rows_->contains(node)) {
      throw DataError("the node at position " + std::to_string(node) +
                      ": its row is read by a level above and was not to be kept; run " + operation("propagate") +
                      " again");
    }
    return input_rows_->before(node);
  }

  /// Copies the lists of some of a block's nodes next to each other, as rows of the input tile: ids
  /// are few bytes against the rows they name.
  void compact(const DecodedBlock& decoded, std::uint32_t wanted, Worker& worker, std::size_t side) const {
    BlockLists& lists = worker.lists[side];
    NodeId* to = worker.targets[side].make_room(lists.num_targets);
    std::vector<std::uint32_t>& weights = worker.target_weights[side];
    weights.clear();
    weights.reserve(1);
    lists.counts = worker.counts[side].data();
    lists.targets = to;
    std::size_t kept = 0;
    const NodeId* list = decoded.targets;
    for (std::uint32_t i = 0; i < decoded.nodes; ++i) {
      const NodeId* const end = list + decoded.counts[i];
      if ((wanted >> i & 1U) != 0) {
        worker.counts[side][kept++] = decoded.counts[i];
        to = input_rows_ == nullptr ? std::copy(list, end, to)
                                    : std::transform(list, end, to, [this](NodeId target) { return row_of(target); });
        if (decoded.weights != nullptr)
          weights.insert(weights.end(), decoded.weights + (list - decoded.targets),
                         decoded.weights + (end - decoded.targets));
      }
      list = end;
    }
    lists.weights = decoded.weights == nullptr ? nullptr : weights.data();
  }

  void gather(Worker& worker, std::size_t side, bool more) const {
    const std::size_t width = tile_.input.width;
    const BlockLists& lists = worker.lists[side];
    const BlockLists& next = worker.lists[1 - side];
    GatherLists in;
    in.nodes = std::span(lists.rows).first(lists.num_nodes);
    in.counts = lists.counts;
    in.targets = lists.targets;
    in.num_targets = lists.num_targets;
    in.weights = lists.weights;
    in.own_weight = source_.self_weight;
    if (more) in.lookahead = {next.targets, next.num_targets};
    const bool checks = check_ != nullptr && check_->terms != nullptr;
    std::uint32_t* const wide_nodes = worker.wide_nodes.data() + worker.num_wide;
    const GatherOutputOf<T> out{worker.sums.get() + worker.num_nodes * width,
                                worker.wide_sums.get() + worker.num_wide * width,
                                wide_nodes,
                                quotients_from(lists.nodes.front()),
                                checks ? &*worker.column_terms : nullptr,
                                checks ? check_->weights + quotient_row(lists.nodes.front()) : nullptr};
    const std::size_t wide = gather_lists(tile_.input, in, out);
    for (std::size_t i = 0; i < wide; ++i) wide_nodes[i] += static_cast<std::uint32_t>(worker.num_nodes);
    std::copy_n(lists.nodes.begin(), lists.num_nodes,
                worker.nodes.begin() + static_cast<std::ptrdiff_t>(worker.num_nodes));
    worker.num_nodes += lists.num_nodes;
    worker.num_wide += wide;
  }

  /// Where the quotients of a wanted node go, and after them those of the wanted nodes that follow.
  T* quotients_from(NodeId node) const {
    if (tile_.quotients == nullptr) return nullptr;
    return tile_.quotients + quotient_row(node) * tile_.input.width;
  }

  std::size_t quotient_row(NodeId node) const {
    return quotient_rows_ == nullptr ? node : quotient_rows_->before(node);
  }

  void hand_over(std::size_t group, Worker& worker) const {
    if (check_ != nullptr) check(worker);
    sink_({group * group_, std::span(worker.nodes).first(worker.num_nodes), tile_.input.width, worker.sums.get(),
           std::span(worker.wide_nodes).first(worker.num_wide), worker.wide_sums.get()});
    worker.num_nodes = 0;
    worker.num_wide = 0;
  }

  /// Adds the sums of the group, just before others take them.
  void check(Worker& worker) const {
    const std::size_t width = tile_.input.width;
    for (std::size_t i = 0; i < worker.num_nodes; ++i) worker.weights[i] = check_->key->weight(worker.nodes[i]);
    worker.column_sums->add(worker.sums.get(), worker.num_nodes, worker.weights.data());
    for (std::size_t k = 0; k < worker.num_wide; ++k) {
      const std::uint64_t wide = fingerprint_of(std::span(worker.wide_sums.get() + k * width, width), check_->factors);
      check_->sums->add(worker.nodes.front(),
                        check_->factors.modulus.multiply(worker.weights[worker.wide_nodes[k]], wide));
    }
  }

  void begin_partition(NodeId node, Worker& worker) const {
    if (check_->sums->partition(node) != check_->sums->partition(worker.checked_from)) end_partition(worker);
    worker.checked_from = node;
  }
  /// Adds to both sides what the rows of a partition have added up to.
  void end_partition(Worker& worker) const {
    check_->sums->add(worker.checked_from, worker.column_sums->take(check_->factors));
    if (check_->terms != nullptr) check_->terms->add(worker.checked_from, worker.column_terms->take(check_->factors));
  }

  const BlockSource& source_;
  const SweepTile<T>& tile_;
  const RowMask* wanted_;
  const RowRanks* input_rows_;
  const RowRanks* quotient_rows_;
  const LevelCheck* check_;
  const SumSink& sink_;
  std::size_t group_;  ///< blocks
  std::vector<Worker> workers_;
};

template <class T>
void sweep_tile(const BlockSource& source, const SweepTile<T>& tile, const SweepLevel& level, MemoryBudget& budget,
                const SumSink& sink) {
  constexpr int kMost = sizeof(T) == sizeof(std::int16_t) ? kMaxShortScaleBits : kMaxScaleBits;
  if (tile.input.scale_bits < 0 || tile.input.scale_bits > kMost)
    throw UsageError("scale bits must lie in 0.." + std::to_string(kMost));
  if (tile.quotients != nullptr && (level.wanted == nullptr) != (level.quotient_rows == nullptr))
    throw UsageError("quotients of some rows need the ranks of these rows, and those of all rows none");
  if (source.num_nodes == 0 || tile.input.width == 0) return;
  assert(source.num_blocks == (static_cast<std::size_t>(source.num_nodes) + kBlockNodes - 1) / kBlockNodes);
  const std::uint64_t worker_bytes = sweep_worker_bytes(source, tile.input.width);
  const std::size_t workers = std::clamp<std::size_t>(budget.available() / worker_bytes, 1, active_threads());
  const Reservation reservation = budget.reserve(workers * worker_bytes, "buffers of the sweep");
  LevelSweep<T>(source, tile, level, workers, sink).run();
}

/// A level whose two sides differ, gone through again with the tile that it has read.
template <class T>
std::string blame_tile(const BlockSource& source, const TileOf<T>& tile, const SweepLevel& level, SumCheck& check,
                       std::uint32_t number) {
  const ColumnFactors factors = level.check->factors;
  const Modulus& modulus = factors.modulus;
  PartitionSums terms(source.num_nodes, modulus), sums(source.num_nodes, modulus);
  const auto fingerprint_at = [&](NodeId node) {
    const std::size_t row = level.input_rows == nullptr ? node : level.input_rows->before(node);
    return fingerprint_of(std::span(tile.rows + row * tile.width, tile.width), factors);
  };
  const FingerprintKey& key = check.key();
  LevelCheck reader;
  reader.key = &key;
  reader.readers = level.wanted;
  source.make_slots(1);
  DecodedBlock decoded;
  std::array<std::int32_t, kBlockNodes> weights{};
  for (std::size_t block = 0; block < source.num_blocks; ++block) {
    source.decode(block, 0, decoded);
    weigh_lists(decoded, source.self_weight, ~std::uint32_t{0}, reader, weights.data());
    const NodeId* list = decoded.targets;
    for (std::uint32_t i = 0; i < decoded.nodes; ++i) {
      const NodeId node = decoded.first + i;
      const std::span<const NodeId> targets(list, decoded.counts[i]);
      list += decoded.counts[i];
      if (level.input_rows != nullptr && !level.input_rows->contains(node)) continue;
      terms.add(node, modulus.multiply(weights[i], fingerprint_at(node)));
      if (level.wanted != nullptr && !level.wanted->contains(node)) continue;
      const auto times = [&](std::uint64_t units, NodeId one) {
        return modulus.multiply(static_cast<std::int32_t>(units), fingerprint_at(one));
      };
      const std::uint32_t* const beside =
          decoded.weights == nullptr ? nullptr : decoded.weights + (targets.data() - decoded.targets);
      std::uint64_t sum = times(source.self_weight, node);
      for (std::size_t k = 0; k < targets.size(); ++k)
        sum = modulus.add(sum, times(beside == nullptr ? 1 : beside[k], targets[k]));
      sums.add(node, modulus.multiply(key.weight(node), sum));
    }
  }
  // Terms that have changed may have made sums overflow: they come first.
  if (const std::size_t at = terms.mismatch(check.terms(number)); at < terms.size())
    return check.text(number - 1, at) + ": normalised sums have changed since they were formed";
  if (const std::size_t at = sums.mismatch(check.sums(number)); at < sums.size())
    return check.text(number, at) + ": the sums are not those of their terms";
  return check.text(number, 0) + ": sums that were not those of their terms now are";
}

}  // namespace

template <class T>
void check_terms(const BlockSource& source, std::size_t slot, NodeRange range, const TileOf<T>& rows,
                 const LevelCheck& check) {
  DecodedBlock decoded;
  for (std::size_t first = range.first; check.must_weigh && first < range.last; first += kBlockNodes) {
    source.decode(first / kBlockNodes, slot, decoded);
    weigh_lists(decoded, source.self_weight, ~std::uint32_t{0}, check, check.weights + (first - check.first_weighed));
  }
  ColumnTotals sums(rows.width);
  sums.add(rows.rows, range.size(), check.weights + (range.first - check.first_weighed));
  check.terms->add(range.first, sums.take(check.factors));
}

template void check_terms(const BlockSource&, std::size_t, NodeRange, const Tile&, const LevelCheck&);
template void check_terms(const BlockSource&, std::size_t, NodeRange, const ShortTile&, const LevelCheck&);

std::string blame_level(const BlockSource& source, const SweepLevel& level, SumCheck& check, std::uint32_t number) {
  return std::visit([&](const auto& tile) { return blame_tile(source, tile.input, level, check, number); }, level.tile);
}

std::uint64_t sweep_worker_bytes(const BlockSource& source, std::size_t width) {
  const std::uint64_t rows = group_blocks(width) * kBlockNodes;
  return rows * (width * (sizeof(std::int32_t) + sizeof(std::int64_t)) + sizeof(NodeId) + sizeof(std::uint32_t) +
                 sizeof(std::int32_t)) +
         2 * ColumnTotals::bytes(width) +
         4 * source.max_decoded_bytes;  // two blocks, and the lists of their wanted nodes side by side
}

void scan_ahead(const BlockSource& source, std::size_t block, const RowMask* wanted) {
  // Far enough ahead for a disk, near enough that what was read is still there.
  const std::size_t to = std::min(source.num_blocks, block + (kPiecesAhead + 1) * kReadBlocks);
  std::size_t from = block == 0 ? 0 : block + kPiecesAhead * kReadBlocks;
  while (wanted != nullptr && from < to && wanted->block_bits(from) == 0) ++from;
  if (source.read_ahead && from < to) source.read_ahead(from, to);
  if (source.forget && block >= 2 * kReadBlocks) source.forget(block - 2 * kReadBlocks, block - kReadBlocks);
}

void sweep_level(const BlockSource& source, const SweepLevel& level, MemoryBudget& budget, const SumSink& sink) {
  std::visit([&](const auto& tile) { sweep_tile(source, tile, level, budget, sink); }, level.tile);
}

}  // namespace unweave
