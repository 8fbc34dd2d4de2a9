// algorithms/updates/cold_files.cpp - samples the page cache, file by file.
#include "algorithms/updates/cold_files.h"

#include "engine/resources/residency.h"
#include "storage/formats/manifest.h"

namespace unweave {

ColdFiles::Part ColdFiles::part_of(const std::filesystem::path& store, const std::vector<FileEntry>& files) {
  constexpr std::size_t kWindows = 64;
  return {static_cast<double>(bytes_of(files)), 1 - resident_share(store, files, kWindows)};
}

void ColdFiles::look(const std::filesystem::path& store, const Manifest& manifest) {
  const Clock::time_point start = Clock::now();
  if (start < next_look_ || machine_.is_memory) return;
  graph_ = part_of(store, manifest.shards);
  levels_.assign(1, part_of(store, manifest.feature_files));
  for (std::size_t level = 1; level < manifest.levels.size(); ++level) {
    std::vector<FileEntry> rows = manifest.levels[level].partitions;
    if (manifest.levels[level].run) rows.push_back(*manifest.levels[level].run);
    levels_.push_back(part_of(store, rows));
  }
  lists_ = manifest.levels.empty() ? Part{} : part_of(store, manifest.levels.back().lists);
  const Clock::time_point end = Clock::now();
  next_look_ = end + 100 * (end - start);
}

ColdReads ColdFiles::reads(std::uint32_t level) const {
  ColdReads reads;
  if (levels_.size() <= level) return reads;
  reads.byte_seconds = 1 / machine_.disk.read_bytes_per_second;
  reads.page_seconds = 1 / machine_.disk.random_pages_per_second;
  reads.room_seconds = machine_.commit_byte_seconds;
  reads.graph = graph_.cold;
  reads.graph_bytes = graph_.bytes;
  reads.lists = lists_.cold;
  reads.list_bytes = lists_.bytes;
  reads.level = levels_[level].cold;
  reads.below = levels_[level - 1].cold;
  reads.below_bytes = levels_[level - 1].bytes;
  return reads;
}

}  // namespace unweave
