// algorithms/evaluation/audit_result.h - what an audit found, beside what the certificates claim.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algorithms/evaluation/distinguisher.h"

namespace unweave {

struct AuditResult {
  bool certified = false;            ///< whether every unlearned release was certified
  std::optional<std::string> claim;  ///< what the last release claims
  double epsilon = 0;
  double delta = 0;
  std::string_view attack;  ///< the statistic that separated best
  Evidence evidence;
  std::optional<CoinGuesses> guesses;  ///< given by an audit in one run, which makes no other trials
  /// The lower bound that as many trials give where the two never agree, or as many guesses where all are right; infinite where
  /// bits are compared.
  double most = 0;

  [[nodiscard]] bool refuted() const noexcept { return certified && evidence.epsilon > epsilon; }
};

}  // namespace unweave
