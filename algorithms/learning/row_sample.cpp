// algorithms/learning/row_sample.cpp - rows of a sample that lie on other ranks, and the Gram
// matrix of a sample.
#include "algorithms/learning/row_sample.h"

#include <span>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

RowSample::RowSample(const Rows& all, std::size_t most) : all_(all), count_(std::min(all.count, most)) {
  if (over_ranks() && count_ < all_.count) copy_rows_of_others();
}

void RowSample::copy_rows_of_others() {
  Ranks& ranks = *all_.ranks;
  const std::size_t features = all_.features;
  const auto held_by = [&](std::size_t rank) -> RankShare {
    const RankShare rows = own_rows(all_.count, rank, ranks.size());
    return {first_from(rows.begin), first_from(rows.end)};
  };
  own_ = held_by(ranks.rank());
  first_ = own_rows(count_, ranks.rank(), ranks.size()).begin;
  // Each pair of ranks of which one holds what the other one needs; seldom others than neighbours.
  for (std::size_t holder = 0; holder < ranks.size(); ++holder)
    for (std::size_t reader = 0; reader < ranks.size(); ++reader) {
      if (reader == holder) continue;
      const RankShare held = held_by(holder), needed = own_rows(count_, reader, ranks.size());
      const std::size_t begin = std::max(held.begin, needed.begin), end = std::min(held.end, needed.end);
      if (begin >= end) continue;
      std::vector<float> rows((end - begin) * features);
      if (ranks.rank() == holder)
        for (std::size_t k = begin; k < end; ++k) std::copy_n(row(k), features, rows.data() + (k - begin) * features);
      ranks.broadcast(std::as_writable_bytes(std::span(rows)), holder);
      if (ranks.rank() != reader) continue;
      std::vector<float>& to = holder < reader ? before_ : behind_;
      to.insert(to.end(), rows.begin(), rows.end());
    }
}

const float* RowSample::here(std::size_t k) const noexcept {
  if (!over_ranks() || (k >= own_.begin && k < own_.end)) return row(k);
  if (k < own_.begin) return before_.data() + (k - first_) * all_.features;
  return behind_.data() + (k - std::max(first_, own_.end)) * all_.features;
}

void RowSample::share(float* values, std::size_t width) const {
  if (!over_ranks()) return;
  Ranks& ranks = *all_.ranks;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankShare rows = own_rows(count_, r, ranks.size());
    if (rows.begin == rows.end) continue;
    ranks.broadcast(std::as_writable_bytes(std::span(values + rows.begin * width, (rows.end - rows.begin) * width)), r);
  }
}

Eigen::MatrixXd gram_of(const RowSample& sample) {
  const std::size_t features = sample.features();
  const FloatMatrix zero = FloatMatrix::Zero(index_of(features), index_of(features));
  const FloatMatrix gram =
      sample.sweep(zero, [&](const float* block, std::size_t, std::size_t count, FloatMatrix& part) {
        add_gram(block, part.data(), count, features);
      });
  return sample.spread() * gram.cast<double>();
}

}  // namespace unweave
