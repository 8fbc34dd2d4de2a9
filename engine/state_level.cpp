#include "engine/state_level.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "engine/narrow_sums.h"
#include "engine/parallel.h"
#include "storage/error.h"
#include "storage/store_layout.h"

namespace unweave {
StateLevel::StateLevel(const std::filesystem::path& folder, const Manifest& manifest, std::uint32_t level,
                       const Run& run)
    : level_(level),
      columns_(manifest.features),
      nodes_(manifest.nodes),
      span_(span_nodes(manifest.nodes)),
      table_(manifest.nodes) {
  replace(folder, manifest.levels[level].partitions);
  for (std::size_t i = 0; i < run.narrow_nodes.size(); ++i) {
    prepare(run.narrow_nodes[i]);
    std::memcpy(slot_row(table_.find(run.narrow_nodes[i])), &run.narrow_rows[i * columns_],
                columns_ * sizeof(std::int32_t));
  }
  for (std::size_t i = 0; i < run.wide_nodes.size(); ++i) {
    prepare(run.wide_nodes[i]);
    store(run.wide_nodes[i], &run.wide_rows[i * columns_]);
  }
  for (const NodeId node : run.dropped) drop(node);
}

bool StateLevel::contains(NodeId node) const noexcept {
  if (resident_) return resident_->contains(node);
  const std::uint32_t slot = table_.find(node);
  if (slot == RowTable::kEmpty) return partitions_[node / span_].contains(node);
  return slot != kDropped;
}

StateRow StateLevel::row(NodeId node) const {
  if (resident_) return resident_->row(node);
  const std::uint32_t slot = table_.find(node);
  if (slot == RowTable::kEmpty) return partitions_[node / span_].row(node);
  if (slot == kDropped) return {};
  if (is_wide_[slot] == 0) return {slot_row(slot), nullptr};
  const std::scoped_lock lock(wide_mutex_);
  return {nullptr, wide_.find(node)->second.data()};
}

bool StateLevel::load(NodeId node, std::int64_t* out) const {
  const StateRow at = row(node);
  if (at.narrow != nullptr)
    std::copy(at.narrow, at.narrow + columns_, out);
  else if (at.wide != nullptr)
    std::copy(at.wide, at.wide + columns_, out);
  return at.exists();
}

void StateLevel::prepare(NodeId node) {
  if (resident_) {
    resident_->insert(node);
    if (!recomputed_) table_.set(node, 0);
    return;
  }
  const std::uint32_t present = table_.find(node);
  if (present != RowTable::kEmpty && present != kDropped) return;
  std::uint32_t slot = slots_;
  if (!free_slots_.empty()) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  } else {
    if (slots_ % kSlabRows == 0) slabs_.push_back(std::make_unique_for_overwrite<std::int32_t[]>(kSlabRows * columns_));
    ++slots_;
    is_wide_.push_back(0);
  }
  // Until store(), the prepared row shows what was there before.
  const StateRow before = present == kDropped ? StateRow{} : partitions_[node / span_].row(node);
  if (before.narrow != nullptr)
    std::memcpy(slot_row(slot), before.narrow, columns_ * sizeof(std::int32_t));
  else
    std::memset(slot_row(slot), 0, columns_ * sizeof(std::int32_t));
  is_wide_[slot] = before.wide != nullptr ? 1 : 0;
  if (before.wide != nullptr) wide_[node].assign(before.wide, before.wide + columns_);
  table_.set(node, slot);
}

void StateLevel::store(NodeId node, const std::int64_t* sums) {
  if (resident_) {
    resident_->store(node, sums);
    return;
  }
  const std::uint32_t slot = table_.find(node);
  assert(slot < slots_);
  if (fits_narrow(sums, columns_)) {
    std::int32_t* out = slot_row(slot);
    for (std::uint32_t c = 0; c < columns_; ++c) out[c] = static_cast<std::int32_t>(sums[c]);
    if (is_wide_[slot] != 0) {
      const std::scoped_lock lock(wide_mutex_);
      wide_.erase(node);
      is_wide_[slot] = 0;
    }
    return;
  }
  const std::scoped_lock lock(wide_mutex_);
  wide_[node].assign(sums, sums + columns_);
  is_wide_[slot] = 1;
}

void StateLevel::drop(NodeId node) {
  const std::uint32_t gone = partitions_[node / span_].contains(node) ? kDropped : RowTable::kEmpty;
  if (resident_) {
    resident_->drop(node);
    if (!recomputed_) table_.set(node, gone);
    return;
  }
  const std::uint32_t slot = table_.find(node);
  if (slot < slots_) {
    free_slots_.push_back(slot);
    if (is_wide_[slot] != 0) wide_.erase(node);
    is_wide_[slot] = 0;
  }
  table_.set(node, gone);
}

bool StateLevel::fits_in_memory(const MemoryBudget& budget) const noexcept {
  // Half of what is free stays free: tiles, pairs and rows of the next batches need it.
  return ResidentRows::bytes(nodes_, columns_) <= budget.available() / 2;
}

ResidentRows* StateLevel::recompute_in_memory(MemoryBudget& budget) {
  if (!resident_) {
    if (!fits_in_memory(budget)) return nullptr;
    resident_ = std::make_unique<ResidentRows>(nodes_, columns_, budget);
  }
  forget_overlay();
  table_.clear();
  recomputed_ = true;
  resident_->clear();
  return resident_.get();
}

void StateLevel::settle_in_memory(MemoryBudget& budget) {
  std::uint64_t rows = 0;
  for (const StatePartition& partition : partitions_) rows += partition.rows();
  if (resident_ || table_.size() * 16 < rows || !fits_in_memory(budget)) return;
  auto all = std::make_unique<ResidentRows>(nodes_, columns_, budget);
  constexpr std::size_t kNodes = 4096;  // whole words of 64 nodes for each task
  parallel_ranges(0, (std::size_t{nodes_} + kNodes - 1) / kNodes, 1, [&](std::size_t first, std::size_t last) {
    const std::size_t end = std::min<std::size_t>(nodes_, last * kNodes);
    for (std::size_t i = first * kNodes; i < end; ++i) {
      const auto node = static_cast<NodeId>(i);
      const StateRow at = row(node);
      if (at.narrow != nullptr)
        all->put(node, 0, columns_, at.narrow);
      else if (at.wide != nullptr)
        all->put_wide(node, 0, columns_, at.wide);
    }
  });
  resident_ = std::move(all);
  recomputed_ = false;
  forget_overlay();
}

/// The rows of the overlay; which of them are dirty stays known.
void StateLevel::forget_overlay() {
  slabs_.clear();
  free_slots_.clear();
  is_wide_.clear();
  wide_.clear();
  slots_ = 0;
}

std::uint64_t StateLevel::overlay_bytes() const noexcept {
  return slabs_.size() * kSlabRows * columns_ * sizeof(std::int32_t) + wide_.size() * columns_ * sizeof(std::int64_t);
}

void StateLevel::replace(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions) {
  std::vector<StatePartition> opened;
  for (std::size_t i = 0; i < partitions.size(); ++i)
    opened.emplace_back(folder, partitions[i], level_, span_range(nodes_, i), columns_);
  std::swap(partitions_, opened);
  entries_ = partitions;
  resident_.reset();
  recomputed_ = false;
  forget_overlay();
  table_.clear();
}

FileEntry StateLevel::rewrite(const std::filesystem::path& folder, const StatePartition& partition) const {
  const NodeRange range = partition.range();
  std::vector<std::uint64_t> members(std::size_t{range.size()} / 64 + 1);
  for (NodeId node = range.first; node < range.last; ++node)
    if (contains(node)) members[(node - range.first) / 64] |= std::uint64_t{1} << ((node - range.first) % 64);
  members.resize((std::size_t{range.size()} + 63) / 64);
  StatePartitionWriter writer(folder, level_, range, columns_, members);
  for (NodeId node = range.first; node < range.last; ++node) {
    const StateRow at = row(node);
    if (at.narrow != nullptr)
      writer.add({at.narrow, columns_});
    else if (at.wide != nullptr)
      writer.add_wide(node, {at.wide, columns_});
  }
  return writer.finish();
}

std::vector<FileEntry> StateLevel::checkpoint(const std::filesystem::path& folder, bool fold, Run& run) const {
  std::vector<FileEntry> files = entries_;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    const StatePartition& partition = partitions_[i];
    std::size_t dirty = recomputed_ ? partition.range().size() : 0;
    table_.for_each(partition.range(), [&](NodeId, std::uint32_t) { ++dirty; });
    // Past a quarter, rewriting the partition costs at most four times what the run would, and every later open is
    // cheaper.
    if (dirty * 4 > partition.rows() || (fold && dirty > 0)) {
      files[i] = rewrite(folder, partition);
      continue;
    }
    table_.for_each(partition.range(), [&](NodeId node, std::uint32_t slot) {
      const StateRow at = slot == kDropped ? StateRow{} : row(node);
      if (slot == kDropped) {
        run.dropped.push_back(node);
      } else if (at.wide != nullptr) {
        run.wide_nodes.push_back(node);
        run.wide_rows.insert(run.wide_rows.end(), at.wide, at.wide + columns_);
      } else {
        run.narrow_nodes.push_back(node);
        run.narrow_rows.insert(run.narrow_rows.end(), at.narrow, at.narrow + columns_);
      }
    });
  }
  return files;
}

}  // namespace unweave
