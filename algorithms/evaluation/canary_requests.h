// algorithms/evaluation/canary_requests.h - removals that an audit tries to find in releases.
#pragma once

#include <string>
#include <vector>

#include "storage/formats/journal.h"

namespace unweave {

/// A canary before it is tried.
struct CanaryRequests {
  std::string name;
  std::vector<Request> requests;
};

}  // namespace unweave
