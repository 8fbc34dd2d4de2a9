// algorithms/synthetic/class_features.cpp - computes rows of features from centroids and noise.
#include "algorithms/synthetic/class_features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "algorithms/random/counter_random.h"

namespace unweave {

ClassFeatures::ClassFeatures(std::uint32_t columns, std::uint32_t classes, std::uint64_t seed)
    : columns_(columns), noise_key_(random_key(seed, 3)), centroids_(std::size_t{columns} * classes) {
  // Two independent centroids whose entries have variance s^2 lie s * sqrt(2 columns) apart.
  const double scale = kSeparation / std::sqrt(2.0 * columns);
  const std::uint64_t key = random_key(seed, 4);
  for (std::size_t i = 0; i < centroids_.size(); ++i) centroids_[i] = scale * bits_to_deviate(random_bits(key, i));
}

void ClassFeatures::fill(NodeId node, std::int32_t label, std::span<double> row) const noexcept {
  const std::uint64_t key = random_bits(noise_key_, node);
  for (std::size_t c = 0; c < columns_; ++c) row[c] = bits_to_deviate(random_bits(key, c));
  if (centroids_.empty()) return;
  const double* centroid = centroids_.data() + static_cast<std::size_t>(label) * columns_;
  std::transform(row.begin(), row.end(), centroid, row.begin(), [](double x, double c) { return x + c; });
}

}  // namespace unweave
