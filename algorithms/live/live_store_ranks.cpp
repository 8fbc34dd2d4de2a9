// algorithms/live/live_store_ranks.cpp - a live store whose columns are held by the ranks of a job.
//
// Rank 0 has the journal and writes generations; all ranks have the contents, and change them by
// the same requests. Before a batch is appended every rank has made room for it: what fails by then
// is not acknowledged. What fails afterwards leaves an acknowledged batch in the journal, as a
// crash does.
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/rank_orders.h"
#include "engine/resources/memory_shares.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
void LiveStore::require_exact(double r_max) const {
  if (ranks_ == nullptr || !(r_max > 0)) return;
  throw UsageError(path_.string() + ": " + option("r-max") +
                   ": batches of several ranks are exact; stream lazy ones by one process");
}

void LiveStore::require_ranks() const {
  require_to_stream(path_, manifest_, ranks_->size());
}

void require_to_stream(const std::filesystem::path& store, const Manifest& manifest, std::size_t size) {
  if (!manifest.propagation || !manifest.propagation->kept.has_sums()) return;
  const std::string ranks = std::to_string(size) + " ranks";
  if (size > manifest.features)
    throw UsageError(store.string() + ": has " + std::to_string(manifest.features) + " columns, too few for " + ranks);
  for (const LevelFiles& files : manifest.levels)
    if (files.stale)
      throw UsageError(store.string() + ": a lazy stream has left residues unpublished, which " + ranks +
                       " do not follow; stream one exact batch by one process first");
}

void LiveStore::tell(RankOrder order) {
  order.plan = plan_;
  tell_order(*ranks_, order);
}

/// Tells rank 0 that the work of all is done, what it has cost, and whose memory is full.
void LiveStore::meet_after_work() {
  RankWord mine{false, changes_memory_.bytes() > memory_shares::kChangedLists.of(budget_), ranks_->traffic()};
  if (embedding_) {
    changed_rows_.charge(*embedding_);
    mine.rows_full = changed_rows_.bytes() > ChangedRows::most_bytes(budget_);
  }
  rows_full_ = lists_full_ = false;
  traffic_ = {};
  for (const RankWord& word : gather_values(mine, *ranks_)) {
    rows_full_ |= word.rows_full;
    lists_full_ |= word.lists_full;
    add_traffic(word.traffic, traffic_);
  }
}

void LiveStore::drop_own_files() const {
  // They stay open as long as they are needed.
  if (own_folder_) drop_tree(own_folder_->path() / "state");
}

}  // namespace unweave
