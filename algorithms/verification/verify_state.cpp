// algorithms/verification/verify_state.cpp - receptive field, sums and stale rows against plain
// computations from the contents.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <span>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/propagation_sweep.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "engine/sweep/sweep.h"
#include "storage/formats/store_layout.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr std::size_t kNodesATask = 4096;

std::string row_text(const VerifyContext& context, std::uint32_t level, NodeId node) {
  return "level " + std::to_string(level) + ", " + context.contents.order().text(node);
}

/// What the neighbours of a node were told, computed with none of the kernels that propagation
/// uses.
class PlainPublished {
 public:
  PlainPublished(const Contents& contents, const Embedding& embedding)
      : contents_(contents),
        embedding_(embedding),
        power_(embedding.spec().rho),
        x_(embedding.columns()),
        t_(embedding.columns()),
        sums_(embedding.columns()) {}

  /// Adds the published t of a node, so many times, to `total`; false when the node has no row, or
  /// one above the scale.
  bool add_to(std::uint32_t level, NodeId node, std::int64_t times, std::vector<std::int64_t>& total) {
    const std::uint32_t degree = contents_.graph().degree(node);
    if (level == 0) {
      contents_.features().read({node, node + 1}, 0, embedding_.columns(), x_.data());
      power_.level0(x_, degree, embedding_.spec().scale_bits, t_.data());
    } else {
      if (!embedding_.level(level).load(node, sums_.data())) return false;
      const double limit = std::ldexp(1.0, static_cast<int>(embedding_.spec().scale_bits));
      for (std::size_t c = 0; c < t_.size(); ++c) {
        const double quotient = std::nearbyint(static_cast<double>(sums_[c]) / static_cast<double>(degree));
        if (std::fabs(quotient) > limit) return false;
        t_[c] = static_cast<std::int32_t>(quotient);
      }
    }
    embedding_.stale(level).add_to(node, -1, t_.data());
    for (std::size_t c = 0; c < t_.size(); ++c) total[c] += times * t_[c];
    return true;
  }

 private:
  const Contents& contents_;
  const Embedding& embedding_;
  DegreePower power_;
  std::vector<float> x_;
  std::vector<std::int32_t> t_;
  std::vector<std::int64_t> sums_;
};

void check_counts(const VerifyContext& context, std::uint32_t level, FalseStatements& wrong) {
  const Cone& cone = context.embedding->cone();
  const auto nodes = sample_nodes(context, context.contents.num_nodes(), [](NodeId) { return true; });
  parallel_ranges(0, nodes.size(), 16, [&](std::size_t first, std::size_t last) {
    NeighbourList neighbours;
    for (std::size_t i = first; i < last; ++i) {
      context.contents.graph().neighbours(nodes[i], neighbours);
      std::uint64_t readers = cone.contains(level + 1, nodes[i]) ? 1 : 0;
      for_neighbours(neighbours.view(), [&](NodeId reader, std::uint32_t weight) {
        readers += cone.contains(level + 1, reader) ? weight : 0;
      });
      if (cone.count(level, nodes[i]) != readers)
        wrong.add(nodes[i], row_text(context, level, nodes[i]) + ": " + std::to_string(cone.count(level, nodes[i])) +
                                " readers are counted, there are " + std::to_string(readers));
    }
  });
  context.report.counts += nodes.size();
}

/// Rows of each level that targets reach, found by walking from the targets; [level - 1].
std::vector<RowMask> reached_rows(const Contents& contents, std::uint32_t levels) {
  const NodeId nodes = contents.num_nodes();
  std::vector<RowMask> masks(levels, RowMask(nodes));
  for (NodeId node = 0; node < nodes; ++node)
    if (contents.label(node) != kNoLabel) masks.back().insert(node);
  std::vector<NodeId> neighbours;
  for (std::uint32_t level = levels - 1; level >= 1; --level) {
    for (NodeId node = 0; node < nodes; ++node) {
      if (!masks[level].contains(node)) continue;
      masks[level - 1].insert(node);
      contents.graph().neighbours(node, neighbours);
      for (const NodeId neighbour : neighbours) masks[level - 1].insert(neighbour);
    }
  }
  return masks;
}

template <class Sum>
bool equals(const Sum* fresh, const StateRow& kept, TileColumns columns) {
  for (std::size_t c = 0; c < columns.count; ++c) {
    const std::size_t at = columns.first + c;
    const std::int64_t sum = kept.narrow != nullptr ? kept.narrow[at] : kept.wide[at];
    if (sum != static_cast<std::int64_t>(fresh[c])) return false;
  }
  return true;
}

}  // namespace

void check_cone(const VerifyContext& context) {
  if (context.embedding == nullptr) return;
  if (!context.embedding->has_sums()) return check_kept_members(context);
  const Cone& cone = context.embedding->cone();
  const std::uint32_t levels = context.embedding->levels();
  FalseStatements wrong;
  for (std::uint32_t level = 1; level <= levels; ++level) {
    parallel_ranges(0, context.contents.num_nodes(), kNodesATask, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto node = static_cast<NodeId>(i);
        const bool wanted = cone.contains(level, node);
        if (context.embedding->level(level).contains(node) != wanted)
          wrong.add(node,
                    row_text(context, level, node) + (wanted ? ": the row is missing" : ": the row is not wanted"));
      }
    });
    if (!cone.all_rows() && level < levels) check_counts(context, level, wrong);
  }
  wrong.report_to(context.report, "cone");
}

namespace {

/// Looks at rows of a level one by one; says what is wrong, and of whose rows.
void check_rows(const VerifyContext& context, std::uint32_t level, std::span<const NodeId> nodes,
                FalseStatements& wrong, const std::function<void(NodeId)>& blame) {
  const Embedding& embedding = *context.embedding;
  const StateLevel& kept = embedding.level(level);
  const WatchedStep watched("sums of level " + std::to_string(level), nodes.size(), "rows");
  parallel_ranges(0, nodes.size(), 16, [&](std::size_t first, std::size_t last) {
    PlainPublished published(context.contents, embedding);
    NeighbourList terms;
    std::vector<std::int64_t> sums(embedding.columns()), total(embedding.columns());
    for (std::size_t i = first; i < last; ++i) {
      context.contents.graph().neighbours(nodes[i], terms);
      std::fill(total.begin(), total.end(), 0);
      bool is_wrong = false;
      const auto add = [&](NodeId term, std::int64_t times) {
        if (published.add_to(level - 1, term, times, total)) return;
        is_wrong = true;
        wrong.add(nodes[i], row_text(context, level, nodes[i]) + ": its term of " +
                                context.contents.order().text(term) + " is missing or above the scale");
      };
      for_neighbours(terms.view(), add);
      add(nodes[i], context.contents.graph().self_weight());
      static_cast<void>(kept.load(nodes[i], sums.data()));
      const auto differs = std::mismatch(sums.begin(), sums.end(), total.begin());
      if (differs.first != sums.end()) {
        is_wrong = true;
        wrong.add(nodes[i], row_text(context, level, nodes[i]) + ", column " +
                                std::to_string(differs.first - sums.begin()) + ": the sum is " +
                                std::to_string(*differs.first) + ", its terms add up to " +
                                std::to_string(*differs.second));
      }
      if (is_wrong) blame(nodes[i]);
      watched.advance(1);
    }
  });
  context.report.rows += nodes.size();
}

}  // namespace

void check_some_sums(const VerifyContext& context) {
  const Embedding& embedding = *context.embedding;
  FalseStatements wrong;
  for (std::uint32_t level = 1; level <= embedding.levels(); ++level) {
    const StateLevel& kept = embedding.level(level);
    const auto nodes =
        sample_nodes(context, embedding.cone().rows(level), [&](NodeId node) { return kept.contains(node); });
    check_rows(context, level, nodes, wrong, [](NodeId) {});
  }
  wrong.report_to(context.report, "sums");
}

void blame_sums(const VerifyContext& context, std::uint32_t level) {
  const Embedding& embedding = *context.embedding;
  const StateLevel& kept = embedding.level(level);
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < context.contents.num_nodes(); ++node)
    if (kept.contains(node)) nodes.push_back(node);
  struct Wrong {
    std::uint64_t rows = 0;
    NodeId first = 0;
  };
  std::vector<Wrong> wrong(num_spans(context.contents.num_nodes()));
  std::mutex mutex;
  FalseStatements unused;
  check_rows(context, level, nodes, unused, [&](NodeId node) {
    const std::scoped_lock lock(mutex);
    Wrong& one = wrong[node / span_nodes(context.contents.num_nodes())];
    one.first = one.rows++ == 0 ? node : std::min(one.first, node);
  });
  bool is_found = false;
  for (std::size_t at = 0; at < wrong.size(); ++at) {
    const Wrong& one = wrong[at];
    if (one.rows == 0) continue;
    is_found = true;
    const std::string place = "propagation: " + partition_text(level, context.contents.num_nodes(), at) + ": ";
    const std::string first = context.contents.order().text(one.first);
    const std::string rows =
        one.rows == 1 ? "the row of " + first + " is not the sum of its terms"
                      : std::to_string(one.rows) + " rows are not the sums of their terms, first that of " + first;
    const std::string file = kept.entries().empty() ? std::string() : kept.entries()[at].path;
    context.report.findings.push_back({false, place + rows + "; " + operation("repair") + " makes them anew", file});
  }
  if (!is_found)
    context.report.findings.push_back(
        {false,
         "propagation: level " + std::to_string(level) +
             ": sums were not those of their terms, and are when they are read again: the memory or the disk of this machine errs"});
}

void check_stale(const VerifyContext& context) {
  if (context.embedding == nullptr) return;
  const Embedding& embedding = *context.embedding;
  const std::uint32_t columns = embedding.columns();
  FalseStatements wrong;
  std::vector<std::int32_t> delta(columns);
  for (std::uint32_t level = 0; level < embedding.levels(); ++level) {
    const StaleRows& stale = embedding.stale(level);
    std::vector<UInt128> squares(columns, 0);
    std::vector<Int128> magnitudes(columns, 0), sums(columns, 0);
    for (const NodeId node : stale.nodes()) {
      if (!embedding.cone().contains(level, node))
        wrong.add(node, row_text(context, level, node) + ": a stale row outside the cone");
      std::fill(delta.begin(), delta.end(), 0);
      stale.add_to(node, 1, delta.data());
      const Int128 degree = context.contents.graph().degree(node);
      for (std::uint32_t c = 0; c < columns; ++c) {
        const Int128 one = delta[c];
        squares[c] += static_cast<UInt128>(one * one * degree);
        magnitudes[c] += (one < 0 ? -one : one) * degree;
        sums[c] += one * degree;
      }
    }
    const StaleRows::Totals& totals = stale.totals();
    for (std::uint32_t c = 0; c < columns; ++c)
      if (totals.squares[c] != squares[c] || totals.magnitudes[c] != magnitudes[c] || totals.sums[c] != sums[c])
        wrong.add(c, "level " + std::to_string(level) + ", column " + std::to_string(c) +
                         ": the bound of the stale rows is not their sum");
    context.report.rows += stale.size();
  }
  wrong.report_to(context.report, "stale");
}

void report_rebuild(VerifyReport& report, std::uint64_t rows, const TilePlan& plan, const FalseStatements& wrong) {
  report.rows += rows;
  report.rebuilt += rows;
  report.rebuild_tiles = plan.tiles;
  report.rebuild_bytes = plan.memory_bytes();
  wrong.report_to(report, "rebuild");
}

void check_rebuild(const VerifyContext& context) {
  const Embedding& embedding = *context.embedding;
  if (embedding.levels() == 0) return;
  std::vector<RowMask> wanted;
  if (!embedding.spec().all_rows) wanted = reached_rows(context.contents, embedding.levels());
  const SweepSpec sweep{.levels = embedding.levels(),
                        .columns = {0, embedding.columns()},
                        .scale_bits = embedding.spec().scale_bits,
                        .wanted = wanted};
  if (!embedding.has_sums()) return rebuild_kept_rows(context, sweep);
  FalseStatements wrong;
  std::atomic<std::uint64_t> rows = 0;
  std::uint64_t all = 0;
  for (std::uint32_t level = 1; level <= embedding.levels(); ++level) all += embedding.cone().rows(level);
  const WatchedStep watched("fresh propagation", all * embedding.columns(), "sums");
  const BlockSource source = block_source(context.contents.graph());
  const TilePlan plan = plan_tiles(source, sweep, context.budget.available()).require();
  SumCheck check(context.contents.num_nodes(), embedding.columns(), embedding.levels(), wanted, context.budget);
  SinkOf sink([&](std::uint32_t level, TileColumns columns, const SumRows& fresh) {
    const auto compare = [&](NodeId node, const auto* sums) {
      const StateRow kept = embedding.level(level).row(node);
      if (!kept.exists() || !equals(sums, kept, columns))
        wrong.add(node, row_text(context, level, node) + ": not the row of a fresh propagation");
    };
    std::size_t wide = 0;
    for (std::size_t i = 0; i < fresh.nodes.size(); ++i) {
      if (wide < fresh.wide_nodes.size() && fresh.wide_nodes[wide] == i)
        compare(fresh.nodes[i], fresh.wide_sums + wide++ * fresh.width);
      else
        compare(fresh.nodes[i], fresh.sums + i * fresh.width);
    }
    watched.advance(fresh.nodes.size() * columns.count);
    if (columns.first == 0) rows += fresh.nodes.size();
  });
  propagation_sweep(source, sweep, plan, context.budget, {level0_fill(context.contents, embedding.spec())}, sink,
                    &check);
  report_rebuild(context.report, rows, plan, wrong);
}

}  // namespace unweave
