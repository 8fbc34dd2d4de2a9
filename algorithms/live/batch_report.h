// algorithms/live/batch_report.h - how a batch of requests is applied to an open store, what became
// of it, and why there may be no room for it.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/updates/batch_changes.h"
#include "algorithms/updates/update_report.h"
#include "storage/io/error.h"
#include "storage/io/time_text.h"
#include "storage/types/request.h"

namespace unweave {

/// How a batch is propagated.
struct StreamMode {
  double r_max = 0;  ///< 0: exact
  ThresholdScale scale = ThresholdScale::absolute;

  friend bool operator==(const StreamMode&, const StreamMode&) = default;
};

/// Throws UsageError for a threshold that is no number of at least 0.
void require_mode(const StreamMode& mode);

struct BatchReport {
  BatchChanges changes;
  UpdateReport update;
  std::uint64_t last_request = 0;
  Millis time = 0;            ///< when the batch became durable, or the last request of it
  std::vector<Millis> times;  ///< when each request did; empty: all at once
  double seconds_journal = 0;
  double seconds_propagate = 0;
};

/// There is no room for requests now: nothing of them was acknowledged, and they may be sent again
/// later.
struct NoRoomError : ResourceError {
  using ResourceError::ResourceError;
};
/// What is kept of requests fills its share of the memory, ids or edges that expire: that ends by
/// no waiting.
struct FullError final : NoRoomError {
  using NoRoomError::NoRoomError;
};
/// There never is within this memory.
struct TooLargeError final : NoRoomError {
  using NoRoomError::NoRoomError;
};

}  // namespace unweave
