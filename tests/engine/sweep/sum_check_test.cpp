// tests/engine/sweep/sum_check_test.cpp - sums that are right pass, and no flipped bit does: in
// normalised sums of either level, in accumulators, in sums; where it happened is named.
#include "engine/sweep/sum_check.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "engine/resources/parallel.h"
#include "engine/sweep/sweep.h"
#include "support/csr_graph.h"
#include "support/graphs.h"
#include "support/special_values.h"

namespace unweave {
namespace {

using testing::kPlenty;

enum class Fault { none, level0, level1, sums1, sums2 };

/// Blocks whose sums are handed over together, as sweep.cpp has it.
std::size_t blocks_of_group(std::size_t width) {
  std::size_t blocks = 1;
  while (blocks < kSweepRangeBlocks && blocks * kBlockNodes * width * sizeof(std::int32_t) < (64U << 10)) blocks *= 2;
  return blocks;
}

/// Two levels of sums of one tile, by the parts of which a propagation consists, with at most one
/// bit flipped on the way.
template <class T>
class Propagation {
 public:
  Propagation(const testing::NamedGraph& graph, std::size_t width, std::vector<RowMask> wanted, std::uint32_t seed)
      : graph_(graph.csr()), width_(width), wanted_(std::move(wanted)), random_(seed) {
    if (!wanted_.empty()) ranks_.emplace(wanted_[0]);
    t0_.resize(graph.nodes * width + kTilePadding);
    for (std::size_t i = 0; i < graph.nodes * width; ++i)
      t0_[i] = static_cast<T>(static_cast<std::int32_t>(random_() % 32'768) - 16'384);
    // On a cache line, so that quotients pass by the caches where the width allows it.
    memory_ = HugeBuffer(t0_.size() * sizeof(T), budget_, "quotients");
    t1_ = memory_.as<T>();
  }

  /// Runs it. holds[l] tells whether level l + 1 passed; blame has what is said of the first that
  /// did not.
  struct Outcome {
    bool was_injected = false;
    std::vector<bool> holds;
    std::string blame;
  };
  Outcome run(Fault fault) {
    const ThreadLimit one(1);  // so that the accumulators lie where they lay before
    MemoryBudget budget(kPlenty);
    SumCheck check(graph_.num_nodes(), width_, 2, wanted_, budget);
    BlockSource source = block_source(graph_);
    const auto decode = source.decode;
    std::int32_t* accumulators = nullptr;
    std::uint64_t wait = 0;  // decoded blocks until a bit of the accumulators is flipped
    Outcome outcome;
    source.decode = [&](std::size_t block, std::size_t slot, DecodedBlock& out) {
      decode(block, slot, out);
      const std::size_t group = blocks_of_group(width_);
      // Block - 1 waits to be summed, block - 2 is; both belong to the group that has not been
      // handed over.
      if (accumulators == nullptr || outcome.was_injected || block % group < 2 || wait-- > 0) return;
      flip(accumulators, ((block - 2) % group * kBlockNodes + random_() % kBlockNodes) * width_ + random_() % width_);
      outcome.was_injected = true;
    };
    source.make_slots(1);
    const NodeRange all{0, graph_.num_nodes()};
    std::vector<T> tile = t0_;
    check_terms(source, 0, all, TileOf<T>{tile.data(), width_}, check.level(0, 0));
    if (fault == Fault::level0) {
      flip(tile.data(), random_() % (graph_.num_nodes() * width_));
      outcome.was_injected = true;
    }
    for (std::uint32_t level = 1; level <= 2; ++level) {
      SweepTile<T> sweep_tile;
      sweep_tile.input = {level == 1 ? tile.data() : t1_, width_, 14};
      sweep_tile.quotients = level == 1 ? t1_ : nullptr;
      const LevelCheck level_check = check.level(level, 0);
      const SweepLevel job{sweep_tile, wanted_.empty() ? nullptr : &wanted_[level - 1],
                           level == 2 && ranks_ ? &*ranks_ : nullptr, level == 1 && ranks_ ? &*ranks_ : nullptr,
                           &level_check};
      accumulators = nullptr;
      wait = random_() % 8;
      const bool flips_sums = fault == (level == 1 ? Fault::sums1 : Fault::sums2);
      sweep_level(source, job, budget, [&](const SumRows& rows) {
        // The first group tells where the accumulators of those that follow lie.
        if (flips_sums) accumulators = const_cast<std::int32_t*>(rows.sums);
      });
      outcome.holds.push_back(check.holds(level));
      if (!outcome.holds.back() && outcome.blame.empty()) outcome.blame = blame_level(source, job, check, level);
      if (level == 1 && fault == Fault::level1) {
        const std::size_t rows = wanted_.empty() ? graph_.num_nodes() : ranks_->size();
        flip(t1_, random_() % (rows * width_));
        outcome.was_injected = true;
      }
    }
    return outcome;
  }

 private:
  template <class U>
  void flip(U* values, std::size_t at) {
    values[at] = static_cast<U>(values[at] ^ static_cast<U>(std::uint32_t{1} << random_() % (8 * sizeof(U))));
  }

  testing::CsrGraph graph_;
  std::size_t width_;
  std::vector<RowMask> wanted_;
  std::optional<RowRanks> ranks_;
  std::mt19937 random_;
  std::vector<T> t0_;
  MemoryBudget budget_{kPlenty};
  HugeBuffer memory_;
  T* t1_ = nullptr;
};

/// Rows of two levels that a few targets reach.
std::vector<RowMask> receptive_field(const testing::NamedGraph& graph, NodeId stride) {
  std::vector<RowMask> masks(2, RowMask(graph.nodes));
  for (NodeId node = 0; node < graph.nodes; node += stride) {
    masks[1].insert(node);
    masks[0].insert(node);
  }
  for (const Edge& edge : graph.edges) {
    if (masks[1].contains(edge.u)) masks[0].insert(edge.v);
    if (masks[1].contains(edge.v)) masks[0].insert(edge.u);
  }
  return masks;
}

/// Flips bits one after another, each in a run of its own; returns how many.
template <class T>
std::size_t flip_many(const testing::NamedGraph& graph, std::size_t width, std::vector<RowMask> wanted,
                      std::size_t runs) {
  std::size_t flipped = 0, missed = 0, blamed_wrongly = 0;
  const bool is_masked = !wanted.empty();
  Propagation<T> propagation(graph, width, std::move(wanted), static_cast<std::uint32_t>(width));
  for (std::size_t run = 0; run < runs; ++run)
    // Rows between groups come in other numbers where some are left out: their accumulators are not
    // looked for.
    for (const Fault fault : {Fault::level0, Fault::level1, Fault::sums1, Fault::sums2}) {
      if (is_masked && (fault == Fault::sums1 || fault == Fault::sums2)) continue;
      const auto outcome = propagation.run(fault);
      if (!outcome.was_injected) continue;
      const bool is_first = fault == Fault::level0 || fault == Fault::sums1;
      ++flipped;
      // A row of level 0 that no wanted row reads may be anything.
      if (is_masked && fault == Fault::level0 && outcome.holds[0]) continue;
      missed += outcome.holds[is_first ? 0 : 1] ? 1 : 0;
      const char* const where = fault == Fault::level0   ? "level 0, partition 0"
                                : fault == Fault::level1 ? "level 1, partition 0"
                                : fault == Fault::sums1  ? "level 1, partition 0"
                                                         : "level 2, partition 0";
      const char* const what = fault == Fault::level0 || fault == Fault::level1
                                   ? "normalised sums have changed since they were formed"
                                   : "the sums are not those of their terms";
      blamed_wrongly += outcome.blame.find(where) != 0 || outcome.blame.find(what) == std::string::npos ? 1 : 0;
    }
  CHECK(missed == 0);
  CHECK(blamed_wrongly == 0);
  return flipped;
}

std::size_t flip_everywhere(std::size_t runs) {
  std::size_t flipped = 0;
  const testing::NamedGraph graph = testing::random_graph_with_hub(1700, 6000, 3);
  for (const std::size_t width : {1U, 16U, 17U, 64U}) {
    CAPTURE(width);
    flipped += flip_many<std::int32_t>(graph, width, {}, runs);
    flipped += flip_many<std::int16_t>(graph, width, {}, runs);
    flipped += flip_many<std::int32_t>(graph, width, receptive_field(graph, 40), runs);
  }
  return flipped;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("right sums pass on every family, of both widths of a tile, of all rows and of some") {
    for (const testing::NamedGraph& graph : testing::graph_family())
      for (const std::size_t width : {1U, 9U, 16U, 64U})
        for (const NodeId stride : {0U, 1U, 7U}) {
          CAPTURE(graph.name);
          CAPTURE(width);
          CAPTURE(stride);
          const auto wanted = stride == 0 ? std::vector<RowMask>() : receptive_field(graph, stride);
          const auto passes = std::vector<bool>{true, true};
          CHECK(Propagation<std::int32_t>(graph, width, wanted, 1).run(Fault::none).holds == passes);
          CHECK(Propagation<std::int16_t>(graph, width, wanted, 2).run(Fault::none).holds == passes);
        }
  }

  TEST_CASE("a flipped bit is noticed, and its level and partition are named") {
    CHECK(flip_everywhere(8) > 250);
  }

  TEST_CASE("the partition is named where there are several") {
    testing::NamedGraph path{"path", 200'000, {}};
    for (NodeId node = 1; node < path.nodes; ++node) path.edges.push_back({node - 1, node});
    const testing::CsrGraph graph = path.csr();
    MemoryBudget budget(kPlenty);
    const BlockSource source = block_source(graph);
    std::vector<std::int32_t> tile(path.nodes + kTilePadding, 1);
    for (const NodeId at : {NodeId{3}, NodeId{70'000}, NodeId{199'999}}) {
      SumCheck check(path.nodes, 1, 1, {}, budget);
      source.make_slots(1);
      for (NodeId first = 0; first < path.nodes; first += 4'096)
        check_terms(source, 0, {first, std::min(path.nodes, first + 4'096)}, Tile{tile.data() + first, 1},
                    check.level(0, 0));
      tile[at] ^= 1 << 20;
      const LevelCheck level_check = check.level(1, 0);
      const SweepLevel job{SweepTile<std::int32_t>{{tile.data(), 1, 24}, nullptr}, nullptr, nullptr, nullptr,
                           &level_check};
      sweep_level(source, job, budget, [](const SumRows&) {});
      tile[at] ^= 1 << 20;
      CHECK(!check.holds(1));
      const SweepLevel changed_back{SweepTile<std::int32_t>{{tile.data(), 1, 24}, nullptr}, nullptr, nullptr, nullptr,
                                    &level_check};
      // Seen with what the tile had been, the sums around the node are wrong.
      const std::string blame = blame_level(source, changed_back, check, 1);
      CHECK(blame.find("level 1, partition " + std::to_string((at - 1) / 65'536) + " (nodes at positions " +
                       std::to_string((at - 1) / 65'536 * 65'536)) == 0);
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("10,000 flipped bits, none missed") {
    CHECK(flip_everywhere(260) >= 10'000);
  }
}

}  // namespace unweave
