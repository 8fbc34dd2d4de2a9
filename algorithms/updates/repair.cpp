// algorithms/updates/repair.cpp - captures what changed nodes have published, and corrects their
// sums.
#include "algorithms/updates/repair.h"

#include <algorithm>
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

void Repair::put(std::uint32_t level, std::size_t index, std::span<const std::int32_t> row) {
  const std::size_t at = (level * nodes_.size() + index) * columns_;
  if (in_file_)
    in_file_->write(at * sizeof(std::int32_t), std::as_bytes(row));
  else
    std::copy(row.begin(), row.end(), in_memory_.begin() + static_cast<std::ptrdiff_t>(at));
}

void Repair::capture(const Embedding& embedding, const ColumnFactors& factors, MemoryBudget& budget,
                     const std::filesystem::path& folder) {
  columns_ = embedding.columns();
  const std::uint64_t fingerprints = (levels_ + std::uint64_t{1}) * nodes_.size() * sizeof(std::uint64_t);
  // The batch is acknowledged by now, so that its sums must follow. A file costs less than to write
  // levels anew, for room or for their own sake.
  const bool has_room = budget.available() >= 2 * (row_bytes() + fingerprints);
  memory_ = budget.reserve(fingerprints + (has_room ? row_bytes() : 0),
                           "rows that change (a smaller " + option("batch") + " has fewer)");
  if (has_room)
    in_memory_.resize(row_bytes() / sizeof(std::int32_t));
  else if (row_bytes() > 0)
    in_file_.emplace(folder, row_bytes());
  rows_ = has_room ? in_memory_.data() : in_file_ ? in_file_->as<std::int32_t>() : nullptr;
  fingerprints_.assign(levels_ + std::size_t{1}, std::vector<std::uint64_t>(nodes_.size()));
  // Level L has received what level L-1 has published, but for what was deferred.
  for (std::uint32_t level = 0; levels_ > 0 && level <= levels_; ++level) {
    const std::uint32_t below = std::min(level, levels_ - 1);
    parallel_ranges(0, nodes_.size(), kRowGrain, [&](std::size_t first, std::size_t last) {
      std::vector<std::int32_t> row(columns_);
      LookAhead ahead(first, last, [&](std::size_t i) {
        if (embedding.cone().contains(below, nodes_[i])) embedding.read_ahead(below, {nodes_[i], nodes_[i] + 1});
      });
      for (std::size_t i = first; i < last; ++i) {
        ahead.at(i);
        const bool is_there = embedding.cone().contains(below, nodes_[i]);
        std::fill(row.begin(), row.end(), 0);
        if (is_there) embedding.published(below, nodes_[i], row.data());
        const bool has_deferred = level == levels_ && embedding.received(nodes_[i], row.data());
        if (is_there || has_deferred)
          fingerprints_[level][i] = fingerprint_of(std::span<const std::int32_t>(row), factors);
        put(level, i, row);
      }
    });
  }
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
      const std::uint32_t told = level == levels_ ? level : level - 1;
      std::copy_n(captured(told, at), columns_, one.data());
      fingerprint = fingerprints_[told][at];
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
