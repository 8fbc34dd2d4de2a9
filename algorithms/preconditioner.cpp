// algorithms/preconditioner.cpp - diagonal, spectral and sampled preconditioners and the choice between them.
#include "algorithms/preconditioner.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/blas.h"
#include "algorithms/random_source.h"
#include "algorithms/row_sweep.h"

namespace unweave {
namespace {

constexpr std::size_t kSampledRows = 32768;  // of which a matrix for all classes is made
constexpr std::size_t kPickedFrom = 65536;   // of which each class picks its own
constexpr std::size_t kClassesAtOnce = 32;   // whose curvatures on these are held
constexpr std::size_t kPicksAtOnce = 1024;   // copied for one product
constexpr double kAlike = 1.0 / 8;           // of the curvature that may differ from the mean, for that to be believed
constexpr std::size_t kBasisRows = 8192;     // of which directions are found

class DiagonalPreconditioner final : public Preconditioner {
 public:
  explicit DiagonalPreconditioner(const HessianOperator& hessian) { DiagonalPreconditioner::refresh(hessian); }

  void refresh(const HessianOperator& hessian) override { inverse_ = hessian.diagonal().cwiseInverse(); }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    Matrix out(residual.rows(), residual.cols());
    for (Eigen::Index f = 0; f < out.rows(); ++f)
      for (std::size_t j = 0; j < classes.size(); ++j)
        out(f, index_of(j)) = residual(f, index_of(j)) * inverse_(f, index_of(classes[j]));
    return out;
  }

 private:
  Matrix inverse_;
};

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
    const auto load = [&](std::size_t first, std::size_t count, std::vector<float>& copy) -> const float* {
      copy.resize(count * all_.features);
      for (std::size_t k = 0; k < count; ++k)
        std::copy_n(row(first + k), all_.features, copy.data() + k * all_.features);
      return copy.data();
    };
    return sweep_blocks<float>(count_, all_.features, zero, load, body);
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t k) const noexcept { return k * all_.count / count_; }

  Rows all_;
  std::size_t count_;
};

/// Per class, sum_i s_ic |z_i|^2 / sum_i |z_i|^2 over the sample; 0 without rows.
Vector mean_curvature(const HessianOperator& hessian, const RowSample& sample) {
  const std::size_t width = hessian.objective().classes;
  std::vector<std::size_t> classes(width);
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  const Vector sum = sample.sweep(Vector(Vector::Zero(index_of(width + 1))),  // the weight of the rows comes last
                                  [&](const float* block, std::size_t first, std::size_t count, Vector& part) {
                                    std::vector<float> curvatures(count * width + kSlopeSlack);
                                    hessian.curvatures(block, count, classes, curvatures.data());
                                    for (std::size_t i = 0; i < count; ++i) {
                                      const double square = sample.norm(first + i) * sample.norm(first + i);
                                      for (std::size_t c = 0; c < width; ++c)
                                        part[index_of(c)] += square * static_cast<double>(curvatures[i * width + c]);
                                      part[index_of(width)] += square;
                                    }
                                  });
  const double weight = sum[index_of(width)];
  return sum.head(index_of(width)) / (weight > 0 ? weight : 1);
}

/// The lower triangle of Z^T Z.
Eigen::MatrixXd gram_of(const RowSample& sample) {
  const std::size_t features = sample.features();
  const FloatMatrix zero = FloatMatrix::Zero(index_of(features), index_of(features));
  const FloatMatrix gram =
      sample.sweep(zero, [&](const float* block, std::size_t, std::size_t count, FloatMatrix& part) {
        add_gram(block, part.data(), count, features);
      });
  return sample.spread() * gram.cast<double>();
}

class SpectralPreconditioner final : public Preconditioner {
 public:
  explicit SpectralPreconditioner(const HessianOperator& hessian) : mu_(hessian.objective().mu) {
    const RowSample sample(hessian.objective().rows, kSampledRows);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(gram_of(sample));
    basis_ = eigen.eigenvectors();
    values_ = eigen.eigenvalues().cwiseMax(0.0);
    curvature_ = mean_curvature(hessian, sample);
  }

  void refresh(const HessianOperator& hessian) override {
    curvature_ = mean_curvature(hessian, RowSample(hessian.objective().rows, kSampledRows));
  }

  Matrix apply(const Matrix& residual, std::span<const std::size_t> classes) const override {
    Matrix coefficients(residual.rows(), residual.cols()), out(residual.rows(), residual.cols());
    const std::size_t features = size_of(residual.rows()), width = classes.size();
    multiply_transposed(basis_.data(), residual.data(), coefficients.data(), features, features, width, false);
    for (Eigen::Index f = 0; f < out.rows(); ++f)
      for (std::size_t j = 0; j < width; ++j)
        coefficients(f, index_of(j)) /= curvature_[index_of(classes[j])] * values_[f] + mu_;
    multiply(basis_.data(), coefficients.data(), out.data(), features, features, width, false);
    return out;
  }

 private:
  double mu_;
  Matrix basis_;
  Vector values_, curvature_;
};

/// An orthonormal basis, F x count, of about the strongest directions of the rows: two steps of subspace iteration. They
/// need not be exact.
Matrix strong_directions(const RowSample& sample, std::size_t count) {
  const std::size_t features = sample.features();
  const FloatMatrix zero = FloatMatrix::Zero(index_of(features), index_of(count));
  RandomSource random = RandomSource::from_seed(0xba515, features);
  Matrix basis(index_of(features), index_of(count));
  for (Eigen::Index k = 0; k < basis.size(); ++k) basis.data()[k] = random.gaussian();
  for (int step = 0; step < 2; ++step) {
    const FloatMatrix narrow = basis.cast<float>();
    const FloatMatrix image =
        sample.sweep(zero, [&](const float* block, std::size_t, std::size_t rows, FloatMatrix& part) {
          std::vector<float> coordinates(rows * count);
          multiply(block, narrow.data(), coordinates.data(), rows, features, count, false);
          multiply_transposed(block, coordinates.data(), part.data(), features, rows, count, true);
        });
    const Eigen::HouseholderQR<Eigen::MatrixXd> factors(image.cast<double>());
    basis = factors.householderQ() * Eigen::MatrixXd::Identity(basis.rows(), basis.cols());
  }
  return basis;
}

/// Per class, (sum over picked rows + mu I)^-1 on the span of a basis, beside it the inverse of the mean curvature that is
/// left there. Rows are picked in proportion to their share s_ic |z_i|^2 of the class's curvature, at even steps along
/// its running sum, so that the few rows near a class's border are not missed. Where curvatures vary little, the
/// mean times Z^T Z is taken and only the rest is sampled; where they vary much, small ones would drown in the rest.
class SampledPreconditioner final : public Preconditioner {
 public:
  /// `directions`: columns of the basis; all features need none.
  SampledPreconditioner(const HessianOperator& hessian, std::size_t picks, std::size_t directions)
      : picks_(picks),
        factors_(hessian.objective().classes),
        beside_(Vector::Ones(index_of(hessian.objective().classes))) {
    const Rows& rows = hessian.objective().rows;
    if (directions < rows.features)
      basis_ = strong_directions(RowSample(rows, kBasisRows), directions);
    else if (rows.count > 0)
      gram_ = gram_of(RowSample(rows, std::max(kSampledRows, 2 * factors_.size() * rows.count / rows.features)));
    SampledPreconditioner::refresh(hessian);
  }

  void refresh(const HessianOperator& hessian) override {
    const RowSample sample(hessian.objective().rows, kPickedFrom);
    const FloatMatrix coordinates = whole() ? FloatMatrix() : coordinates_of(sample);
    std::vector<float> curvatures;
    for (std::size_t first = 0; first < factors_.size(); first += kClassesAtOnce) {
      std::vector<std::size_t> classes(std::min(kClassesAtOnce, factors_.size() - first));
      std::iota(classes.begin(), classes.end(), first);
      fill_curvatures(hessian, sample, classes, curvatures);
      parallel_ranges(0, classes.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j)
          invert(sample, coordinates, curvatures.data() + j, classes.size(), hessian.objective().mu, first + j);
      });
    }
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
      for (std::size_t j = first; j < last; ++j)
        out.col(index_of(j)) = factors_[classes[j]].solve(Vector(right.col(index_of(j))));
    });
    return out;
  }

  [[nodiscard]] FloatMatrix coordinates_of(const RowSample& sample) const {
    const FloatMatrix narrow = basis_.cast<float>();
    const std::size_t directions = size_of(basis_.cols());
    FloatMatrix out(index_of(sample.size()), basis_.cols());
    static_cast<void>(sample.sweep(0, [&](const float* block, std::size_t first, std::size_t count, int&) {
      multiply(block, narrow.data(), out.data() + first * directions, count, sample.features(), directions, false);
    }));
    return out;
  }

  static void fill_curvatures(const HessianOperator& hessian, const RowSample& sample,
                              std::span<const std::size_t> classes, std::vector<float>& out) {
    const std::size_t width = classes.size();
    out.resize(sample.size() * width);
    static_cast<void>(sample.sweep(0, [&](const float* block, std::size_t first, std::size_t count, int&) {
      std::vector<float> curvatures(count * width + kSlopeSlack);
      hessian.curvatures(block, count, classes, curvatures.data());
      std::copy_n(curvatures.data(), count * width, out.data() + first * width);
    }));
  }

  /// Of class c, whose curvatures lie `stride` apart.
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
    const std::size_t width = whole() ? sample.features() : size_of(coordinates.cols());
    const double step = total / static_cast<double>(picks_);
    struct Picked {
      std::vector<float> rows;
      std::size_t count = 0;
      FloatMatrix gram;
    };
    Picked both[2];  // with positive shares and with negative ones
    for (Picked& picked : both) {
      picked.rows.resize(kPicksAtOnce * width);
      picked.gram = FloatMatrix::Zero(index_of(width), index_of(width));
    }
    double sum = 0, next = step / 2;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double share = std::abs(shares[i]);
      sum += share;
      if (!(sum > next) || !(share > 0)) continue;  // `next` may round to below a sum that no longer grows
      const double times = std::ceil((sum - next) / step);
      next += times * step;
      const auto scale = static_cast<float>(std::sqrt(times * step * sample.spread()) / sample.norm(i));
      const float* row = whole() ? sample.row(i) : coordinates.data() + i * width;
      Picked& picked = both[shares[i] > 0 ? 0 : 1];
      float* to = picked.rows.data() + picked.count * width;
      for (std::size_t f = 0; f < width; ++f) to[f] = scale * row[f];
      if (++picked.count < kPicksAtOnce) continue;
      add_gram(picked.rows.data(), picked.gram.data(), picked.count, width);
      picked.count = 0;
    }
    for (Picked& picked : both) add_gram(picked.rows.data(), picked.gram.data(), picked.count, width);
    return both[0].gram.cast<double>() - both[1].gram.cast<double>();
  }

  /// Float32 sums leave eigenvalues around 0 where mu is small; pivots of that size say nothing.
  static double least_pivot(const Eigen::MatrixXd& sum) { return 0x1p-23 * sum.trace(); }

  static bool factorised(const Eigen::MatrixXd& matrix, double least, Eigen::LLT<Eigen::MatrixXd>& factor) {
    factor.compute(matrix);
    return factor.info() == Eigen::Success && factor.matrixLLT().diagonal().cwiseAbs2().minCoeff() >= least;
  }

  /// Factorises sum + mu I, or what is near to it and positive definite.
  static void factorise(Eigen::MatrixXd sum, double mu, Eigen::LLT<Eigen::MatrixXd>& factor) {
    const double least = least_pivot(sum);
    sum.diagonal().array() += mu;
    double shift = 32 * least;
    for (int attempt = 0; attempt < 4; ++attempt, shift *= 16) {
      if (factorised(sum, least, factor)) return;
      sum.diagonal().array() += shift;
    }
    factor.compute(Eigen::MatrixXd(sum.diagonal().asDiagonal()));
  }

  std::size_t picks_;
  Matrix basis_;          // F x directions; empty: the axes
  Eigen::MatrixXd gram_;  // Z^T Z, its lower triangle; empty beside a basis
  std::vector<Eigen::LLT<Eigen::MatrixXd>> factors_;
  Vector beside_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_diagonal_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<DiagonalPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_spectral_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<SpectralPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_sampled_preconditioner(const HessianOperator& hessian, std::size_t picks,
                                                            std::size_t directions) {
  return std::make_unique<SampledPreconditioner>(hessian, picks, directions);
}

namespace {

constexpr std::size_t kMostFeatures = 512;  // past it F x F problems and their memory dominate
constexpr std::size_t kDirections = 128;    // that are taken of more features

std::size_t directions_of(const Rows& rows) {
  return rows.features <= kMostFeatures ? rows.features : kDirections;
}

/// As many picks a class as cost half a Hessian product, or as pay.
std::size_t picks_of(const Rows& rows) {
  const std::size_t directions = directions_of(rows);
  return std::min(64 * directions, rows.count * rows.features / (directions * directions));
}

}  // namespace

std::size_t preconditioner_bytes(const Rows& rows, std::size_t classes) {
  constexpr std::size_t kMostFactors = std::size_t{64} << 20;
  const std::size_t directions = directions_of(rows);
  const std::size_t factors = classes * directions * directions * sizeof(double);
  // Fewer than a few picks a direction say nothing.
  if (picks_of(rows) < 4 * directions || rows.count < 4 * directions || factors > kMostFactors) return 0;
  const std::size_t coordinates = directions < rows.features ? directions : 0;
  return factors +
         std::min(rows.count, kPickedFrom) * (std::min(classes, kClassesAtOnce) + coordinates) * sizeof(float);
}

std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian, std::size_t bytes) {
  constexpr double kSavedPasses = 10;
  const Rows& rows = hessian.objective().rows;
  const std::size_t needed = preconditioner_bytes(rows, hessian.objective().classes);
  if (needed > 0 && needed <= bytes) return make_sampled_preconditioner(hessian, picks_of(rows), directions_of(rows));
  if (rows.features > kMostFeatures) return make_diagonal_preconditioner(hessian);
  const double n = static_cast<double>(rows.count), features = static_cast<double>(rows.features);
  const double pass = 4 * n * features * static_cast<double>(hessian.objective().classes);
  const double sampled = static_cast<double>(std::min(rows.count, kSampledRows));
  const double factorisation = 2 * sampled * features * features + 20 * features * features * features;
  if (factorisation <= kSavedPasses * pass) return make_spectral_preconditioner(hessian);
  return make_diagonal_preconditioner(hessian);
}

}  // namespace unweave
