// algorithms/evaluation/canary_requests.h - removals that an audit tries to find in releases.
#pragma once

#include <string>
#include <vector>

#include "storage/types/request.h"

namespace unweave {

/// A canary before it is tried.
struct CanaryRequests {
  std::string name;
  std::vector<Request> requests;
};

}  // namespace unweave
