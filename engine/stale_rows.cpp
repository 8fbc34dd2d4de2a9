#include "engine/stale_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace unweave {
namespace {

template <class T>
void widen(std::span<const std::byte> values, std::uint32_t columns, std::int32_t* out) {
  for (std::uint32_t c = 0; c < columns; ++c) {
    T value{};
    std::memcpy(&value, values.data() + c * sizeof(T), sizeof value);
    out[c] = std::int32_t{value};
  }
}

template <class T>
std::vector<std::byte> narrow(const std::int32_t* delta, std::uint32_t columns) {
  std::vector<std::byte> values(columns * sizeof(T));
  for (std::uint32_t c = 0; c < columns; ++c) {
    const T value = static_cast<T>(delta[c]);
    std::memcpy(values.data() + c * sizeof(T), &value, sizeof value);
  }
  return values;
}

}  // namespace

StaleRows::StaleRows(NodeId nodes, std::uint32_t columns)
    : nodes_(nodes), columns_(columns), table_(nodes), scratch_(columns) {}

const StaleRows::Totals& StaleRows::totals() const {
  if (!totals_) {
    totals_ = Totals{std::vector<UInt128>(columns_), std::vector<Int128>(columns_), std::vector<Int128>(columns_)};
    table_.for_each({0, nodes_}, [&](NodeId, std::uint32_t slot) { account(rows_[slot], 1); });
  }
  return *totals_;
}

void StaleRows::unpack(std::uint8_t width, std::span<const std::byte> values, std::int32_t* out) const {
  if (width == 1)
    widen<std::int8_t>(values, columns_, out);
  else if (width == 2)
    widen<std::int16_t>(values, columns_, out);
  else
    widen<std::int32_t>(values, columns_, out);
}

void StaleRows::add_to(NodeId node, std::int32_t sign, std::int32_t* out) const {
  const std::uint32_t slot = table_.find(node);
  if (slot == RowTable::kEmpty) return;
  std::vector<std::int32_t> delta(columns_);
  unpack(rows_[slot].width, rows_[slot].values, delta.data());
  for (std::uint32_t c = 0; c < columns_; ++c) out[c] += sign * delta[c];
}

void StaleRows::account(const Row& row, int sign) const {
  if (!totals_) return;
  unpack(row.width, row.values, scratch_.data());
  for (std::uint32_t c = 0; c < columns_; ++c) {
    const std::int64_t delta = scratch_[c];
    const Int128 weighted = Int128{delta} * row.degree;
    const auto square = static_cast<UInt128>(static_cast<std::uint64_t>(delta * delta)) * row.degree;
    if (sign > 0)
      totals_->squares[c] += square;
    else
      totals_->squares[c] -= square;
    const Int128 magnitude = weighted < 0 ? -weighted : weighted;
    totals_->magnitudes[c] += sign > 0 ? magnitude : -magnitude;
    totals_->sums[c] += sign > 0 ? weighted : -weighted;
  }
}

void StaleRows::set(NodeId node, std::uint32_t degree, const std::int32_t* delta) {
  std::int32_t largest = 0;
  for (std::uint32_t c = 0; c < columns_; ++c) largest = std::max(largest, delta[c] < 0 ? -delta[c] : delta[c]);
  Row row;
  row.degree = degree;
  if (largest <= std::numeric_limits<std::int8_t>::max()) {
    row.width = 1;
    row.values = narrow<std::int8_t>(delta, columns_);
  } else if (largest <= std::numeric_limits<std::int16_t>::max()) {
    row.width = 2;
    row.values = narrow<std::int16_t>(delta, columns_);
  } else {
    row.width = 4;
    row.values = narrow<std::int32_t>(delta, columns_);
  }
  erase(node);
  if (largest == 0) return;
  account(row, 1);
  bytes_ += row.values.size() + sizeof(Row);
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back(std::move(row));
  } else {
    slot = free_.back();
    free_.pop_back();
    rows_[slot] = std::move(row);
  }
  table_.set(node, slot);
}

void StaleRows::erase(NodeId node) {
  const std::uint32_t slot = table_.find(node);
  if (slot == RowTable::kEmpty) return;
  account(rows_[slot], -1);
  bytes_ -= rows_[slot].values.size() + sizeof(Row);
  rows_[slot] = Row();
  free_.push_back(slot);
  table_.set(node, RowTable::kEmpty);
}

void StaleRows::clear() {
  table_.clear();
  rows_.clear();
  free_.clear();
  totals_.reset();
  bytes_ = 0;
}

std::vector<NodeId> StaleRows::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(size());
  table_.for_each({0, nodes_}, [&](NodeId node, std::uint32_t) { ids.push_back(node); });
  return ids;
}

std::optional<FileEntry> StaleRows::checkpoint(const std::filesystem::path& store, std::uint32_t level) const {
  if (size() == 0) return std::nullopt;
  std::vector<StaleRow> packed;
  packed.reserve(size());
  table_.for_each({0, nodes_}, [&](NodeId node, std::uint32_t slot) {
    packed.push_back({node, rows_[slot].width, rows_[slot].values});
  });
  return write_stale(store, level, columns_, packed);
}

}  // namespace unweave
