// algorithms/live/store_reader.h - an open store that is looked at, beside any other process.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "algorithms/live/live_store.h"

namespace unweave {

class StoreReader final : public LiveStore {
 public:
  /// Throws DataError, FormatError.
  StoreReader(std::filesystem::path store, MemoryBudget& budget)
      : LiveStore(std::move(store), Access::read, std::nullopt, nullptr, budget) {}

  /// Applies requests in exact mode, stale rows published first, as a replay of the journal would:
  /// this object alone knows of it, no file does.
  UpdateReport rehearse(std::span<const Request> requests);
};

}  // namespace unweave
