// algorithms/learning/row_sample.h - a few of many rows, which do for a preconditioner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"

namespace unweave {

inline constexpr std::size_t kSampledRows = 32768;  ///< rows that a matrix for all classes is made of

/// Evenly spread rows, read where they lie. A preconditioner needs a few hundred rows a feature, no
/// more. Lanes of a sample end elsewhere than those of all rows: where ranks share these, each of
/// them copies the few rows of its lanes of the sample that lie on others. Then all ranks must make
/// a sample, and go over it, together.
class RowSample {
 public:
  RowSample(const Rows& all, std::size_t most);

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t features() const noexcept { return all_.features; }
  /// Where all rows lie here.
  [[nodiscard]] const float* row(std::size_t k) const noexcept { return all_.row(place(k)); }
  [[nodiscard]] double norm(std::size_t k) const noexcept { return all_.norms[place(k)]; }
  /// Rows for each one of the sample.
  [[nodiscard]] double spread() const noexcept {
    return count_ == 0 ? 1 : static_cast<double>(all_.count) / static_cast<double>(count_);
  }
  [[nodiscard]] bool over_ranks() const noexcept { return all_.ranks != nullptr; }

  /// As sweep_rows(), over the sample.
  template <class Part, class Body>
  [[nodiscard]] Part sweep(const Part& zero, const Body& body) const {
    if (count_ == all_.count) return sweep_rows<float>(all_, zero, body);
    const auto load = [&](std::size_t first, std::size_t count) -> const float* {
      float* const copy = block_buffer<float, BlockUse::rows>(count * all_.features);
      for (std::size_t k = 0; k < count; ++k) std::copy_n(here(first + k), all_.features, copy + k * all_.features);
      return copy;
    };
    return sweep_blocks<float>(count_, all_.features, zero, load, body, all_.ranks);
  }

  /// After a sweep that wrote `width` numbers for each row that it met to `values`, size() x width:
  /// all ranks get all of them.
  void share(float* values, std::size_t width) const;

 private:
  [[nodiscard]] std::size_t place(std::size_t k) const noexcept { return k * all_.count / count_; }
  /// The first row of the sample that is the row `place` or behind it.
  [[nodiscard]] std::size_t first_from(std::size_t place) const noexcept {
    return (place * count_ + all_.count - 1) / all_.count;
  }
  [[nodiscard]] const float* here(std::size_t k) const noexcept;
  void copy_rows_of_others();

  Rows all_;
  std::size_t count_;
  std::vector<float> before_,
      behind_;             // copies of what others hold of this rank's lanes, before its own rows and behind
  std::size_t first_ = 0;  // row of the sample that before_ begins with
  RankShare own_;          // rows of the sample that lie here
};

/// The lower triangle of Z^T Z, F x F.
[[nodiscard]] Eigen::MatrixXd gram_of(const RowSample& sample);

}  // namespace unweave
