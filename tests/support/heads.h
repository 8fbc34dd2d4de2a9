// tests/support/heads.h - the heads of each kind, and derivatives of one margin under a one-vs-rest
// head.
#pragma once

#include <vector>

#include "algorithms/learning/head.h"

namespace unweave::testing {

inline std::vector<Head> heads_that_couple(bool coupled) {
  std::vector<Head> heads;
  for (const Head head : kHeads)
    if (couples_classes(head) == coupled) heads.push_back(head);
  return heads;
}

/// From a row of two classes, of which the first is the row's own where the target is 1.
inline Pointwise derivatives(Head head, double margin, double target) {
  double slopes[] = {margin, margin}, curvatures[] = {margin, margin};
  slopes_in_place(head, slopes, 2, target > 0 ? 0 : 1);
  curvatures_in_place(head, curvatures, 1, 2);
  return {slopes[0], curvatures[0]};
}

}  // namespace unweave::testing
