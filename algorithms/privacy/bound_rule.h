// algorithms/privacy/bound_rule.h - whether a bound is that of a paper as printed, or one that
// holds.
#pragma once

namespace unweave {

enum class BoundRule {
  kCorrected,  ///< bounds that hold, joint over the classes: sqrt(sum of squares) against the budget
  kPaper,      ///< bounds as printed, class sum against classes * budget; never certified
};

}  // namespace unweave
