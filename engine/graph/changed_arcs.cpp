// engine/graph/changed_arcs.cpp - adds units to arcs and takes them off.
#include "engine/graph/changed_arcs.h"

#include <algorithm>

namespace unweave {

std::size_t ChangedArcs::place(NodeId to) const noexcept {
  return static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), to) - ids_.begin());
}

void ChangedArcs::add(NodeId to, std::uint32_t units, bool weights) {
  if (weights && !units_) units_ = std::make_unique<Units>();
  const std::size_t at = place(to);
  const bool is_there = has(to, at);
  if (!is_there) ids_.insert(ids_.begin() + static_cast<std::ptrdiff_t>(at), to);
  if (!units_) return;
  if (!is_there) units_->of.insert(units_->of.begin() + static_cast<std::ptrdiff_t>(at), 0);
  units_->of[at] += units;
  units_->total += units;
}

std::uint32_t ChangedArcs::take(NodeId to, std::uint32_t most) {
  const std::size_t at = place(to);
  if (!has(to, at)) return 0;
  const std::uint32_t there = units(at), taken = std::min(most, there);
  if (units_) {
    units_->of[at] -= taken;
    units_->total -= taken;
  }
  if (taken < there) return taken;
  ids_.erase(ids_.begin() + static_cast<std::ptrdiff_t>(at));
  if (units_) units_->of.erase(units_->of.begin() + static_cast<std::ptrdiff_t>(at));
  return taken;
}

std::uint64_t ChangedArcs::bytes(std::uint64_t sets, std::uint64_t arcs, bool weights) noexcept {
  constexpr std::uint64_t kLeastArray = 32;
  const std::uint64_t units = weights ? sizeof(Units) + 2 * kLeastArray : 0;
  return sets * (kLeastArray + units) + arcs * 2 * sizeof(NodeId) * (weights ? 2 : 1);  // arrays may be half empty
}

}  // namespace unweave
