// algorithms/learning/network_directions.h - many vectors of parameters side by side, as products
// with all of them at once take them.
#pragma once

#include <span>
#include <vector>

#include "algorithms/learning/network.h"

namespace unweave {

class HessianSums;

/// Column k * outputs + j of a layer's matrix belongs to output j of direction k.
class NetworkDirections {
 public:
  /// `count` directions of zeros. `network` must outlive them.
  NetworkDirections(const Network& network, std::size_t count);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const Matrix& layer(std::size_t l) const noexcept { return layers_[l]; }  ///< rows() x (count outputs)
  /// outputs x (count inputs), without the bias; of the first layer behind a filter alone.
  [[nodiscard]] const Matrix& transposed(std::size_t l) const noexcept { return transposed_[l]; }
  [[nodiscard]] const Matrix& filter() const noexcept { return filter_; }  ///< count x blocks

  /// Direction k, network.size() numbers.
  [[nodiscard]] Vector get(std::size_t k) const;
  /// Adds `values`, network.size() numbers, to direction k.
  void add(std::size_t k, std::span<const double> values);
  /// Direction k becomes decays[k] times itself less `share` times sum k.
  void descend(std::span<const double> decays, double share, const HessianSums& sums);

 private:
  const Network* network_;
  std::size_t count_;
  std::vector<Matrix> layers_;
  std::vector<Matrix> transposed_;
  Matrix filter_;
};

/// Sums of Hessian products, one for each direction. Copyable from zero and with += for sweeps
/// (row_sweep.h).
class HessianSums {
 public:
  HessianSums(const Network& network, std::size_t count);
  HessianSums& operator+=(const HessianSums& other);

  void clear();
  /// Sum k, network.size() numbers.
  [[nodiscard]] Vector get(std::size_t k) const;

 private:
  friend class NetworkDirections;
  friend class NetworkPass;

  const Network* network_;
  std::vector<Matrix> layers_;  // as NetworkDirections::layer()
  std::vector<Matrix>
      stacked_;    // (count inputs) x outputs: what reaches a layer by its inputs; the first's by a filter
  Matrix filter_;  // count x blocks
};

}  // namespace unweave
