// algorithms/propagation/field_estimate.cpp - draws nodes of each class of degrees, and asks their
// lists whom they read.
#include "algorithms/propagation/field_estimate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>

#include "algorithms/random/counter_random.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kClasses = 33;         // by the number of bits of a degree
constexpr std::uint64_t kLeastOfClass = 32;  // nodes drawn of each class, where it has them
constexpr std::uint64_t kListsOfNode = 24;   // lists that one drawn node may ask for
constexpr std::size_t kNodesPart = std::size_t{1} << 18;
constexpr std::size_t kReadersAtATime = 32;  // threads that wait for a disk most of the time
constexpr std::uint64_t kFieldUse = 0xF1E1D;

std::size_t class_of(std::uint32_t degree) {
  return static_cast<std::size_t>(std::bit_width(degree));
}

/// Nodes and arcs of each class, labelled ones apart.
struct ClassTotals {
  std::array<std::uint64_t, kClasses> nodes{}, arcs{};
  std::uint64_t labelled = 0, labelled_arcs = 0;

  void add(const ClassTotals& other) {
    for (std::size_t b = 0; b < kClasses; ++b) {
      nodes[b] += other.nodes[b];
      arcs[b] += other.arcs[b];
    }
    labelled += other.labelled;
    labelled_arcs += other.labelled_arcs;
  }
};

ClassTotals class_totals(const Contents& contents) {
  ClassTotals totals;
  std::mutex mutex;
  parallel_ranges(0, contents.num_nodes(), kNodesPart, [&](std::size_t first, std::size_t last) {
    ClassTotals part;
    for (auto node = static_cast<NodeId>(first); node < last; ++node) {
      const std::uint32_t terms = contents.graph().num_terms(node);
      if (contents.label(node) != kNoLabel) {
        ++part.labelled;
        part.labelled_arcs += terms;
      } else {
        ++part.nodes[class_of(terms)];
        part.arcs[class_of(terms)] += terms;
      }
    }
    const std::scoped_lock lock(mutex);
    totals.add(part);
  });
  return totals;
}

/// About `drawn` unlabelled nodes, half of them by the nodes and half by the arcs of their classes,
/// in ascending order.
std::vector<NodeId> draw_nodes(const Contents& contents, const ClassTotals& totals, std::uint64_t drawn,
                               std::uint64_t key) {
  double nodes = 0, arcs = 0;
  for (std::size_t b = 2; b < kClasses; ++b) {  // whoever has no neighbours reads nobody
    nodes += static_cast<double>(totals.nodes[b]);
    arcs += static_cast<double>(totals.arcs[b]);
  }
  std::array<std::uint64_t, kClasses> below{};  // a node is drawn where its random bits are below this
  for (std::size_t b = 2; b < kClasses; ++b) {
    if (totals.nodes[b] == 0) continue;
    const auto of_class = static_cast<double>(totals.nodes[b]);
    const double wanted =
        std::max(static_cast<double>(kLeastOfClass),
                 static_cast<double>(drawn) / 2 * (of_class / nodes + static_cast<double>(totals.arcs[b]) / arcs));
    below[b] = wanted >= of_class ? ~std::uint64_t{0} : static_cast<std::uint64_t>(wanted / of_class * 0x1p64);
  }
  std::vector<NodeId> all;
  std::mutex mutex;
  parallel_ranges(0, contents.num_nodes(), kNodesPart, [&](std::size_t first, std::size_t last) {
    std::vector<NodeId> part;
    for (auto node = static_cast<NodeId>(first); node < last; ++node)
      if (random_bits(key, node) < below[class_of(contents.graph().num_terms(node))] &&
          contents.label(node) == kNoLabel)
        part.push_back(node);
    const std::scoped_lock lock(mutex);
    all.insert(all.end(), part.begin(), part.end());
  });
  std::sort(all.begin(), all.end());
  return all;
}

/// Shares of the classes that belong to one level.
using Shares = std::array<double, kClasses>;

/// Asks whether nodes belong to a level.
class FieldTest {
 public:
  /// `shares`: of the levels L - 1, L - 2, .. that are known.
  FieldTest(const Contents& contents, const std::vector<Shares>& shares) : contents_(contents), shares_(shares) {}

  /// The chance that a node belongs to level L - depth: 0 or 1 where the lists that it takes could
  /// be read.
  double chance(NodeId node, std::size_t depth, std::uint64_t& lists) const {
    if (contents_.label(node) != kNoLabel) return 1;
    const Graph& graph = contents_.graph();
    if (depth == 0 || graph.list_weight(node) == 0) return 0;
    if (lists == 0 && depth <= shares_.size()) return shares_[depth - 1][class_of(graph.num_terms(node))];
    lists -= std::min<std::uint64_t>(lists, 1);
    std::vector<NodeId> list;
    graph.neighbours(node, list);
    for (const NodeId one : list)
      if (contents_.label(one) != kNoLabel) return 1;
    if (depth == 1) return 0;
    std::sort(list.begin(), list.end(), [&](NodeId u, NodeId v) { return graph.num_terms(u) > graph.num_terms(v); });
    double none = 1;
    for (const NodeId one : list) {
      none *= 1 - chance(one, depth - 1, lists);
      if (none < 1e-6) return 1;
    }
    return 1 - none;
  }

 private:
  const Contents& contents_;
  const std::vector<Shares>& shares_;
};

}  // namespace

FieldEstimate estimate_field(const Contents& contents, std::uint32_t levels, std::uint64_t drawn, std::uint64_t seed) {
  const ClassTotals totals = class_totals(contents);
  FieldEstimate field{std::vector<double>(levels), std::vector<double>(levels), std::vector<double>(levels),
                      std::vector<double>(levels)};
  field.rows.back() = static_cast<double>(totals.labelled);
  field.arcs.back() = static_cast<double>(totals.labelled_arcs);
  std::vector<Shares> shares;
  const FieldTest test(contents, shares);
  for (std::uint32_t depth = 1; depth < levels; ++depth) {
    const std::uint64_t wanted = depth == 1 ? drawn : std::max<std::uint64_t>(1, drawn / 8);
    const std::vector<NodeId> nodes = draw_nodes(contents, totals, wanted, random_key(seed, kFieldUse + depth));
    std::vector<double> chances(nodes.size());
    constexpr std::size_t kItem = 16;  // nodes
    run_waiting_items((nodes.size() + kItem - 1) / kItem, kReadersAtATime, [&](const auto& next) {
      for (std::size_t item = next(); item * kItem < nodes.size(); item = next())
        for (std::size_t i = item * kItem; i < std::min(nodes.size(), (item + 1) * kItem); ++i) {
          std::uint64_t lists = kListsOfNode;
          chances[i] = test.chance(nodes[i], depth, lists);
        }
    });
    std::array<double, kClasses> found{}, found_arcs{}, seen{}, seen_arcs{};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint32_t terms = contents.graph().num_terms(nodes[i]);
      const std::size_t b = class_of(terms);
      seen[b] += 1;
      seen_arcs[b] += terms;
      found[b] += chances[i];
      found_arcs[b] += chances[i] * terms;
    }
    double rows = static_cast<double>(totals.labelled), arcs = static_cast<double>(totals.labelled_arcs);
    double rows_variance = 0, arcs_variance = 0;
    Shares& share = shares.emplace_back();
    for (std::size_t b = 2; b < kClasses; ++b) {
      if (seen[b] == 0) continue;
      const auto of_class = static_cast<double>(totals.nodes[b]), of_arcs = static_cast<double>(totals.arcs[b]);
      share[b] = found[b] / seen[b];
      rows += of_class * share[b];
      arcs += of_arcs * found_arcs[b] / seen_arcs[b];
      // Half a node more on either side: a class of which all or none were found is not certain for
      // that.
      const double p = (found[b] + 0.5) / (seen[b] + 1);
      const double spread = p * (1 - p) / seen[b] * std::max(0.0, 1 - seen[b] / of_class);
      rows_variance += of_class * of_class * spread;
      arcs_variance += of_arcs * of_arcs * spread;
    }
    const std::size_t level = levels - 1 - depth;
    field.rows[level] = rows;
    field.arcs[level] = arcs;
    field.rows_error[level] = std::sqrt(rows_variance);
    field.arcs_error[level] = std::sqrt(arcs_variance);
  }
  return field;
}

}  // namespace unweave
