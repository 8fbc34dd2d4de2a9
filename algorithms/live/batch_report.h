// algorithms/live/batch_report.h - how a batch of requests is applied to an open store, and what became of it.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/updates/requests.h"
#include "algorithms/updates/update_report.h"
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

}  // namespace unweave
