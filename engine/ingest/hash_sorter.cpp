// engine/ingest/hash_sorter.cpp - sorts pairs of hash and node in memory, or in runs that a heap
// merges.
#include "engine/ingest/hash_sorter.h"

#include <algorithm>
#include <queue>
#include <span>
#include <utility>

#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{64} << 10;

}  // namespace

HashSorter::HashSorter(std::filesystem::path temp_dir, std::uint64_t memory_bytes)
    : temp_dir_(std::move(temp_dir)),
      most_pairs_(static_cast<std::size_t>(std::max(memory_bytes, kLeastBytes) / sizeof(Pair))) {}

void HashSorter::add(std::uint64_t hash, NodeId id) {
  if (pairs_.size() == most_pairs_) spill();
  // Growth by doubling would come to hold more than the bound.
  if (pairs_.size() == pairs_.capacity())
    pairs_.reserve(std::min(most_pairs_, std::max<std::size_t>(1024, 2 * pairs_.size())));
  pairs_.push_back({hash, id});
}

void HashSorter::sort() {
  parallel_sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return a < b; });
}

void HashSorter::spill() {
  sort();
  if (!spool_) spool_.emplace(temp_dir_);
  runs_.push_back({spool_->size(), pairs_.size()});
  spool_->append({reinterpret_cast<const char*>(pairs_.data()), pairs_.size() * sizeof(Pair)});
  pairs_.clear();
}

void HashSorter::drain(const std::function<void(std::uint64_t hash, NodeId id)>& use) {
  if (runs_.empty()) {
    sort();
    for (const Pair& one : pairs_) use(one.hash, static_cast<NodeId>(one.id));
    return;
  }
  if (!pairs_.empty()) spill();
  merge(use);
}

void HashSorter::merge(const std::function<void(std::uint64_t hash, NodeId id)>& use) {
  // Each run reads into its part of the memory.
  const std::size_t part = std::max<std::size_t>(1, most_pairs_ / runs_.size());
  pairs_.resize(part * runs_.size());
  struct Cursor {
    std::size_t next = 0, end = 0;
  };
  std::vector<Cursor> cursors(runs_.size());
  const auto fill = [&](std::size_t run) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(part, runs_[run].pairs));
    Pair* const to = pairs_.data() + run * part;
    spool_->read(runs_[run].offset, {reinterpret_cast<char*>(to), count * sizeof(Pair)});
    runs_[run].offset += count * sizeof(Pair);
    runs_[run].pairs -= count;
    cursors[run] = {run * part, run * part + count};
    return count > 0;
  };
  using Head = std::pair<Pair, std::size_t>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (std::size_t run = 0; run < runs_.size(); ++run)
    if (fill(run)) heads.emplace(pairs_[cursors[run].next], run);
  while (!heads.empty()) {
    const auto [least, run] = heads.top();
    heads.pop();
    use(least.hash, static_cast<NodeId>(least.id));
    if (++cursors[run].next < cursors[run].end || fill(run)) heads.emplace(pairs_[cursors[run].next], run);
  }
}

}  // namespace unweave
