// algorithms/propagation/propagation_forecast.cpp - adds up disk and processor of each pass, and
// samples lists.
#include "algorithms/propagation/propagation_forecast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <numeric>

#include "algorithms/propagation/plan.h"
#include "algorithms/random/counter_random.h"
#include "engine/graph/contents.h"
#include "engine/graph/graph.h"
#include "engine/resources/clock.h"
#include "engine/resources/cost.h"
#include "engine/resources/machine.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/parallel.h"
#include "engine/resources/residency.h"
#include "engine/sweep/gather.h"
#include "storage/formats/manifest.h"
#include "storage/types/propagation_spec.h"

namespace unweave {
namespace {

constexpr std::array<double, 3> kNearBytes{0x1p20, 0x1p23, 0x1p26};

/// Sequential passes over files of which the page cache has a share.
class Disk {
 public:
  Disk(const PropagationWork& work, const MachineProfile& machine)
      : machine_(machine), cache_(work.free_memory > 0 ? work.free_memory : 1e18) {}

  /// From now on the cache has so many bytes less.
  void take(double bytes) { cache_ = std::max(0.0, cache_ - bytes); }
  /// Seconds of reading all of a file whose resident share is `share`, which is then what a next
  /// pass would find. Together with it `other` bytes pass through the cache.
  double pass(double bytes, double& share, double other = 0) const {
    const double seconds = machine_.read_seconds(bytes, std::min(share, kept(bytes + other)));
    share = kept(bytes + other);
    return seconds;
  }

 private:
  /// A cache that drops what was used longest ago has nothing of a larger file when its next pass
  /// begins; the system's, which keeps some of what was used twice, has a little.
  [[nodiscard]] double kept(double bytes) const {
    return bytes <= cache_ ? 1 : std::clamp(2 * cache_ / bytes - 1, 0.0, 1.0);
  }
  const MachineProfile& machine_;
  double cache_;
};

/// Where the lists of some blocks point: shares of arcs whose target was among the last so many
/// different ones, at least.
class RecentNodes {
 public:
  explicit RecentNodes(std::uint64_t nodes) : slots_(std::bit_floor(std::max<std::uint64_t>(1, nodes)), kNobody) {}
  bool use(NodeId node) {
    NodeId& slot = slots_[mix64(node + kGoldenRatio) & (slots_.size() - 1)];
    return std::exchange(slot, node) == node;
  }

 private:
  static constexpr NodeId kNobody = ~NodeId{0};
  std::vector<NodeId> slots_;
};

/// Shares of arcs that end in the nodes of most terms, so many of them.
std::vector<double> shares_of_hubs(const Graph& graph, const std::vector<double>& counts) {
  constexpr std::size_t kBits = 33;
  std::array<double, kBits> nodes{}, arcs{};
  std::mutex mutex;
  parallel_ranges(0, graph.num_nodes(), std::size_t{1} << 18, [&](std::size_t first, std::size_t last) {
    std::array<std::uint64_t, kBits> some{}, some_arcs{};
    for (auto node = static_cast<NodeId>(first); node < last; ++node) {
      const std::uint32_t terms = graph.num_terms(node);
      ++some[static_cast<std::size_t>(std::bit_width(terms))];
      some_arcs[static_cast<std::size_t>(std::bit_width(terms))] += terms;
    }
    const std::scoped_lock lock(mutex);
    for (std::size_t b = 0; b < kBits; ++b) {
      nodes[b] += static_cast<double>(some[b]);
      arcs[b] += static_cast<double>(some_arcs[b]);
    }
  });
  const double all = std::max(1.0, std::accumulate(arcs.begin(), arcs.end(), 0.0));
  std::vector<double> shares;
  for (const double count : counts) {
    double left = count, found = 0;
    for (std::size_t b = kBits; b-- > 0 && left > 0;) {
      if (nodes[b] == 0) continue;
      const double taken = std::min(left, nodes[b]);
      found += arcs[b] * taken / nodes[b];
      left -= taken;
    }
    shares.push_back(found / all);
  }
  return shares;
}

}  // namespace

double row_seconds(const MachineProfile& machine, double rows, double row_bytes, const std::vector<double>& near) {
  const double tile = rows * row_bytes;
  double seconds = 0, before = 0;
  for (std::size_t i = 0; i < kNearBytes.size(); ++i) {
    const double share = tile <= kNearBytes[i] ? 1 : std::clamp(near[i], before, 1.0);
    seconds += (share - before) * machine.fetch_seconds(std::min(kNearBytes[i], tile), row_bytes);
    before = share;
  }
  return seconds + (1 - before) * machine.fetch_seconds(tile, row_bytes);
}

namespace {

/// Adds up the seconds of a propagation, step by step as it runs.
class Prediction {
 public:
  Prediction(const PropagationWork& work, const MachineProfile& machine)
      : work_(work), machine_(machine), disk_(work, machine), graph_(work.graph_resident) {
    // Beside counts of readers, `cone_bytes` are lists: of the targets, copied in a pass over the
    // graph.
    const double counts = (static_cast<double>(levels_) - 1) * 4 * work.nodes;
    has_lists_ = !work.all_rows && levels_ > 0 && work.cone_bytes > 1.01 * counts + 1e4;
  }

  PropagationSeconds seconds() {
    find_rows();
    if (levels_ == 0) {
      double features = work_.features_resident;
      seconds_.fill = std::max(disk_.pass(work_.feature_bytes, features), (norms() + mapped()) / threads_);
      return seconds_;
    }
    disk_.take(work_.tile_bytes);
    // The part that was touched for a try may have been free for a shorter time than the rest: half
    // of it is the try, and half what the machine took once.
    seconds_.fill += work_.tile_bytes * (work_.commit_byte_seconds + machine_.commit_byte_seconds) / 2 +
                     std::max(0.0, work_.tile_bytes - work_.large_pages) * cost::kCompactByte;
    for (double tile = 0; tile < work_.tiles; ++tile) {
      fill_tile(tile == 0);
      for (std::size_t level = 0; level < levels_; ++level) sum_level(level);
    }
    write();
    return seconds_;
  }

 private:
  [[nodiscard]] double share() const noexcept { return 1 / work_.tiles; }
  [[nodiscard]] double norms() const noexcept { return work_.nodes * work_.columns * cost::kNormValue; }
  [[nodiscard]] double mapped() const noexcept { return work_.feature_bytes * cost::kMappedByte; }

  /// The rows that labelled ones read.
  void find_rows() {
    if (has_lists_)
      seconds_.cone += std::max(disk_.pass(work_.graph_bytes, graph_),
                                work_.arcs.back() * (2 * work_.decode_seconds + cost::kLookedUpArc) / threads_);
    for (std::size_t level = has_lists_ ? 2 : 1; !work_.all_rows && level < levels_; ++level)
      seconds_.cone += std::max(disk_.pass(work_.graph_bytes, graph_),
                                work_.terms * (work_.decode_seconds + cost::kLookedUpArc) / threads_);
  }

  void fill_tile(bool is_first) {
    double columns = work_.features_resident;  // each tile reads others
    double read = disk_.pass(work_.feature_bytes * share(), columns, is_first ? work_.graph_bytes : 0);
    double filled = work_.nodes * work_.columns * share() * cost::kLevel0Value + (norms() + mapped()) * share();
    if (is_first) {
      read += disk_.pass(work_.graph_bytes, graph_, work_.feature_bytes * share());
      filled += work_.terms * (work_.decode_seconds + cost::kWeighedArc) + work_.graph_bytes * cost::kMappedByte;
    }
    seconds_.fill += std::max(read, filled / threads_);
  }

  void sum_level(std::size_t level) {
    const double rows_below = level == 0 ? work_.nodes : work_.rows[level - 1];
    // Such lists have just been written and stay in memory.
    const bool from_lists = level + 1 == levels_ && has_lists_;
    const double others = work_.nodes > 0 ? 1 - work_.rows[level] / work_.nodes : 0;
    double decoded = work_.terms;
    if (from_lists)
      decoded = work_.arcs[level];
    else if (!work_.all_rows)
      decoded *= 1 - std::pow(std::max(0.0, others), kBlockNodes);  // blocks without a row are left out
    const double row_bytes = work_.tile_columns * work_.value_bytes;
    const double sums =
        decoded * work_.decode_seconds + work_.arcs[level] * row_seconds(machine_, rows_below, row_bytes, work_.near) +
        work_.rows[level] * work_.columns * share() * (cost::kSumValue + sizeof(std::int32_t) * cost::kCopiedByte);
    seconds_.sums += sums / threads_;
    const double pass = from_lists ? 0 : disk_.pass(work_.graph_bytes, graph_);
    passes_ += pass;
    seconds_.sweep += std::max(pass, sums / threads_);
  }

  void write() {
    const double write_rate = machine_.disk.write_bytes_per_second;
    // Nothing is summed while a tile waits for sums that have just passed by the page cache.
    const double refills_read = machine_.read_seconds(work_.refill_bytes);
    const double refills_put = work_.refill_bytes * cost::kAssembledByte / threads_;
    seconds_.sweep += std::max(refills_read, refills_put);
    const double written = work_.spooled_bytes > 0 ? work_.spooled_bytes : work_.state_bytes;
    const double waits = written / write_rate;
    // What the buffers hold at the end is written after the last sum.
    const double left = std::min(written, work_.write_buffer_bytes) / write_rate;
    seconds_.sweep = std::max(seconds_.sweep, waits - left);
    seconds_.waits_for_disk = std::max(passes_ + refills_read, waits - left) > seconds_.sums + refills_put;
    seconds_.write = std::min(left, waits);
    if (work_.spooled_bytes > 0) {
      seconds_.write += std::min(work_.state_bytes, work_.write_buffer_bytes) / write_rate;
      double spool = 0;
      seconds_.sweep += disk_.pass(work_.spooled_bytes, spool, work_.spooled_bytes);
      const double rows = std::accumulate(work_.rows.begin(), work_.rows.end(), 0.0);
      seconds_.sweep += std::max(work_.state_bytes / write_rate,
                                 rows * work_.columns * sizeof(std::int32_t) * cost::kAssembledByte / threads_);
    }
    seconds_.write += work_.cone_bytes / write_rate + 2 * machine_.disk.sync_seconds + work_.files * cost::kSyncedFile;
  }

  const PropagationWork& work_;
  const MachineProfile& machine_;
  Disk disk_;
  double graph_;  ///< the share of the graph that the page cache has by now
  double threads_ = std::max(1.0, work_.threads);
  std::size_t levels_ = work_.rows.size();
  bool has_lists_ = false;
  double passes_ = 0;  ///< seconds that the disk needs for what the sweep reads
  PropagationSeconds seconds_;
};

}  // namespace

PropagationSeconds predict_propagation(const PropagationWork& work, const MachineProfile& machine) {
  return Prediction(work, machine).seconds();
}

PropagationWork survey_store(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
                             const PropagationSpec& spec, std::uint64_t most_arcs) {
  const Graph& graph = contents.graph();
  PropagationWork work;
  work.decode_seconds = cost::kDecodedArc;
  work.nodes = graph.num_nodes();
  work.terms = static_cast<double>(graph.num_terms());
  work.columns = contents.features().columns();
  work.value_bytes = static_cast<double>(value_bytes(spec.scale_bits));
  work.graph_bytes = static_cast<double>(bytes_of(manifest.shards));
  work.feature_bytes = static_cast<double>(manifest.feature_pass_bytes());
  work.graph_resident = resident_share(store, manifest.shards);
  work.features_resident = resident_share(store, manifest.feature_files);
  const MachineFacts machine = machine_facts();
  work.free_memory = static_cast<double>(std::min(machine.available_bytes, machine.group_bytes));
  work.large_pages = static_cast<double>(machine.large_page_bytes);
  work.threads = static_cast<double>(active_threads());
  work.all_rows = spec.all_rows;
  const double row_bytes = std::max(1.0, work.columns * work.value_bytes);
  std::vector<double> held;
  held.reserve(kNearBytes.size());
  for (const double bytes : kNearBytes) held.push_back(bytes / row_bytes);
  work.near = shares_of_hubs(graph, held);

  constexpr std::size_t kRuns = 4, kLeastBlocks = 8;
  const std::size_t blocks = graph.num_blocks();
  if (blocks == 0 || graph.num_arcs() == 0) return work;
  const double arcs_a_block = work.terms / static_cast<double>(blocks);
  const double some = std::min(static_cast<double>(most_arcs), std::max(0x1p14, work.terms / 256));
  const auto run = std::clamp<std::size_t>(static_cast<std::size_t>(some / arcs_a_block / kRuns), kLeastBlocks,
                                           std::max(kLeastBlocks, blocks / kRuns));
  std::array<double, kNearBytes.size()> found{};
  double arcs = 0, decoding = 0;
  Graph::BlockBuffer buffer;
  DecodedBlock decoded;
  for (std::size_t i = 0; i < kRuns; ++i) {
    const std::size_t first = std::min(blocks - 1, (2 * i + 1) * blocks / (2 * kRuns));
    const std::size_t last = std::min(blocks, first + run);
    std::vector<RecentNodes> recent;
    recent.reserve(held.size());
    for (const double rows : held) recent.emplace_back(static_cast<std::uint64_t>(rows));
    graph.read_ahead(first, last);
    for (std::size_t block = first; block < last; ++block)
      graph.decode(block, buffer, decoded);  // read and checked now
    const Clock::time_point start = Clock::now();
    for (std::size_t block = first; block < last; ++block) graph.decode(block, buffer, decoded);
    decoding += seconds_since(start);
    for (std::size_t block = first; block < last; ++block) {
      graph.decode(block, buffer, decoded);
      const std::size_t targets = std::accumulate(decoded.counts, decoded.counts + decoded.nodes, std::size_t{0});
      arcs += static_cast<double>(targets + decoded.nodes);
      for (std::size_t k = 0; k < targets; ++k)
        for (std::size_t size = 0; size < recent.size(); ++size)
          found[size] += recent[size].use(decoded.targets[k]) ? 1 : 0;
    }
  }
  if (arcs > 0) work.decode_seconds = std::clamp(decoding / arcs, 2e-10, 1e-7);
  for (std::size_t i = 0; i < found.size(); ++i) work.near[i] = std::max(work.near[i], found[i] / std::max(1.0, arcs));
  return work;
}

void add_plan(const PropagationPlan& plan, PropagationWork& work) {
  work.rows.assign(plan.rows.begin(), plan.rows.end());
  work.arcs.assign(plan.arcs.begin(), plan.arcs.end());
  work.tiles = static_cast<double>(plan.state.tiles.tiles);
  work.tile_columns = static_cast<double>(plan.state.tiles.width);
  work.tile_bytes = static_cast<double>(plan.state.tiles.tile_bytes);
  work.write_buffer_bytes = static_cast<double>(plan.state.buffer_bytes());
  work.state_bytes = static_cast<double>(plan.state.state_bytes);
  work.spooled_bytes = static_cast<double>(plan.state.spooled_bytes);
  work.refill_bytes = static_cast<double>(plan.state.refill_bytes);
  if (plan.state.memory_bytes() > 0) {
    // A small part of the tile, which costs little beside it.
    constexpr std::uint64_t kLeastTouched = std::uint64_t{2} << 20, kMostTouched = std::uint64_t{64} << 20;
    work.commit_byte_seconds =
        commit_byte_seconds(std::clamp(plan.state.tiles.tile_bytes / 32, kLeastTouched, kMostTouched));
  }
  work.cone_bytes = static_cast<double>(plan.cone_bytes);
  work.files = static_cast<double>(plan.rows.size()) * std::ceil(work.nodes / 131072) + 2;
}

}  // namespace unweave
