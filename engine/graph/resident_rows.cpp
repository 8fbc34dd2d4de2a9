// engine/graph/resident_rows.cpp - keeps narrow rows of sums in one large buffer and wide ones in a
// map.
#include "engine/graph/resident_rows.h"

#include <algorithm>
#include <cstring>

namespace unweave {

std::uint64_t ResidentRows::bytes(NodeId nodes, std::uint32_t columns) noexcept {
  return HugeBuffer::charge(std::uint64_t{nodes} * columns * sizeof(std::int32_t)) + std::uint64_t{nodes} / 4;
}

ResidentRows::ResidentRows(NodeId nodes, std::uint32_t columns, MemoryBudget& budget)
    : columns_(columns),
      rows_(std::uint64_t{nodes} * columns * sizeof(std::int32_t), budget, "sums of one level in memory"),
      members_(std::size_t{nodes} / 64 + 1),
      is_wide_(std::size_t{nodes} / 64 + 1) {}

void ResidentRows::clear() {
  std::fill(members_.begin(), members_.end(), 0);
  std::fill(is_wide_.begin(), is_wide_.end(), 0);
  wide_.clear();
}

void ResidentRows::put(NodeId node, std::size_t first, std::size_t width, const std::int32_t* sums) {
  set(members_, node);
  std::memcpy(at(node) + first, sums, width * sizeof(std::int32_t));
}

void ResidentRows::put_wide(NodeId node, std::size_t first, std::size_t width, const std::int64_t* sums) {
  set(members_, node);
  std::fill_n(at(node) + first, width, 0);
  set(is_wide_, node);
  const std::scoped_lock lock(wide_mutex_);
  auto& row = wide_[node];
  row.resize(columns_);
  std::copy_n(sums, width, row.begin() + static_cast<std::ptrdiff_t>(first));
}

void ResidentRows::finish() {
  for (auto& [node, row] : wide_)
    for (std::uint32_t c = 0; c < columns_; ++c) row[c] += at(node)[c];  // zero wherever the tile was wide
}

StateRow ResidentRows::row(NodeId node) const {
  if (!contains(node)) return {};
  if (!bit(is_wide_, node)) return {at(node), nullptr};
  const std::scoped_lock lock(wide_mutex_);
  return {nullptr, wide_.find(node)->second.data()};
}

void ResidentRows::store(NodeId node, const std::int32_t* sums) {
  put(node, 0, columns_, sums);
  if (!bit(is_wide_, node)) return;
  const std::scoped_lock lock(wide_mutex_);
  wide_.erase(node);
  unset(is_wide_, node);
}

void ResidentRows::store_wide(NodeId node, const std::int64_t* sums) {
  set(members_, node);
  set(is_wide_, node);
  const std::scoped_lock lock(wide_mutex_);
  wide_[node].assign(sums, sums + columns_);
}

void ResidentRows::drop(NodeId node) {
  unset(members_, node);
  if (bit(is_wide_, node)) wide_.erase(node);
  unset(is_wide_, node);
}

}  // namespace unweave
