// algorithms/maintenance/purge_plan.h - what a purge is going to write, before it begins.
#pragma once

#include <cstdint>

#include "algorithms/maintenance/purge.h"

namespace unweave {

class LiveStore;

/// Upper bounds, but for what codecs make of other lists.
struct PurgePlan {
  std::uint64_t written_bytes = 0;    ///< new files; the old ones are removed at the end
  std::uint64_t temporary_bytes = 0;  ///< unlinked files and the graph by ids, at a time, beside them
  bool computes_order = false;        ///< the bytes are for another order of nodes; an order that stays takes far less

  [[nodiscard]] std::uint64_t disk_bytes() const noexcept { return written_bytes + temporary_bytes; }
};

[[nodiscard]] PurgePlan plan_purge(const LiveStore& store, const PurgeOptions& options);

}  // namespace unweave
