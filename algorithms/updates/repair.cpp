// algorithms/updates/repair.cpp - captures what changed nodes have published, and corrects their
// sums.
#include "algorithms/updates/repair.h"

#include <cstdlib>
#include <utility>

#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

constexpr std::size_t kRowGrain = 64;

}  // namespace

Repair::Repair(const BatchChanges& changes, std::uint32_t levels) : changes_(&changes), levels_(levels) {
  for (const NodeChange& change : changes.nodes) nodes_.push_back(change.node);
  cone.left.resize(levels + std::size_t{1});
  cone.entered.resize(levels + std::size_t{1});
}

std::uint64_t Repair::capture_bytes(std::uint32_t columns) const noexcept {
  const std::uint64_t row_bytes = columns * sizeof(std::int32_t) + sizeof(std::uint64_t);
  return (levels_ + std::uint64_t{1}) * nodes_.size() * row_bytes;
}

void Repair::capture(const Embedding& embedding, const ColumnFactors& factors, MemoryBudget& budget) {
  columns_ = embedding.columns();
  memory_ = budget.reserve(capture_bytes(columns_), "rows that change (a smaller " + option("batch") + " has fewer)");
  for (std::uint32_t level = 0; level < levels_; ++level) {
    auto& rows = captured_.emplace_back(nodes_.size() * columns_);
    auto& fingerprints = fingerprints_.emplace_back(nodes_.size());
    parallel_ranges(0, nodes_.size(), kRowGrain, [&](std::size_t first, std::size_t last) {
      LookAhead ahead(first, last, [&](std::size_t i) {
        if (embedding.cone().contains(level, nodes_[i])) embedding.read_ahead(level, {nodes_[i], nodes_[i] + 1});
      });
      for (std::size_t i = first; i < last; ++i) {
        ahead.at(i);
        if (!embedding.cone().contains(level, nodes_[i])) continue;
        embedding.published(level, nodes_[i], &rows[i * columns_]);
        fingerprints[i] = fingerprint_of(std::span<const std::int32_t>(&rows[i * columns_], columns_), factors);
      }
    });
  }
  if (levels_ == 0) return;
  received_ = captured_.back();
  std::vector<std::uint64_t> fingerprints = fingerprints_.back();
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (embedding.received(nodes_[i], &received_[i * columns_]))
      fingerprints[i] = fingerprint_of(std::span<const std::int32_t>(&received_[i * columns_], columns_), factors);
  fingerprints_.push_back(std::move(fingerprints));
}

std::uint64_t Repair::mend(std::uint32_t level, const Embedding& embedding, std::size_t changed,
                           const ColumnFactors& factors, std::int64_t* sums) const {
  std::vector<std::int32_t> one(columns_);
  std::uint64_t added = 0;
  const auto add = [&](NodeId neighbour, std::int64_t weight) {
    const std::size_t at = index(neighbour);
    const auto& entered = cone.entered[level - 1];
    std::uint64_t fingerprint = 0;
    if (std::binary_search(entered.begin(), entered.end(), neighbour)) {
      embedding.published(level - 1, neighbour, one.data());  // what is new has deferred nothing
      fingerprint = fingerprint_of(std::span<const std::int32_t>(one), factors);
    } else {
      const bool last = level == levels_;
      std::copy_n(last ? &received_[at * columns_] : captured(level - 1, at), columns_, one.data());
      fingerprint = fingerprints_[last ? level : level - 1][at];
    }
    const std::uint64_t moved = factors.modulus.multiply(static_cast<std::int32_t>(std::abs(weight)), fingerprint);
    added = weight < 0 ? factors.modulus.subtract(added, moved) : factors.modulus.add(added, moved);
    for (std::uint32_t c = 0; c < columns_; ++c) sums[c] += weight * one[c];
  };
  for (const auto& [node, weight] : changes_->nodes[changed].removed) add(node, -std::int64_t{weight});
  for (const auto& [node, weight] : changes_->nodes[changed].inserted) add(node, std::int64_t{weight});
  return added;
}

}  // namespace unweave
