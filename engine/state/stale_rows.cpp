// engine/state/stale_rows.cpp - packs differences of rows into the fewest bytes, and keeps the
// exact sums of their squares.
#include "engine/state/stale_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "storage/formats/run_file.h"

namespace unweave {
namespace {

template <class T>
void add_widened(const std::byte* values, std::uint32_t columns, std::int32_t sign, std::int32_t* out) {
  for (std::uint32_t c = 0; c < columns; ++c) {
    T value{};
    std::memcpy(&value, values + c * sizeof(T), sizeof value);
    out[c] += sign * std::int32_t{value};
  }
}

template <class T>
void narrow(const std::int32_t* delta, std::uint32_t columns, std::byte* out) {
  for (std::uint32_t c = 0; c < columns; ++c) {
    const T value = static_cast<T>(delta[c]);
    std::memcpy(out + c * sizeof(T), &value, sizeof value);
  }
}

}  // namespace

StaleRows::StaleRows(NodeId nodes, std::uint32_t columns)
    : nodes_(nodes),
      columns_(columns),
      rows_(nodes),
      arenas_{RowArena(columns), RowArena(std::size_t{2} * columns), RowArena(std::size_t{4} * columns)} {}

std::uint8_t StaleRows::width_of(std::int32_t largest) noexcept {
  if (largest <= std::numeric_limits<std::int8_t>::max()) return 1;
  return largest <= std::numeric_limits<std::int16_t>::max() ? 2 : 4;
}

void StaleRows::load(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
                     const std::function<std::uint32_t(NodeId)>& degree) {
  std::vector<std::int32_t> values(columns_);
  for (const StaleRow& row : read_stale(store, entry, level, columns_, nodes_, loaded_)) {
    std::fill(values.begin(), values.end(), 0);
    add_unpacked(row.width, row.values.data(), 1, values.data());
    std::int32_t largest = 0;
    for (const std::int32_t delta : values) {
      if (delta < -kMaxDelta || delta > kMaxDelta) loaded_.back().fail(0, "a difference above twice the scale");
      largest = std::max(largest, std::abs(delta));
    }
    if (largest == 0 || row.width != width_of(largest))
      loaded_.back().fail(0, "a row that is not packed as tightly as it can be");
    rows_.at(row.node) = {row.values.data(), degree(row.node), row.width, false};
  }
  tracked_ = Tracked::nothing;
}

const StaleRows::Totals& StaleRows::totals() const {
  track(Tracked::all);
  return totals_;
}

const std::vector<UInt128>& StaleRows::squares() const {
  track(std::max(tracked_, Tracked::squares));
  return totals_.squares;
}

void StaleRows::track(Tracked what) const {
  if (tracked_ != what) {
    tracked_ = what;
    totals_ = {std::vector<UInt128>(columns_), std::vector<Int128>(columns_), std::vector<Int128>(columns_)};
    for (Recent& recent : recents_) {
      recent.squares.assign(columns_, 0);
      recent.magnitudes.assign(columns_, 0);
      recent.sums.assign(columns_, 0);
      recent.room = kRecentRoom;
    }
    rows_.for_each({0, nodes_}, [&](NodeId node, const Row& row) { account(node, row, 1); });
  }
  for (Recent& recent : recents_) fold(recent);
}

/// Its mutex is held, or nobody changes rows.
void StaleRows::fold(Recent& recent) const {
  if (recent.room == kRecentRoom) return;  // whatever is added takes some
  const std::scoped_lock lock(totals_mutex_);
  ++folds_;
  for (std::uint32_t c = 0; c < columns_; ++c) {
    // Modulo 2^128, where a difference comes out right.
    totals_.squares[c] += static_cast<UInt128>(static_cast<Int128>(recent.squares[c]));
    totals_.magnitudes[c] += static_cast<Int128>(recent.magnitudes[c]);
    totals_.sums[c] += static_cast<Int128>(recent.sums[c]);
  }
  std::fill(recent.squares.begin(), recent.squares.end(), 0);
  std::fill(recent.magnitudes.begin(), recent.magnitudes.end(), 0);
  std::fill(recent.sums.begin(), recent.sums.end(), 0);
  recent.room = kRecentRoom;
}

void StaleRows::add_unpacked(std::uint8_t width, const std::byte* values, std::int32_t sign, std::int32_t* out) const {
  if (width == 1)
    add_widened<std::int8_t>(values, columns_, sign, out);
  else if (width == 2)
    add_widened<std::int16_t>(values, columns_, sign, out);
  else
    add_widened<std::int32_t>(values, columns_, sign, out);
}

void StaleRows::add_to(NodeId node, std::int32_t sign, std::int32_t* out) const {
  const Row* row = rows_.find(node);
  if (row != nullptr) add_unpacked(row->width, row->values, sign, out);
}

void StaleRows::prefetch(NodeId node) const noexcept {
  const Row* row = rows_.find(node);
  if (row == nullptr) return;
  for (std::uint32_t at = 0; at < row->width * columns_; at += 64) __builtin_prefetch(row->values + at, 1);
}

void StaleRows::account(NodeId node, const Row& row, int sign) const {
  if (tracked_ == Tracked::nothing) return;
  std::vector<std::int32_t> values(columns_);
  add_unpacked(row.width, row.values, 1, values.data());
  std::int32_t largest = 0;
  for (const std::int32_t value : values) largest = std::max(largest, std::abs(value));
  const double most = static_cast<double>(largest) * largest * row.degree;
  if (most > kRecentRoom / 2) {  // rounded at this size, but not below it
    const std::scoped_lock lock(totals_mutex_);
    for (std::uint32_t c = 0; c < columns_; ++c) {
      const Int128 weighted = Int128{sign} * values[c] * row.degree;
      totals_.squares[c] += static_cast<UInt128>(weighted * values[c]);
      totals_.magnitudes[c] += values[c] < 0 ? -weighted : weighted;
      totals_.sums[c] += weighted;
    }
    return;
  }
  Recent& recent = recents_[node / NodeMap<Row>::kPageNodes % kRecents];
  const std::scoped_lock lock(recent.mutex);
  if (most > recent.room) fold(recent);
  recent.room -= most;
  const double weight = static_cast<double>(row.degree) * sign;
  for (std::uint32_t c = 0; c < columns_; ++c) {
    const double value = values[c];
    recent.squares[c] += weight * value * value;
  }
  if (tracked_ != Tracked::all) return;
  for (std::uint32_t c = 0; c < columns_; ++c) {
    const double value = values[c];
    recent.magnitudes[c] += weight * std::abs(value);
    recent.sums[c] += weight * value;
  }
}

void StaleRows::set(NodeId node, std::uint32_t degree, const std::int32_t* delta) {
  std::int32_t largest = 0;
  for (std::uint32_t c = 0; c < columns_; ++c) largest = std::max(largest, delta[c] < 0 ? -delta[c] : delta[c]);
  if (largest == 0) {
    erase(node);
    return;
  }
  const std::uint8_t width = width_of(largest);
  Row& row = rows_.at(node);
  if (row.width != 0) account(node, row, -1);
  if (row.width != width || !row.in_memory) {
    std::byte* const values = arena(width).take();
    give_back(row);
    row = {values, degree, width, true};
  }
  row.degree = degree;
  auto* const values = const_cast<std::byte*>(row.values);  // they lie in an arena, and so may change
  if (width == 1)
    narrow<std::int8_t>(delta, columns_, values);
  else if (width == 2)
    narrow<std::int16_t>(delta, columns_, values);
  else
    narrow<std::int32_t>(delta, columns_, values);
  account(node, row, 1);
}

void StaleRows::add(NodeId node, std::uint32_t degree, const std::int32_t* delta) {
  if (!contains(node)) {
    set(node, degree, delta);
    return;
  }
  std::vector<std::int32_t> sum(delta, delta + columns_);
  add_to(node, 1, sum.data());
  set(node, degree, sum.data());
}

void StaleRows::erase(NodeId node) {
  const Row* row = rows_.find(node);
  if (row == nullptr) return;
  account(node, *row, -1);
  give_back(*row);
  rows_.erase(node);
}

void StaleRows::give_back(const Row& row) {
  if (row.in_memory) arena(row.width).give(const_cast<std::byte*>(row.values));
}

void StaleRows::clear() {
  rows_.clear();
  tracked_ = Tracked::nothing;
  for (RowArena& one : arenas_) one.clear();
  loaded_.clear();
  spools_.clear();
}

std::uint64_t StaleRows::bytes_in_memory() const noexcept {
  std::uint64_t bytes = 0;
  for (const RowArena& one : arenas_) bytes += one.bytes();
  return bytes;
}

std::uint64_t StaleRows::bytes() const noexcept {
  return bytes_in_memory() + rows_.value_bytes();
}

void StaleRows::spill(const std::filesystem::path& folder) {
  const std::size_t keep = spools_.files_to_keep();
  const auto moves = [&](const Row& row) { return row.in_memory || spools_.holds(row.values, keep); };
  std::uint64_t bytes = 0;
  rows_.for_each({0, nodes_}, [&](NodeId, const Row& row) {
    if (moves(row)) bytes += std::uint64_t{row.width} * columns_;
  });
  if (bytes > 0) {
    const std::byte* at = spools_.write(folder, bytes, [&](const auto& add) {
      rows_.for_each({0, nodes_}, [&](NodeId, const Row& row) {
        if (moves(row)) add(std::span(row.values, std::size_t{row.width} * columns_));
      });
    });
    rows_.change_each([&](Row& row) {
      if (!moves(row)) return;
      row.values = at;
      row.in_memory = false;
      at += std::size_t{row.width} * columns_;
    });
    spools_.forget_merged(keep);
  }
  for (RowArena& one : arenas_) one.clear();
}

std::vector<NodeId> StaleRows::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(size());
  rows_.for_each({0, nodes_}, [&](NodeId node, const Row&) { ids.push_back(node); });
  return ids;
}

std::optional<FileEntry> StaleRows::checkpoint(const std::filesystem::path& store, std::uint32_t level) const {
  if (size() == 0) return std::nullopt;
  std::vector<StaleRow> packed;
  packed.reserve(size());
  rows_.for_each({0, nodes_}, [&](NodeId node, const Row& row) {
    packed.push_back({node, row.width, {row.values, std::size_t{row.width} * columns_}});
  });
  return write_stale(store, level, columns_, packed);
}

}  // namespace unweave
