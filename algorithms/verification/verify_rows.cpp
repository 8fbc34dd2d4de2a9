// algorithms/verification/verify_rows.cpp - rows that are kept in place of sums: who has one, and
// one random combination of their columns against float64 (algorithms/propagation/PROPAGATION.md,
// "How kept rows are verified").
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/row_converter.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/resources/parallel.h"
#include "engine/resources/temporary_folder.h"
#include "engine/resources/watcher.h"
#include "engine/sweep/sweep.h"
#include "storage/formats/rows_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr std::size_t kBlocksOfRows = 256;
constexpr std::size_t kRangesAhead = 4;
constexpr std::size_t kRebuildBatch = 64;
constexpr std::ptrdiff_t kFetchedAhead = 32;  // neighbours whose numbers are on their way from memory

/// Secret factors of the columns, with magnitudes from 1/2 to 1: no single value can hide behind a
/// small one.
std::vector<double> draw_factors(std::size_t columns) {
  std::random_device system;
  std::vector<double> factors(columns);
  for (double& one : factors) {
    const std::uint64_t bits = std::uint64_t{system()} << 32U | system();
    one = std::ldexp(static_cast<double>(bits >> 12U), -53) + 0.5;
    if ((bits & 1U) != 0) one = -one;
  }
  return factors;
}

/// A sum that keeps what each addition loses (Neumaier 1974): wrong by two units in the last place
/// of the sum of magnitudes.
class CarefulSum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    lost_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

/// Rows of one level that are not what the contents give, span by span.
class WrongRows {
 public:
  explicit WrongRows(NodeId nodes) : span_(span_nodes(nodes)), wrong_(num_spans(nodes)) {}
  void add(NodeId node) {
    const std::scoped_lock lock(mutex_);
    One& one = wrong_[node / span_];
    one.first = one.rows++ == 0 ? node : std::min(one.first, node);
  }
  void report(const VerifyContext& context, std::uint32_t level) const {
    const RowsLevel& kept = context.embedding->kept().level(level);
    for (std::size_t span = 0; span < wrong_.size(); ++span) {
      const One& one = wrong_[span];
      if (one.rows == 0) continue;
      const std::string first = context.contents.order().text(one.first);
      const std::string rows = one.rows == 1
                                   ? "the kept row of " + first + " is"
                                   : std::to_string(one.rows) + " kept rows, first that of " + first + ", are";
      context.report.findings.push_back({false,
                                         "propagation: level " + std::to_string(level) + ": " + rows +
                                             " not what graph and features give, beyond all rounding; " +
                                             operation("repair") + " makes them anew",
                                         kept.entries()[span].path});
    }
  }

 private:
  struct One {
    std::uint64_t rows = 0;
    NodeId first = 0;
  };
  NodeId span_;
  std::mutex mutex_;
  std::vector<One> wrong_;
};

/// The combination of the columns, propagated level by level.
class Projection {
 public:
  explicit Projection(const VerifyContext& context)
      : contents_(context.contents),
        spec_(context.embedding->spec()),
        kept_(context.embedding->kept()),
        columns_(context.embedding->columns()),
        power_(spec_.rho),
        factors_(draw_factors(columns_)),
        present_(sizeof(double) * contents_.num_nodes(), context.budget, "combinations of the columns"),
        next_(spec_.levels > 0 ? present_.size() : 0, context.budget, "combinations of the columns") {
    present_.commit();
    next_.commit();
    for (const double one : factors_) magnitude_ += std::fabs(one);
    if (spec_.kept.keep == Keep::embedding)
      expected_.assign(spec_.weights.size() / (spec_.levels + std::size_t{1}),
                       std::vector<double>(contents_.num_nodes()));
  }
  /// Memory beside what it takes from the budget itself.
  static std::uint64_t bytes(const VerifyContext& context) {
    const PropagationSpec& spec = context.embedding->spec();
    const std::uint64_t blocks =
        spec.kept.keep == Keep::embedding ? spec.weights.size() / (spec.levels + std::size_t{1}) : 0;
    const std::uint64_t threads =
        active_threads() * (std::uint64_t{2} * context.embedding->columns() * (1 + blocks) * sizeof(float) +
                            context.contents.graph().max_decoded_bytes());
    return blocks * sizeof(double) * context.contents.num_nodes() + threads;
  }

  /// g^0(u) = d^(rho-1) sum_c r_c x_c(u).
  void begin() {
    double* const present = present_.as<double>();
    const auto ask = [&](NodeRange nodes) { contents_.features().read_ahead(nodes, 0, columns_); };
    for_blocks(ask, [&](NodeRange nodes, Graph::BlockBuffer&) {
      std::vector<float> x(columns_);
      for (NodeId node = nodes.first; node < nodes.last; ++node) {
        contents_.features().read({node, node + 1}, 0, columns_, x.data());
        present[node] = combine(x) / power_.inverse(contents_.graph().degree(node));
      }
    });
    collect(0);
  }
  /// g^l(u) = the mean of g^(l-1) over u and its neighbours.
  void advance(std::uint32_t level) {
    const double* const present = present_.as<double>();
    double* const next = next_.as<double>();
    const auto ask = [&](NodeRange nodes) { contents_.graph().read_ahead(nodes); };
    for_blocks(ask, [&](NodeRange nodes, Graph::BlockBuffer& buffer) {
      DecodedBlock block;
      for (std::size_t b = nodes.first / kBlockNodes; b * kBlockNodes < nodes.last; ++b) {
        contents_.graph().decode(b, buffer, block);
        const NodeId* target = block.targets;
        const std::uint32_t* weight = block.weights;
        const NodeId* const end = target + std::accumulate(block.counts, block.counts + block.nodes, std::size_t{0});
        const NodeId* fetched = target;
        for (std::uint32_t i = 0; i < block.nodes; ++i) {
          CarefulSum sum;
          sum.add(contents_.graph().self_weight() * present[block.first + i]);
          for (std::uint32_t k = 0; k < block.counts[i]; ++k) {
            while (fetched != end && fetched - target < kFetchedAhead) __builtin_prefetch(present + *fetched++);
            const double term = present[*target++];
            sum.add(weight == nullptr ? term : *weight++ * term);
          }
          next[block.first + i] = sum.value() / contents_.graph().degree(block.first + i);
        }
      }
    });
    std::swap(present_, next_);
    collect(level);
  }

  /// Compares the rows of a level, of weights of the levels a block, with what they should be.
  void compare(std::uint32_t level, WrongRows& wrong) const {
    const std::size_t blocks = std::max<std::size_t>(1, expected_.size());
    std::vector<double> one_level(spec_.levels + std::size_t{1});
    one_level[level] = 1;
    const auto ask = [&](NodeRange nodes) { kept_.level(level).read_ahead(nodes); };
    for_blocks(ask, [&](NodeRange nodes, Graph::BlockBuffer&) {
      std::vector<float> row(blocks * columns_);
      for (NodeId node = nodes.first; node < nodes.last; ++node) {
        if (!kept_.level(level).contains(node)) continue;
        kept_.level(level).read(node, row.data());
        for (std::size_t b = 0; b < blocks; ++b) {
          const std::span<const float> values = std::span<const float>(row).subspan(b * columns_, columns_);
          const std::span<const double> weights =
              expected_.empty()
                  ? std::span<const double>(one_level)
                  : std::span<const double>(spec_.weights).subspan(b * one_level.size(), one_level.size());
          const double inverse = power_.inverse(contents_.graph().degree(node));
          const double wanted = inverse * (expected_.empty() ? present_.as<double>()[node] : expected_[b][node]);
          if (std::fabs(combine(values) - wanted) <= bound(values, weights, inverse)) continue;
          wrong.add(node);
          break;
        }
      }
    });
  }

 private:
  /// Calls body(nodes, buffer) for whole blocks, on all threads, and ask(nodes) some ranges before
  /// their turn.
  template <class Ask, class Body>
  void for_blocks(const Ask& ask, const Body& body) const {
    const std::size_t blocks = contents_.graph().num_blocks(), nodes = contents_.num_nodes();
    const WatchedStep watched("propagation", blocks, "blocks");
    const auto range_of = [&](std::size_t first_item, std::size_t last_item) {
      return NodeRange{static_cast<NodeId>(std::min(nodes, first_item * kBlocksOfRows * kBlockNodes)),
                       static_cast<NodeId>(std::min(nodes, last_item * kBlocksOfRows * kBlockNodes))};
    };
    // In ascending order, as the disk reads fastest.
    run_items((blocks + kBlocksOfRows - 1) / kBlocksOfRows, active_threads(), [&](std::size_t item, std::size_t) {
      const NodeRange soon = range_of(item == 0 ? 0 : item + kRangesAhead, item + kRangesAhead + 1);
      if (soon.size() > 0) ask(soon);
      Graph::BlockBuffer buffer;
      body(range_of(item, item + 1), buffer);
      watched.advance(std::min(kBlocksOfRows, blocks - item * kBlocksOfRows));
    });
  }
  [[nodiscard]] double combine(std::span<const float> values) const {
    double sum = 0;
    for (std::size_t c = 0; c < values.size(); ++c) sum += factors_[c] * static_cast<double>(values[c]);
    return sum;
  }
  /// Adds a level to what the rows of an embedding should be.
  void collect(std::uint32_t level) {
    for (std::size_t b = 0; b < expected_.size(); ++b) {
      const double weight = spec_.weights[b * (spec_.levels + std::size_t{1}) + level];
      for (std::size_t i = 0; weight != 0 && i < expected_[b].size(); ++i)
        expected_[b][i] += weight * present_.as<double>()[i];
    }
  }
  /// The most by which a row that is right differs; see the proof in PROPAGATION.md, whose names
  /// these are.
  [[nodiscard]] double bound(std::span<const float> values, std::span<const double> weights, double inverse) const {
    const double columns = columns_, levels = spec_.levels;
    double plain = 0, grown = 0, carried = 0;
    for (std::size_t l = 0; l < weights.size(); ++l) {
      plain += std::fabs(weights[l]);
      grown += std::fabs(weights[l]) * (static_cast<double>(l) + 1);
    }
    for (std::size_t c = 0; c < values.size(); ++c) carried += std::fabs(factors_[c] * static_cast<double>(values[c]));
    const double fixed = magnitude_ * inverse * std::ldexp(0.5 + 0x1p-10, -static_cast<int>(spec_.scale_bits)) * grown;
    const double floats =
        0x1p-51 * (inverse * plain * (std::sqrt(columns) * (columns + 8 * (levels + 1)) + magnitude_ * (levels + 4)) +
                   columns * carried);
    const bool is_half = spec_.kept.type == FeatureType::f16;
    const double unit = is_half ? 0x1p-11 : 0x1p-24;
    const double least = is_half ? std::ldexp(1.0, -25 - spec_.kept.exponent) : 0x1p-149;
    return fixed + floats + (1 + 0x1p-9) * (unit * carried + least * magnitude_);
  }

  const Contents& contents_;
  const PropagationSpec& spec_;
  const KeptRows& kept_;
  std::uint32_t columns_;
  DegreePower power_;
  std::vector<double> factors_;
  double magnitude_ = 0;       ///< all factors in sum
  HugeBuffer present_, next_;  ///< numbers are read from anywhere: small pages would cost most of the time
  std::vector<std::vector<double>> expected_;  ///< what each block of the rows of an embedding should be
};

}  // namespace

void check_kept_members(const VerifyContext& context) {
  const Embedding& embedding = *context.embedding;
  FalseStatements wrong;
  for (std::uint32_t level = embedding.kept().first_level(); level <= embedding.levels(); ++level) {
    const RowsLevel& kept = embedding.kept().level(level);
    for (NodeId node = 0; node < context.contents.num_nodes(); ++node)
      if (kept.contains(node) != embedding.is_target(node))
        wrong.add(node, "level " + std::to_string(level) + ", " + context.contents.order().text(node) +
                            (embedding.is_target(node) ? ": the row is missing" : ": the row is not wanted"));
  }
  wrong.report_to(context.report, "cone");
}

void check_kept_rows(const VerifyContext& context) {
  const Embedding& embedding = *context.embedding;
  const std::uint32_t first = embedding.kept().first_level(), levels = embedding.levels();
  if (first > levels) return;
  Reservation memory;
  std::optional<Projection> projection;
  try {
    memory = context.budget.reserve(Projection::bytes(context), "checks of the kept rows");
    projection.emplace(context);
  } catch (const ResourceError& error) {
    context.report.remarks.push_back("propagation: the kept rows were not proved: " + error.message());
    return;
  }
  projection->begin();
  for (std::uint32_t level = 0; level <= levels; ++level) {
    if (level > 0) projection->advance(level);
    if (level < first) continue;
    WrongRows wrong(context.contents.num_nodes());
    projection->compare(level, wrong);
    wrong.report(context, level);
    context.report.proved += embedding.cone().rows(level);
  }
}

void rebuild_kept_rows(const VerifyContext& context, const SweepSpec& sweep) {
  const Embedding& embedding = *context.embedding;
  const PropagationSpec& spec = embedding.spec();
  const NodeId nodes = context.contents.num_nodes();
  const RowMask* const targets = sweep.wanted.empty() ? nullptr : &sweep.wanted.back();
  const std::uint64_t worker = RowConverter::worker_bytes(spec, embedding.columns(), kRebuildBatch);
  const Reservation memory =
      context.budget.reserve(2 * active_threads() * worker + RowConverter::rank_bytes(spec, nodes), "rows of values");
  const BlockSource source = block_source(context.contents.graph());
  const TilePlan plan = plan_tiles(source, sweep, context.budget.available()).require();
  SumCheck check(nodes, embedding.columns(), embedding.levels(), sweep.wanted, context.budget);
  FalseStatements wrong;
  std::atomic<std::uint64_t> rows = 0;
  const auto compare = [&](std::uint32_t level, TileColumns columns, std::span<const NodeId> some,
                           const float* values) {
    const RowsLevel& kept = embedding.kept().level(level);
    std::vector<std::uint32_t> bits(kept.columns());
    std::vector<Half> halves(columns.count);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::span<const float> row(values + i * columns.count, columns.count);
      bool is_equal = kept.read_bits(some[i], bits.data());
      if (spec.kept.type == FeatureType::f16)
        is_equal = is_equal && round_to_halves(row, spec.kept.exponent, halves.data()) == row.size() &&
                   std::equal(halves.begin(), halves.end(), bits.begin() + static_cast<std::ptrdiff_t>(columns.first));
      else
        for (std::size_t c = 0; c < row.size(); ++c)
          is_equal = is_equal && std::bit_cast<std::uint32_t>(row[c]) == bits[columns.first + c];
      if (!is_equal)
        wrong.add(some[i], "level " + std::to_string(level) + ", " + context.contents.order().text(some[i]) +
                               ": not the row of a fresh propagation");
    }
    if (columns.first == 0) rows += some.size();
  };
  const TemporaryFolder folder(temporary_path(), "unweave-verify-");
  RowConverter converter(folder.path(), context.contents, spec, targets, plan.width, kRebuildBatch, compare);
  SinkOf sink(
      [&](std::uint32_t level, TileColumns columns, const SumRows& sums) { converter.put(level, columns, sums); });
  propagation_sweep(source, sweep, plan, context.budget, {level0_fill(context.contents, spec)}, sink, &check);
  report_rebuild(context.report, rows, plan, wrong);
}

}  // namespace unweave
