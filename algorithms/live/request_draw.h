// algorithms/live/request_draw.h - requests drawn from what a store holds, as papers on unlearning
// draw them.
//
// source   Yi and Wei, ScaleGUN, ICLR 2025, appendix: adversarial and vulnerable edges.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/live/reports.h"
#include "storage/types/request.h"

namespace unweave {

class LiveStore;

/// `count` requests in the user's ids, in random order, none twice, uniformly but for vulnerable
/// edges; a function of the options and of what the store holds in the order of its nodes. Throws
/// UsageError when there are not so many, FormatError.
[[nodiscard]] std::vector<Request> draw_requests(const LiveStore& store, const DrawOptions& options);

}  // namespace unweave
