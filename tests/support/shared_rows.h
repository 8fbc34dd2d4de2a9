// tests/support/shared_rows.h - training rows that the ranks of a test share.
#pragma once

#include <vector>

#include "algorithms/learning/training_set.h"
#include "engine/ranks/ranks.h"

namespace unweave::testing {

/// The rows of a set as one rank has them.
inline TrainingSet shared_among(Ranks& ranks, const TrainingSet& whole) {
  TrainingSet set(whole.features(), whole.classes(), whole.form());
  set.share_among(ranks, whole.nodes(), whole.labels());
  for (std::size_t i = set.own().begin; i < set.own().end; ++i) {
    std::vector<float> row(whole.row(i).begin(), whole.row(i).end());
    set.append_own(row);
  }
  set.share_norms();
  return set;
}

}  // namespace unweave::testing
