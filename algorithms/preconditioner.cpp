// algorithms/preconditioner.cpp - diagonal and spectral preconditioners and the choice between them.
#include "algorithms/preconditioner.h"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "algorithms/blas.h"
#include "algorithms/row_sweep.h"

namespace unweave {
namespace {

class DiagonalPreconditioner final : public Preconditioner {
 public:
  explicit DiagonalPreconditioner(const HessianOperator& hessian) : inverse_(hessian.diagonal().cwiseInverse()) {}

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

class SpectralPreconditioner final : public Preconditioner {
 public:
  explicit SpectralPreconditioner(const HessianOperator& hessian) : mu_(hessian.objective().mu) {
    const Rows& rows = hessian.objective().rows;
    const Matrix gram =
        sweep_rows<double>(rows, Matrix(Matrix::Zero(index_of(rows.features), index_of(rows.features))),
                           [&](const double* block, std::size_t, std::size_t count, Matrix& part) {
                             multiply_transposed(block, block, part.data(), rows.features, count, rows.features, true);
                           });
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram);
    basis_ = eigen.eigenvectors();
    values_ = eigen.eigenvalues().cwiseMax(0.0);
    curvature_ = hessian.mean_curvature();
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

}  // namespace

std::unique_ptr<Preconditioner> make_diagonal_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<DiagonalPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_spectral_preconditioner(const HessianOperator& hessian) {
  return std::make_unique<SpectralPreconditioner>(hessian);
}

std::unique_ptr<Preconditioner> make_preconditioner(const HessianOperator& hessian) {
  constexpr double kSavedPasses = 10,
                   kMostFeatures = 512;  // past it the dense eigenproblem and its F^2 memory dominate
  const double n = static_cast<double>(hessian.objective().rows.count);
  const double features = static_cast<double>(hessian.objective().rows.features);
  const double pass = 4 * n * features * static_cast<double>(hessian.objective().classes);
  const double factorisation = 2 * n * features * features + 20 * features * features * features;
  if (features <= kMostFeatures && factorisation <= kSavedPasses * pass) return make_spectral_preconditioner(hessian);
  return make_diagonal_preconditioner(hessian);
}

}  // namespace unweave
