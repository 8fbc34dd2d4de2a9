// engine/state/received_rows.cpp - notes where received rows lie, and moves copies of them to
// files.
#include "engine/state/received_rows.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "storage/formats/store_layout.h"

namespace unweave {

ReceivedRows::ReceivedRows(NodeId nodes, std::uint32_t columns)
    : nodes_(nodes),
      span_(span_nodes(nodes)),
      columns_(columns),
      rows_(nodes),
      arena_(columns * sizeof(std::int32_t)) {}

void ReceivedRows::begin(const StateLevel& level) {
  if (rows_.size() == 0) partitions_ = level.partitions();
}

bool ReceivedRows::note_sums(NodeId node, const StateLevel& level, std::uint32_t degree) {
  const std::size_t span = node / span_;
  // A newer partition may have a row that lay beside the older one.
  if (span >= partitions_.size() || partitions_[span] != level.partitions()[span] || level.in_overlay(node))
    return false;
  rows_.at(node) = Row(degree);
  return true;
}

void ReceivedRows::note(NodeId node, const std::int32_t* values) {
  std::byte* const copy = arena_.take();
  std::memcpy(copy, values, columns_ * sizeof(std::int32_t));
  rows_.at(node) = Row(reinterpret_cast<const std::int32_t*>(copy), true);
}

std::optional<ReceivedRow> ReceivedRows::find(NodeId node) const {
  const Row* const row = rows_.find(node);
  if (row == nullptr) return std::nullopt;
  if (row->values() != nullptr) return ReceivedRow{row->values(), {}, 0};
  return ReceivedRow{nullptr, partitions_[node / span_]->row(node), row->degree()};
}

void ReceivedRows::read_ahead(NodeRange nodes) const noexcept {
  NodeRange in_partition{kNoNode, 0};
  const auto ask = [&] {
    if (in_partition.first < in_partition.last) partitions_[in_partition.first / span_]->read_ahead(in_partition);
    in_partition = {kNoNode, 0};
  };
  rows_.for_each(nodes, [&](NodeId node, const Row& row) {
    if (row.values() != nullptr) return;
    if (in_partition.last > 0 && node / span_ != in_partition.first / span_) ask();
    in_partition = {std::min(in_partition.first, node), node + 1};
  });
  ask();
}

std::vector<NodeId> ReceivedRows::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(size());
  rows_.for_each({0, nodes_}, [&](NodeId node, const Row&) { ids.push_back(node); });
  return ids;
}

void ReceivedRows::erase(NodeId node) {
  const Row* const row = rows_.find(node);
  if (row == nullptr) return;
  if (row->in_memory()) arena_.give(reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(row->values())));
  rows_.erase(node);
}

void ReceivedRows::clear() {
  rows_.clear();
  arena_.clear();
  spools_.clear();
  partitions_.clear();
}

void ReceivedRows::spill(const std::filesystem::path& folder) {
  const std::size_t keep = spools_.files_to_keep();
  const auto moves = [&](const Row& row) {
    return row.values() != nullptr && (row.in_memory() || spools_.holds(row.values(), keep));
  };
  std::uint64_t copies = 0;
  rows_.for_each({0, nodes_}, [&](NodeId, const Row& row) { copies += moves(row) ? 1 : 0; });
  if (copies > 0) {
    const std::byte* at = spools_.write(folder, copies * columns_ * sizeof(std::int32_t), [&](const auto& add) {
      rows_.for_each({0, nodes_}, [&](NodeId, const Row& row) {
        if (moves(row)) add(std::as_bytes(std::span(row.values(), columns_)));
      });
    });
    rows_.change_each([&](Row& row) {
      if (!moves(row)) return;
      row = Row(reinterpret_cast<const std::int32_t*>(at), false);
      at += columns_ * sizeof(std::int32_t);
    });
    spools_.forget_merged(keep);
  }
  arena_.clear();
}

}  // namespace unweave
