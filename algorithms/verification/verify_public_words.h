// algorithms/verification/verify_public_words.h - what a certified line says in words, which
// follows from its theorem and its public numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace unweave {

/// Checks mechanism, reference, adjacency, requests, releases and not_covered of a line that is
/// certified in public: who has a key of their own can sign any words, and a theorem stands behind
/// these alone. Throws CheckError, UsageError, nlohmann::json::exception.
void check_public_words(const nlohmann::ordered_json& line);

/// Checks which releases a line says to withdraw: ids alone, the last of them that of the release
/// before it in its log, which `before` has, empty for the first line. Throws CheckError,
/// nlohmann::json::exception.
void check_withdrawn(const nlohmann::ordered_json& line, std::string_view before);

}  // namespace unweave
