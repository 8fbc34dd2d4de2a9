// algorithms/verification/verify_public_terms.h - what the numbers of a public line say of each
// other: all that an auditor can compute who has neither data nor model.
#pragma once

#include <nlohmann/json.hpp>

namespace unweave {

/// Checks a line that is certified in public. T1 follows whole from its constants. T2 and T4 are
/// checked as far as the loss and the run give them (smoothness, convexity, slopes, batches), and
/// so are T4's noise and budget. How many epochs a request needed is private, and so is whether T3
/// certifies. Throws CheckError for a number that does not follow and for a theorem that is not the
/// solver's, nlohmann::json::exception where one is missing, UsageError.
void check_public_terms(const nlohmann::ordered_json& line);

}  // namespace unweave
