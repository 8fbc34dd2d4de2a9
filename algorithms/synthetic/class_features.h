// algorithms/synthetic/class_features.h - synthetic features that carry a class: a centroid for
// each class, plus noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

/// x_j(u) = c_j(class of u) + n_j(u), with noise of variance 1 and centroids so near each other
/// (expected distance kSeparation, whatever the number of columns) that one row alone tells its
/// class badly and the mean of a few neighbours well. A function of (seed, node, class): any row on
/// any thread.
class ClassFeatures {
 public:
  static constexpr double kSeparation = 2.0;

  /// Without classes (0) features are noise alone.
  ClassFeatures(std::uint32_t columns, std::uint32_t classes, std::uint64_t seed);

  /// The features of a node; `label` is below classes. `row` has as many places as there are
  /// columns.
  void fill(NodeId node, std::int32_t label, std::span<double> row) const noexcept;

 private:
  std::size_t columns_;
  std::uint64_t noise_key_;
  std::vector<double> centroids_;  // classes x columns
};

}  // namespace unweave
