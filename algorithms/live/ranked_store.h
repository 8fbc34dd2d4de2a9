// algorithms/live/ranked_store.h - the columns of a store that a rank behind rank 0 holds.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "algorithms/live/live_store.h"

namespace unweave {

class RankedStore final : public LiveStore {
 public:
  /// Opens the columns of a rank but for rank 0, which opens the store as its StoreWriter
  /// meanwhile. Throws as that.
  RankedStore(std::filesystem::path store, Ranks& ranks, MemoryBudget& budget)
      : LiveStore(std::move(store), Access::read, std::nullopt, &ranks, budget) {}

  /// Does what rank 0 does, until that calls StoreWriter::dismiss_ranks().
  void follow();

 private:
  void follow_batch(const RankOrder& order);
};

}  // namespace unweave
