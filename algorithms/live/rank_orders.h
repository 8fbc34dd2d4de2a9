// algorithms/live/rank_orders.h - what rank 0 of a job tells the other ranks to do with their
// columns of a live store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "algorithms/updates/update_report.h"
#include "engine/ranks/ranks.h"
#include "storage/types/request.h"

namespace unweave {

struct Manifest;

struct RankOrder {
  enum class Step : std::uint8_t { end, deliver, batch, save, save_rows, save_rows_and_graph };
  Step step = Step::end;
  bool defer = false;  ///< a batch may put the last level off
  Plan plan = Plan::automatic;
  std::vector<Request> requests{};  ///< those of a batch
  std::vector<bool> known{};        ///< one a request: whether an earlier one has its id
};

/// What a rank says of an order when it has done its part.
struct RankWord {
  bool rows_full = false, lists_full = false;  ///< its memory for changed rows, and for changed lists
  RankTraffic traffic;
};

/// Sends an order; rank 0 calls it, and the others hear_order(), which waits for it. Both throw
/// what another rank has failed with.
void tell_order(Ranks& ranks, const RankOrder& order);
[[nodiscard]] RankOrder hear_order(Ranks& ranks);

/// Throws UsageError where so many ranks cannot hold the columns of this store while it is
/// streamed.
void require_to_stream(const std::filesystem::path& store, const Manifest& manifest, std::size_t ranks);

}  // namespace unweave
