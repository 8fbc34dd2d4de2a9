// engine/state/state_level.cpp - reads and stores rows of sums, and writes dirty ones into new
// partitions or a run.
#include "engine/state/state_level.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/graph/open_files.h"
#include "engine/resources/memory_peak.h"
#include "engine/resources/parallel.h"
#include "storage/formats/store_layout.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/waiting_items.h"

namespace unweave {
namespace {

constexpr NodeId kReadNodes = 4096;  // read at a time when a partition is written anew

bool fits_narrow(const std::int64_t* sums, std::uint32_t columns) noexcept {
  // Branch-free, so that it vectorises: a sum fits iff narrowing and widening again changes
  // nothing.
  std::int64_t difference = 0;
  for (std::uint32_t c = 0; c < columns; ++c) difference |= sums[c] ^ static_cast<std::int32_t>(sums[c]);
  return difference == 0;
}

}  // namespace

PartitionWriters::PartitionWriters(MemoryBudget& budget) {
  constexpr std::uint64_t kMost = 4;
  const std::uint64_t room = memory_shares::kPartitionBuffers.of(budget);
  if (active_threads() > 1) count_ = std::clamp<std::uint64_t>(room / kBytes, 1, kMost);
  try {
    memory_ = budget.reserve(std::min(count_ * kBytes, room), "buffers of files being written");
  } catch (const ResourceError&) {  // another thread has taken of it meanwhile
    count_ = 1;
  }
  trim_memory(budget, count_ * kBytes);
}

StateLevel::StateLevel(const std::filesystem::path& folder, const Manifest& manifest, std::uint32_t level,
                       const StoredRun& run, ColumnRange part)
    : level_(level),
      columns_(part.count),
      nodes_(manifest.nodes),
      span_(span_nodes(manifest.nodes)),
      dirty_(manifest.nodes),
      narrow_(part.count * sizeof(std::int32_t)),
      wide_(part.count * sizeof(std::int64_t)) {
  open(folder, manifest.levels[level].partitions, manifest.features, part);
  run_ = run;
  const auto at = [&](std::size_t row) { return row * manifest.features + part.first; };
  for (std::size_t i = 0; i < run.narrow_nodes.size(); ++i)
    dirty_.at(run.narrow_nodes[i]) = DirtyRow(const_cast<std::int32_t*>(&run.narrow_rows[at(i)]));
  for (std::size_t i = 0; i < run.wide_nodes.size(); ++i) store(run.wide_nodes[i], &run.wide_rows[at(i)]);
  for (const NodeId node : run.dropped) drop(node);
}

bool StateLevel::contains(NodeId node) const noexcept {
  if (resident_) return resident_->contains(node);
  const DirtyRow* dirty = dirty_.find(node);
  return dirty == nullptr ? partitions_[node / span_]->contains(node) : dirty->exists();
}

std::uint64_t StateLevel::num_rows() const {
  std::uint64_t rows = 0;
  if (resident_) {
    for (NodeId node = 0; node < nodes_; ++node) rows += resident_->contains(node) ? 1 : 0;
    return rows;
  }
  for (const auto& partition : partitions_) rows += partition->rows();
  dirty_.for_each({0, nodes_}, [&](NodeId node, const DirtyRow& row) {
    rows += row.exists() ? 1 : 0;
    rows -= is_in_partition(node) ? 1 : 0;
  });
  return rows;
}

StateRow StateLevel::row(NodeId node) const {
  if (resident_) return resident_->row(node);
  const DirtyRow* dirty = dirty_.find(node);
  if (dirty == nullptr) return partitions_[node / span_]->row(node);
  const std::int32_t* const narrow = dirty->narrow();
  if (narrow != nullptr && is_of_run(narrow))
    run_.check_values({narrow, columns_});
  else if (narrow != nullptr && spools_.holds(narrow))
    check_spooled(node, narrow);
  return {narrow, dirty->wide()};
}

void StateLevel::check_spooled(NodeId node, const std::int32_t* row) const {
  std::uint64_t written = 0;
  std::memcpy(&written, row + columns_, sizeof written);
  if (checksum64(std::as_bytes(std::span(row, columns_))) != written)
    throw DataError(
        "level " + std::to_string(level_) + ": the row of the node at position " + std::to_string(node) +
        ", which lay in a temporary file, is not what was written there; look after the disk and run the command again");
}

void StateLevel::read_ahead(NodeRange nodes) const noexcept {
  if (resident_) return;
  if (nodes.size() == 1) {
    if (const DirtyRow* const dirty = dirty_.find(nodes.first); dirty != nullptr) {
      const std::int32_t* const narrow = dirty->narrow();
      if (narrow != nullptr && is_of_run(narrow)) run_.read_ahead({narrow, columns_});
      return;  // else in memory
    }
  }
  for (NodeId first = nodes.first; first < nodes.last;) {
    const StatePartition& partition = *partitions_[first / span_];
    const NodeId last = std::min(nodes.last, partition.range().last);
    partition.read_ahead({first, last});
    first = last;
  }
  if (nodes.size() == 1 || run_.narrow_nodes.empty()) return;
  const std::size_t width = run_.narrow_rows.size() / run_.narrow_nodes.size();  // columns_ may be a part of them
  const auto place = [&](NodeId node) {
    const auto at = std::lower_bound(run_.narrow_nodes.begin(), run_.narrow_nodes.end(), node);
    return static_cast<std::uint64_t>(at - run_.narrow_nodes.begin()) * width;
  };
  const auto rows = run_.narrow_rows.subspan(place(nodes.first), place(nodes.last) - place(nodes.first));
  if (!rows.empty()) run_.read_ahead(rows);
}

void StateLevel::prefetch(NodeId node) const {
  constexpr std::uint32_t kLine = 64 / sizeof(std::int32_t);
  const DirtyRow* const dirty = resident_ ? nullptr : dirty_.find(node);
  const std::int32_t* const at = dirty != nullptr ? dirty->narrow() : row(node).narrow;
  if (at == nullptr) return;
  for (std::uint32_t c = 0; c < columns_; c += kLine) __builtin_prefetch(at + c, 1);
}

bool StateLevel::load(NodeId node, std::int64_t* out) const {
  const StateRow at = row(node);
  if (at.narrow != nullptr)
    std::copy(at.narrow, at.narrow + columns_, out);
  else if (at.wide != nullptr)
    std::copy(at.wide, at.wide + columns_, out);
  return at.exists();
}

void StateLevel::store(NodeId node, const std::int32_t* sums) {
  if (resident_) {
    resident_->store(node, sums);
    return;
  }
  DirtyRow& dirty = dirty_.at(node);
  if (!is_in_arena(dirty.narrow())) {
    auto* const row = reinterpret_cast<std::int32_t*>(narrow_.take());
    give_back(dirty);
    dirty = DirtyRow(row);
  }
  std::memcpy(dirty.narrow(), sums, columns_ * sizeof(std::int32_t));
}

void StateLevel::store(NodeId node, const std::int64_t* sums) {
  if (fits_narrow(sums, columns_)) {
    std::vector<std::int32_t> narrow(columns_);
    for (std::uint32_t c = 0; c < columns_; ++c) narrow[c] = static_cast<std::int32_t>(sums[c]);
    store(node, narrow.data());
    return;
  }
  if (resident_) {
    resident_->store_wide(node, sums);
    return;
  }
  DirtyRow& dirty = dirty_.at(node);
  if (dirty.wide() == nullptr) {
    auto* const row = reinterpret_cast<std::int64_t*>(wide_.take());
    give_back(dirty);
    dirty = DirtyRow(row);
  }
  std::memcpy(dirty.wide(), sums, columns_ * sizeof(std::int64_t));
}

bool StateLevel::is_of_run(const std::int32_t* row) const noexcept {
  const std::int32_t* const first = run_.narrow_rows.data();
  return !std::less<>()(row, first) && std::less<>()(row, first + run_.narrow_rows.size());
}

void StateLevel::give_back(DirtyRow& row) {
  if (is_in_arena(row.narrow())) narrow_.give(reinterpret_cast<std::byte*>(row.narrow()));
  if (row.wide() != nullptr) wide_.give(reinterpret_cast<std::byte*>(row.wide()));
  row = DirtyRow();
}

void StateLevel::drop(NodeId node) {
  if (resident_) {
    resident_->drop(node);
    return;
  }
  DirtyRow& dirty = dirty_.at(node);
  give_back(dirty);
  if (!partitions_[node / span_]->contains(node)) dirty_.erase(node);
}

ResidentRows* StateLevel::recompute_in_memory(MemoryBudget& budget) {
  if (!resident_) {
    if (!has_room(ResidentRows::bytes(nodes_, columns_), budget.available())) return nullptr;
    resident_ = std::make_unique<ResidentRows>(nodes_, columns_, budget);
  }
  forget_overlay();
  resident_->clear();
  return resident_.get();
}

void StateLevel::forget_overlay() {
  dirty_.clear();
  narrow_.clear();
  wide_.clear();
  spools_.clear();
  run_ = {};
}

std::uint64_t StateLevel::overlay_bytes() const noexcept {
  return resident_ ? 0 : narrow_.bytes() + wide_.bytes() + dirty_.value_bytes();
}

void StateLevel::spill(const std::filesystem::path& folder) {
  const std::size_t keep = spools_.files_to_keep();
  const auto moves = [&](const DirtyRow& row) {
    return is_in_arena(row.narrow()) || (row.narrow() != nullptr && spools_.holds(row.narrow(), keep));
  };
  const std::uint64_t row_bytes = columns_ * sizeof(std::int32_t) + sizeof(std::uint64_t);
  std::uint64_t rows = 0;
  dirty_.for_each({0, nodes_}, [&](NodeId, const DirtyRow& row) { rows += moves(row) ? 1 : 0; });
  if (rows > 0) {
    const std::byte* at = spools_.write(folder, rows * row_bytes, [&](const auto& add) {
      dirty_.for_each({0, nodes_}, [&](NodeId node, const DirtyRow& row) {
        if (!moves(row)) return;
        if (!is_in_arena(row.narrow())) check_spooled(node, row.narrow());
        const auto values = std::as_bytes(std::span(row.narrow(), columns_));
        const std::uint64_t checksum = checksum64(values);
        add(values);
        add(std::as_bytes(std::span(&checksum, 1)));
      });
    });
    dirty_.change_each([&](DirtyRow& row) {
      if (!moves(row)) return;
      row = DirtyRow(reinterpret_cast<std::int32_t*>(const_cast<std::byte*>(at)));
      at += row_bytes;
    });
    spools_.forget_merged(keep);
  }
  narrow_.clear();
}

void StateLevel::replace(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions) {
  open(folder, partitions, columns_, {0, columns_});
  resident_.reset();
  forget_overlay();
}

void StateLevel::renew(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions) {
  open(folder, partitions, columns_, {0, columns_});
}

void StateLevel::open(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions,
                      std::uint32_t columns, ColumnRange part) {
  const auto is_kept = [&](std::size_t i) { return i < entries_.size() && partitions[i] == entries_[i]; };
  // Others stay open, with what is known of their pages.
  auto all = open_files<std::shared_ptr<const StatePartition>>(partitions.size(), [&](std::size_t i) {
    return is_kept(i) ? partitions_[i]
                      : std::make_shared<const StatePartition>(folder, partitions[i], level_, span_range(nodes_, i),
                                                               columns, part);
  });
  std::swap(partitions_, all);
  entries_ = partitions;
}

void StateLevel::fold(const std::filesystem::path& folder, MemoryBudget& budget) {
  Run none;
  replace(folder, checkpoint(folder, true, none, budget));
}

FileEntry StateLevel::rewrite(const std::filesystem::path& folder, std::size_t partition) const {
  const NodeRange range = partitions_[partition]->range();
  std::vector<std::uint64_t> members(std::size_t{range.size()} / 64 + 1);
  for (NodeId node = range.first; node < range.last; ++node)
    if (contains(node)) members[(node - range.first) / 64] |= std::uint64_t{1} << ((node - range.first) % 64);
  members.resize((std::size_t{range.size()} + 63) / 64);
  StatePartitionWriter writer(folder, level_, range, columns_, members);
  for (NodeId node = range.first; node < range.last; ++node) {
    if (const NodeId at = node - range.first;
        at % kReadNodes == 0) {  // while these rows are written the next ones come
      const NodeId first = range.first + std::min(range.size(), at == 0 ? 0 : at + kReadNodes);
      read_ahead({first, range.first + std::min(range.size(), at + 2 * kReadNodes)});
    }
    const StateRow at = row(node);
    if (at.narrow != nullptr)
      writer.add({at.narrow, columns_});
    else if (at.wide != nullptr)
      writer.add_wide(node, {at.wide, columns_});
  }
  return writer.finish();
}

bool StateLevel::has_changes(NodeRange span) const {
  bool any = resident_ != nullptr;
  dirty_.for_each(span, [&](NodeId, const DirtyRow&) { any = true; });
  return any;
}

void StateLevel::mark_changed(NodeRange range, const std::vector<FileEntry>& partitions,
                              std::span<std::uint64_t> words) const {
  const auto mark = [&](NodeId node) {
    words[(node - range.first) / 64] |= std::uint64_t{1} << ((node - range.first) % 64);
  };
  for (NodeId first = range.first; first < range.last;) {
    const std::size_t i = first / span_;
    const NodeId last = std::min(range.last, partitions_[i]->range().last);
    if (resident_ || entries_[i] != partitions[i])
      for (NodeId node = first; node < last; ++node) mark(node);
    first = last;
  }
  dirty_.for_each(range, [&](NodeId node, const DirtyRow& row) {
    if (row.narrow() == nullptr || !is_of_run(row.narrow())) mark(node);
  });
}

bool StateLevel::is_written_anew(std::size_t partition, bool fold) const {
  const StatePartition& file = *partitions_[partition];
  std::size_t dirty = resident_ ? file.range().size() : 0;
  dirty_.for_each(file.range(), [&](NodeId, const DirtyRow&) { ++dirty; });
  // Past a quarter, rewriting the partition costs at most four times what the run would, and every
  // later open is cheaper.
  return dirty * 4 > file.rows() || (fold && dirty > 0);
}

std::vector<FileEntry> StateLevel::checkpoint(const std::filesystem::path& folder, bool fold, Run& run,
                                              MemoryBudget& budget) const {
  std::vector<FileEntry> files = entries_;
  std::vector<std::size_t> rewritten;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    if (is_written_anew(i, fold)) {
      rewritten.push_back(i);
      continue;
    }
    dirty_.for_each(partitions_[i]->range(), [&](NodeId node, const DirtyRow& dirty) {
      if (!dirty.exists()) {
        run.dropped.push_back(node);
      } else if (dirty.wide() != nullptr) {
        run.wide_nodes.push_back(node);
      } else {
        run.narrow_nodes.push_back(node);
      }
    });
  }
  if (rewritten.empty()) return files;
  const PartitionWriters writers(budget);
  run_waiting_items(rewritten.size(), writers.count(), [&](auto&& next_item) {
    for (std::size_t item = next_item(); item < rewritten.size(); item = next_item())
      files[rewritten[item]] = rewrite(folder, rewritten[item]);
  });
  return files;
}

}  // namespace unweave
