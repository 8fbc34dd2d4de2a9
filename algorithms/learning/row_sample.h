// algorithms/learning/row_sample.h - a few of many rows, which do for a preconditioner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {

inline constexpr std::size_t kSampledRows = 32768;  ///< rows that a matrix for all classes is made of

/// Evenly spread rows, read where they lie. A preconditioner needs a few hundred rows a feature, no more.
class RowSample {
 public:
  RowSample(const Rows& all, std::size_t most) : all_(all), count_(std::min(all.count, most)) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t features() const noexcept { return all_.features; }
  [[nodiscard]] const float* row(std::size_t k) const noexcept { return all_.values + place(k) * all_.features; }
  [[nodiscard]] double norm(std::size_t k) const noexcept { return all_.norms[place(k)]; }
  /// Rows for each one of the sample.
  [[nodiscard]] double spread() const noexcept {
    return count_ == 0 ? 1 : static_cast<double>(all_.count) / static_cast<double>(count_);
  }

  /// As sweep_rows(), over the sample.
  template <class Part, class Body>
  [[nodiscard]] Part sweep(const Part& zero, const Body& body) const {
    if (count_ == all_.count) return sweep_rows<float>(all_, zero, body);
    const auto load = [&](std::size_t first, std::size_t count) -> const float* {
      float* const copy = block_buffer<float, BlockUse::rows>(count * all_.features);
      for (std::size_t k = 0; k < count; ++k) std::copy_n(row(first + k), all_.features, copy + k * all_.features);
      return copy;
    };
    return sweep_blocks<float>(count_, all_.features, zero, load, body);
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t k) const noexcept { return k * all_.count / count_; }

  Rows all_;
  std::size_t count_;
};

/// The lower triangle of Z^T Z, F x F.
[[nodiscard]] Eigen::MatrixXd gram_of(const RowSample& sample);

}  // namespace unweave
