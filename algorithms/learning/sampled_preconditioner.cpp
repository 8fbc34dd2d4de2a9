// algorithms/learning/sampled_preconditioner.cpp - the inverse of each class's own Hessian on rows
// picked for it.
#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "algorithms/learning/preconditioner.h"
#include "algorithms/learning/rank_passes.h"
#include "algorithms/learning/row_sample.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/random/counter_random.h"
#include "engine/ranks/planned_ranks.h"

namespace unweave {
namespace {

constexpr std::size_t kClassesAtOnce = 32;  // classes whose curvatures on these are held
constexpr std::size_t kPicksAtOnce = 1024;  // picks copied for one product
constexpr double kAlike = 1.0 / 8;          // share of curvature that may differ from the mean, for that to be believed
constexpr std::size_t kBasisRows = 8192;    // rows of which directions are found

/// An orthonormal basis of the columns. By Cholesky factors of their products, twice for the sake
/// of rounding, which costs a tenth of reflections; by these where columns are nearly dependent.
Matrix orthonormal(Matrix columns) {
  constexpr double kLeastPivot = 1e-12;
  const std::size_t rows = size_of(columns.rows()), count = size_of(columns.cols());
  const Matrix given = columns;
  for (int round = 0; round < 2; ++round) {
    const Vector sizes = columns.colwise().norm();
    if (!(sizes.minCoeff() > 0)) break;
    columns.array().rowwise() /= sizes.transpose().array();
    Matrix products(columns.cols(), columns.cols());
    multiply_transposed(columns.data(), columns.data(), products.data(), count, rows, count, false);
    const Eigen::LLT<Eigen::MatrixXd> factor(products);
    if (factor.info() != Eigen::Success || factor.matrixLLT().diagonal().cwiseAbs2().minCoeff() < kLeastPivot) break;
    factor.matrixU().solveInPlace<Eigen::OnTheRight>(columns);
    if (round == 1) return columns;
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> factors(given);
  return factors.householderQ() * Eigen::MatrixXd::Identity(given.rows(), given.cols());
}

/// An orthonormal basis, F x count, of about the strongest directions of the rows: two steps of
/// subspace iteration. They need not be exact.
Matrix strong_directions(const RowSample& sample, std::size_t count) {
  const std::size_t features = sample.features();
  const FloatMatrix zero = FloatMatrix::Zero(index_of(features), index_of(count));
  const std::uint64_t key = random_key(0xba515, features);
  Matrix basis(index_of(features), index_of(count));
  for (Eigen::Index k = 0; k < basis.size(); ++k)
    basis.data()[k] = bits_to_deviate(random_bits(key, static_cast<std::uint64_t>(k)));
  for (int step = 0; step < 2; ++step) {
    const FloatMatrix narrow = basis.cast<float>();
    const FloatMatrix image =
        sample.sweep(zero, [&](const float* block, std::size_t, std::size_t rows, FloatMatrix& part) {
          float* const coordinates = block_buffer<float, BlockUse::product>(rows * count);
          multiply(block, narrow.data(), coordinates, rows, features, count, false);
          multiply_transposed(block, coordinates, part.data(), features, rows, count, true);
        });
    basis = orthonormal(image.cast<double>());
  }
  return basis;
}

/// Rows for the Z^T Z of a sampled preconditioner: as many as cost half a Hessian product, but
/// enough.
std::size_t rows_of_gram(const Rows& rows, std::size_t classes) {
  return std::max(kSampledRows, 2 * classes * rows.count / rows.features);
}

/// Per class, (sum over picked rows + mu I)^-1 on the span of a basis, beside it the inverse of the
/// mean curvature that is left there. Rows are picked in proportion to their share s_ic |z_i|^2 of
/// the class's curvature, at even steps along its running sum, so that the few rows near a class's
/// border are not missed. Where curvatures vary little, the mean times Z^T Z is taken and only the
/// rest is sampled; where they vary much, small ones would drown in the rest.
class SampledPreconditioner final : public Preconditioner {
 public:
  SampledPreconditioner(const HessianOperator& hessian, const SampledForm& form)
      : form_(form),
        factors_(hessian.objective().classes),
        beside_(Vector::Ones(index_of(hessian.objective().classes))) {
    const Rows& rows = hessian.objective().rows;
    if (form.directions < rows.features)
      basis_ = strong_directions(RowSample(rows, kBasisRows), form.directions);
    else if (rows.count > 0)
      gram_ = gram_of(RowSample(rows, rows_of_gram(rows, factors_.size())));
    SampledPreconditioner::refresh(hessian);
  }

  void refresh(const HessianOperator& hessian) override {
    // Rows that ranks share stay where they are; others may lie elsewhere now.
    if (!sample_ || !sample_->over_ranks()) sample_.emplace(hessian.objective().rows, form_.picked_from);
    FloatMatrix made;
    if (!sample_->over_ranks())
      made = coordinates_of(*sample_);
    else if (shared_coordinates_.size() == 0)
      shared_coordinates_ = coordinates_of(*sample_);
    const FloatMatrix& coordinates = sample_->over_ranks() ? shared_coordinates_ : made;
    std::vector<float> curvatures;
    for (std::size_t first = 0; first < factors_.size(); first += kClassesAtOnce) {
      std::vector<std::size_t> classes(std::min(kClassesAtOnce, factors_.size() - first));
      std::iota(classes.begin(), classes.end(), first);
      fill_curvatures(hessian, *sample_, classes, curvatures);
      Ranks* const ranks = hessian.objective().rows.ranks;
      const RankShare own =
          ranks == nullptr ? RankShare{0, classes.size()} : share_of(classes.size(), ranks->rank(), ranks->size());
      parallel_ranges(own.begin, own.end, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j)
          invert(*sample_, coordinates, curvatures.data() + j, classes.size(), hessian.objective().mu, first + j);
      });
      if (ranks != nullptr) share_factors(*ranks, first, classes.size());
    }
  }

  /// What a rank tells of a class that it has inverted: the factor's lower triangle, and what
  /// stands beside the basis.
  [[nodiscard]] static std::size_t told_values(std::size_t directions) noexcept {
    return directions * (directions + 1) / 2 + 1;
  }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    if (whole()) return solve(residual, classes);
    const std::size_t features = size_of(basis_.rows()), directions = size_of(basis_.cols()), width = classes.size();
    Matrix inside(index_of(directions), residual.cols()), out = residual;
    multiply_transposed(basis_.data(), residual.data(), inside.data(), directions, features, width, false);
    Matrix solved = solve(inside, classes);
    for (std::size_t j = 0; j < width; ++j) {
      const double beside = beside_[index_of(classes[j])];
      out.col(index_of(j)) /= beside;
      solved.col(index_of(j)) -= inside.col(index_of(j)) / beside;
    }
    multiply(basis_.data(), solved.data(), out.data(), features, directions, width, true);
    return out;
  }

 private:
  [[nodiscard]] bool whole() const noexcept { return basis_.size() == 0; }

  [[nodiscard]] Matrix solve(const Matrix& right, std::span<const std::size_t> classes) const {
    Matrix out(right.rows(), right.cols());
    parallel_ranges(0, classes.size(), 4, [&](std::size_t first, std::size_t last) {
      for (std::size_t j = first; j < last; ++j) {
        Vector column = right.col(index_of(j));
        const auto lower = factors_[classes[j]].triangularView<Eigen::Lower>();
        lower.solveInPlace(column);
        lower.transpose().solveInPlace(column);
        out.col(index_of(j)) = column;
      }
    });
    return out;
  }

  /// Each rank has inverted its share of the classes [first, first + count), whose factors the
  /// others get: they have the same bits wherever they are made.
  void share_factors(Ranks& ranks, std::size_t first, std::size_t count) {
    const Eigen::Index directions = basis_.size() == 0 ? index_of(sample_->features()) : basis_.cols();
    std::vector<double> told(told_values(size_of(directions)));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const RankShare own = share_of(count, rank, ranks.size());
      for (std::size_t c = first + own.begin; c < first + own.end; ++c) {
        Eigen::MatrixXd& factor = factors_[c];
        const bool is_own = rank == ranks.rank();
        if (!is_own) factor.setZero(directions, directions);
        double* at = told.data();
        if (is_own) {
          for (Eigen::Index j = 0; j < directions; ++j) at = std::copy_n(factor.col(j).data() + j, directions - j, at);
          *at = beside_[index_of(c)];
        }
        ranks.broadcast(std::as_writable_bytes(std::span(told)), rank);
        if (is_own) continue;
        for (Eigen::Index j = 0; j < directions; ++j, at += directions - j + 1)
          std::copy_n(at, directions - j, factor.col(j).data() + j);
        beside_[index_of(c)] = *at;
      }
    }
  }

  /// By the basis, which may be the axes; empty where these are the rows as they lie here.
  [[nodiscard]] FloatMatrix coordinates_of(const RowSample& sample) const {
    if (whole() && !sample.over_ranks()) return {};
    const FloatMatrix narrow = basis_.cast<float>();
    const std::size_t directions = whole() ? sample.features() : size_of(basis_.cols());
    FloatMatrix out(index_of(sample.size()), index_of(directions));
    static_cast<void>(sample.sweep(NoSum(), [&](const float* block, std::size_t first, std::size_t count, NoSum&) {
      float* const to = out.data() + first * directions;
      if (whole())
        std::copy_n(block, count * directions, to);
      else
        multiply(block, narrow.data(), to, count, sample.features(), directions, false);
    }));
    sample.share(out.data(), directions);
    return out;
  }

  static void fill_curvatures(const HessianOperator& hessian, const RowSample& sample,
                              std::span<const std::size_t> classes, std::vector<float>& out) {
    const std::size_t width = classes.size();
    out.resize(sample.size() * width);
    static_cast<void>(sample.sweep(NoSum(), [&](const float* block, std::size_t first, std::size_t count, NoSum&) {
      float* const curvatures = block_buffer<float, BlockUse::curvatures>(count * width + kSlopeSlack);
      hessian.curvatures(block, count, classes, curvatures);
      std::copy_n(curvatures, count * width, out.data() + first * width);
    }));
    sample.share(out.data(), width);
  }

  /// Inverts the Hessian of class c, whose curvatures lie `stride` apart.
  void invert(const RowSample& sample, const FloatMatrix& coordinates, const float* curvatures, std::size_t stride,
              double mu, std::size_t c) {
    Shares shares(sample.size());
    double weight = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double square = sample.norm(i) * sample.norm(i);
      shares[i] = static_cast<double>(curvatures[i * stride]) * square;
      weight += square;
    }
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (gram_.size() > 0 && weight > 0) {  // what all rows have in common need not be sampled
      const double mean = total / weight;
      Shares apart = shares;
      double left = 0;
      for (std::size_t i = 0; i < apart.size(); ++i) {
        apart[i] -= mean * sample.norm(i) * sample.norm(i);
        left += std::abs(apart[i]);
      }
      if (left < kAlike * total) {
        Eigen::MatrixXd matrix = mean * gram_ + sum_of_picks(sample, coordinates, apart, left);
        const double least = least_pivot(matrix);
        matrix.diagonal().array() += mu;
        if (factorised(matrix, least, factors_[c])) return;
      }
    }
    const Eigen::MatrixXd matrix = sum_of_picks(sample, coordinates, shares, total);
    if (!whole()) {
      const double left = std::max(0.0, total * sample.spread() - matrix.trace());
      beside_[index_of(c)] = mu + left / static_cast<double>(basis_.rows() - basis_.cols());
    }
    factorise(matrix, mu, factors_[c]);
  }

  using Shares = std::vector<double>;

  /// Sum of share_i z_i z_i^T / |z_i|^2 over all rows, from picks; `total` is the sum of |share_i|.
  [[nodiscard]] Eigen::MatrixXd sum_of_picks(const RowSample& sample, const FloatMatrix& coordinates,
                                             const Shares& shares, double total) const {
    const bool as_they_lie = coordinates.size() == 0;
    const std::size_t width = as_they_lie ? sample.features() : size_of(coordinates.cols());
    const double step = total / static_cast<double>(form_.picks);
    struct Picked {
      float* rows;
      std::size_t count = 0;
      FloatMatrix gram{};  // empty: nothing was picked
    };
    // With positive shares and with negative ones.
    Picked both[2] = {{block_buffer<float, BlockUse::rows>(kPicksAtOnce * width)},
                      {block_buffer<float, BlockUse::squares>(kPicksAtOnce * width)}};
    const auto add = [&](Picked& picked) {
      if (picked.count == 0) return;
      if (picked.gram.size() == 0) picked.gram = FloatMatrix::Zero(index_of(width), index_of(width));
      add_gram(picked.rows, picked.gram.data(), picked.count, width);
      picked.count = 0;
    };
    double sum = 0, next = step / 2;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double share = std::abs(shares[i]);
      sum += share;
      if (!(sum > next) || !(share > 0)) continue;  // `next` may round to below a sum that no longer grows
      const double times = std::ceil((sum - next) / step);
      next += times * step;
      const auto scale = static_cast<float>(std::sqrt(times * step * sample.spread()) / sample.norm(i));
      const float* row = as_they_lie ? sample.row(i) : coordinates.data() + i * width;
      Picked& picked = both[shares[i] > 0 ? 0 : 1];
      float* const to = picked.rows + picked.count * width;
      for (std::size_t f = 0; f < width; ++f) to[f] = scale * row[f];
      if (++picked.count == kPicksAtOnce) add(picked);
    }
    for (Picked& picked : both) add(picked);
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(index_of(width), index_of(width));
    if (both[0].gram.size() > 0) out += both[0].gram.cast<double>();
    if (both[1].gram.size() > 0) out -= both[1].gram.cast<double>();
    return out;
  }

  /// Float32 sums leave eigenvalues around 0 where mu is small; pivots of that size say nothing.
  static double least_pivot(const Eigen::MatrixXd& sum) { return 0x1p-23 * sum.trace(); }

  static bool factorised(const Eigen::MatrixXd& matrix, double least, Eigen::MatrixXd& factor) {
    factor = matrix;
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> in_place(factor);
    return in_place.info() == Eigen::Success && factor.diagonal().cwiseAbs2().minCoeff() >= least;
  }

  /// Factorises sum + mu I, or what is near to it and positive definite.
  static void factorise(Eigen::MatrixXd sum, double mu, Eigen::MatrixXd& factor) {
    const double least = least_pivot(sum);
    sum.diagonal().array() += mu;
    double shift = 32 * least;
    for (int attempt = 0; attempt < 4; ++attempt, shift *= 16) {
      if (factorised(sum, least, factor)) return;
      sum.diagonal().array() += shift;
    }
    factor = sum.diagonal().cwiseSqrt().asDiagonal();
  }

  SampledForm form_;
  std::optional<RowSample> sample_;  // each class picks rows of it; where ranks share the rows, copies are sent once
  Matrix basis_;                     // F x directions; empty: the axes
  Eigen::MatrixXd gram_;             // Z^T Z, its lower triangle; empty beside a basis
  FloatMatrix shared_coordinates_;   // where ranks share the rows: not sent again for other weights
  std::vector<Eigen::MatrixXd> factors_;  // their lower triangles
  Vector beside_;
};

/// Memory of a sum over `rows` rows, each lane with a part of `values` numbers, beside what becomes
/// of it.
std::size_t sum_bytes(std::size_t rows, std::size_t features, std::size_t values) {
  return (cut_rows(rows, features).lanes + 2) * values * sizeof(float);
}

/// What strong_directions() takes, its result included.
std::size_t basis_bytes(const Rows& rows, std::size_t directions) {
  const std::size_t values = rows.features * directions;
  return sum_bytes(std::min(rows.count, kBasisRows), rows.features, values) + 4 * values * sizeof(double);
}

/// What gram_of() takes, its result included.
std::size_t gram_bytes(const Rows& rows, std::size_t classes) {
  const std::size_t values = rows.features * rows.features;
  return sum_bytes(std::min(rows.count, rows_of_gram(rows, classes)), rows.features, values) + values * sizeof(double);
}

/// What ranks take that share the rows: copies of others' rows, less than a lane of a sample at
/// either end and one on its way, and where there is no basis the rows of which picks are made.
std::size_t copied_bytes(const Rows& rows, std::size_t classes, bool whole, std::size_t picked_from) {
  if (rows.ranks == nullptr) return 0;
  const std::size_t most = std::min(rows.count, whole ? rows_of_gram(rows, classes) : picked_from);
  const std::size_t copied =
      3 * cut_rows(most, rows.features).lane_rows + (whole ? std::min(rows.count, picked_from) : 0);
  return copied * rows.features * sizeof(float);
}

/// What a thread takes that inverts a class: shares twice, two lots of picks and three matrices.
std::size_t inversion_bytes(std::size_t sampled, std::size_t directions) {
  return 2 * sampled * sizeof(double) + 2 * (kPicksAtOnce + directions) * directions * sizeof(float) +
         3 * directions * directions * sizeof(double);
}

}  // namespace

std::unique_ptr<Preconditioner> make_sampled_preconditioner(const HessianOperator& hessian, const SampledForm& form) {
  return std::make_unique<SampledPreconditioner>(hessian, form);
}

void count_sampled_refresh(const Rows& rows, std::size_t classes, std::size_t directions, PlannedRanks& job) {
  const std::size_t sampled = std::min(rows.count, SampledForm{}.picked_from);
  for (std::size_t first = 0; first < classes; first += kClassesAtOnce) {
    const std::size_t row_bytes = std::min(kClassesAtOnce, classes - first) * sizeof(float);
    for (std::size_t rank = 0; rank < job.size(); ++rank) {
      const RankShare own = own_rows(sampled, rank, job.size());
      if (own.begin < own.end) job.count_broadcast((own.end - own.begin) * row_bytes);
    }
    for (std::size_t c = first; c < std::min(classes, first + kClassesAtOnce); ++c)
      job.count_broadcast(SampledPreconditioner::told_values(directions) * sizeof(double));
  }
}

std::size_t sampled_preconditioner_bytes(const Rows& rows, std::size_t classes, const SampledForm& form) {
  const std::size_t directions = form.directions;
  const bool whole = directions == rows.features;
  const std::size_t at_once = std::min(classes, kClassesAtOnce), sampled = std::min(rows.count, form.picked_from);
  const std::size_t making = whole ? gram_bytes(rows, classes) : basis_bytes(rows, directions);
  // The basis, and once more in float32; or the matrix that all classes share.
  const std::size_t shared = rows.features * directions * (sizeof(double) + (whole ? 0 : sizeof(float)));
  const std::size_t picked = sampled * (at_once + (whole ? 0 : directions)) * sizeof(float);
  const std::size_t inverting = std::min(active_threads(), at_once) * inversion_bytes(sampled, directions);
  const std::size_t factors = classes * directions * directions * sizeof(double);
  return copied_bytes(rows, classes, whole, form.picked_from) + std::max(making, shared + factors + picked + inverting);
}

}  // namespace unweave
