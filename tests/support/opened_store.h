// tests/support/opened_store.h - a store that is opened as a table of a test says.
#pragma once

#include <filesystem>
#include <memory>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"

namespace unweave::testing {

/// Throws as the constructors of the two do.
inline std::unique_ptr<LiveStore> opened_store(const std::filesystem::path& path, Access access, MemoryBudget& budget) {
  if (access == Access::read) return std::make_unique<StoreReader>(path, budget);
  return std::make_unique<StoreWriter>(path, budget);
}

}  // namespace unweave::testing
