// storage/input/features/replay_features.h - a feature matrix with columns more, which mark some of
// its rows: the data of a deleted data replay test.
//
// source   Cong and Mahdavi, GraphEditor, 2022; 100 binary features in Yi and Wei, ScaleGUN, ICLR
// 2025, appendix.
#pragma once

#include <memory>
#include <vector>

#include "storage/input/features/feature_reader.h"
#include "storage/io/types.h"

namespace unweave {

inline constexpr std::uint64_t kReplayColumns = 100;

/// The rows of `inner` with kReplayColumns columns more: 1 in the rows of `marked` (sorted), else
/// 0. Throws UsageError where there would be too many.
[[nodiscard]] std::unique_ptr<FeatureReader> mark_features(std::unique_ptr<FeatureReader> inner,
                                                           std::vector<NodeId> marked);

}  // namespace unweave
