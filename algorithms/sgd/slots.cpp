// algorithms/sgd/slots.cpp - slots of nodes, rows of slots, batches of slots.
#include "algorithms/sgd/slots.h"

#include <algorithm>
#include <string>

#include "storage/io/error.h"

namespace unweave {

std::vector<std::size_t> slots_of(std::span<const NodeId> slots, std::span<const NodeId> nodes) {
  std::vector<std::size_t> found;
  found.reserve(nodes.size());
  std::size_t at = 0;
  for (const NodeId node : nodes) {
    while (at < slots.size() && (slots[at] == kNoNode || slots[at] < node)) ++at;
    if (at == slots.size() || slots[at] != node)
      throw UsageError("the training row at position " + std::to_string(node) +
                       " has no slot in the model; train the model again");
    found.push_back(at);
  }
  return found;
}

bool have_slots(std::span<const NodeId> slots, std::span<const NodeId> nodes) {
  std::size_t at = 0;
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    while (at < slots.size() && (slots[at] == kNoNode || slots[at] < node)) ++at;
    return at < slots.size() && slots[at] == node;
  });
}

std::uint64_t slot_bytes(std::size_t slots) noexcept {
  // Nodes, places in the batches and first places are kept; places of rows and batches of rows come
  // and go.
  return slots * (sizeof(NodeId) + sizeof(std::uint32_t) + 2 * sizeof(std::size_t) + sizeof(std::uint32_t));
}

Batches::Batches(const SlotRun& run, std::span<const NodeId> slots, const TrainingSet& rows) {
  const SlotOrder order(run);
  std::vector<std::uint32_t> batch_of_row;
  batch_of_row.reserve(rows.size());
  for (const std::size_t slot : slots_of(slots, rows.nodes()))
    batch_of_row.push_back(static_cast<std::uint32_t>(order.batch_of(slot)));
  first_.assign(run.padded_slots() / run.batch_rows + 1, 0);
  for (const std::uint32_t batch : batch_of_row) ++first_[batch + 1];
  for (std::size_t batch = 1; batch < first_.size(); ++batch) first_[batch] += first_[batch - 1];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  rows_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows_[next[batch_of_row[i]]++] = static_cast<std::uint32_t>(i);
}

std::vector<std::uint32_t> rows_of_slots(const SlotRun& run, std::span<const NodeId> slots, const TrainingSet& rows) {
  std::vector<std::uint32_t> row_of_slot(run.padded_slots(), kNoRow);
  std::uint32_t row = 0;
  for (const std::size_t slot : slots_of(slots, rows.nodes())) row_of_slot[slot] = row++;
  return row_of_slot;
}

void empty_departed(std::vector<NodeId>& slots, std::span<const NodeId> present) {
  for (NodeId& node : slots)
    if (node != kNoNode && !std::binary_search(present.begin(), present.end(), node)) node = kNoNode;
}

}  // namespace unweave
