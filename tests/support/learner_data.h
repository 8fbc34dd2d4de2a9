// tests/support/learner_data.h - small learning tasks, and a dense solver that shares no code with
// the project's.
#pragma once

#include <Eigen/Dense>
#include <random>

#include "algorithms/learning/objective.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/residual_bounds.h"

namespace unweave::testing {

/// The error of embeddings that are exact.
inline const ApproximationError kExact;

/// `rows` rows around class centres, norms up to 1, labels below `used` of `classes` declared; node
/// ids 3, 6, 9, ... With an intercept they have one feature more.
inline TrainingSet random_rows(std::size_t rows, std::size_t features, std::size_t classes, unsigned seed,
                               std::size_t used = 0, bool intercept = false) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  if (used == 0) used = classes;
  std::vector<float> centres(classes * features);
  for (float& x : centres) x = normal(random);
  const RowForm form(1, intercept);
  TrainingSet set(form.features(features), classes, form);
  std::vector<float> row(set.features());
  for (std::size_t i = 0; i < rows; ++i) {
    const auto label = static_cast<ClassId>(random() % used);
    for (std::size_t f = 0; f < features; ++f)
      row[f] = 0.4F * (0.7F * centres[label * features + f] + normal(random)) / std::sqrt(static_cast<float>(features));
    set.append(static_cast<NodeId>(3 * (i + 1)), row, label);
  }
  return set;
}

inline Matrix random_matrix(std::size_t rows, std::size_t columns, unsigned seed, double scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Matrix out(index_of(rows), index_of(columns));
  for (Eigen::Index i = 0; i < out.size(); ++i) out.data()[i] = normal(random);
  return out;
}

inline Objective objective_of(const TrainingSet& set, double lambda, Head head = Head::kLogistic) {
  return {set.rows(), set.classes(), head, strong_convexity(lambda, set.size()), nullptr};
}

/// F(W), row by row.
inline double objective_value(const Objective& objective, const Matrix& weights) {
  const Rows& rows = objective.rows;
  double sum = objective.mu / 2 * weights.squaredNorm();
  if (objective.linear != nullptr) sum += objective.linear->cwiseProduct(weights).sum();
  std::vector<double> margins(objective.classes);
  for (std::size_t i = 0; i < rows.count; ++i) {
    for (std::size_t c = 0; c < objective.classes; ++c) {
      margins[c] = 0;
      for (std::size_t f = 0; f < rows.features; ++f)
        margins[c] += static_cast<double>(rows.values[i * rows.features + f]) * weights(index_of(f), index_of(c));
    }
    sum += row_loss(objective.head, margins.data(), objective.classes, rows.labels[i]);
  }
  return sum;
}

inline Eigen::MatrixXd dense_rows(const TrainingSet& set) {
  Eigen::MatrixXd out(index_of(set.size()), index_of(set.features()));
  for (std::size_t i = 0; i < set.size(); ++i)
    for (std::size_t f = 0; f < set.features(); ++f) out(index_of(i), index_of(f)) = static_cast<double>(set.row(i)[f]);
  return out;
}

inline Eigen::VectorXd dense_targets(const TrainingSet& set, std::size_t c) {
  Eigen::VectorXd out(index_of(set.size()));
  for (std::size_t i = 0; i < set.size(); ++i) out[index_of(i)] = set.labels()[i] == c ? 1 : -1;
  return out;
}

/// Hessian of one class of the logistic (or least-squares) objective, dense.
inline Eigen::MatrixXd dense_hessian(const TrainingSet& set, double mu, const Eigen::VectorXd& w, Head head) {
  const Eigen::MatrixXd z = dense_rows(set);
  Eigen::VectorXd s = Eigen::VectorXd::Ones(z.rows());
  if (head == Head::kLogistic) {
    const Eigen::ArrayXd p = 1 / (1 + (-(z * w)).array().exp());
    s = (p * (1 - p)).matrix();
  }
  return z.transpose() * s.asDiagonal() * z + mu * Eigen::MatrixXd::Identity(z.cols(), z.cols());
}

inline Eigen::VectorXd dense_gradient(const TrainingSet& set, double mu, const Eigen::VectorXd& w, std::size_t c,
                                      Head head, const Eigen::VectorXd& linear) {
  const Eigen::MatrixXd z = dense_rows(set);
  const Eigen::ArrayXd y = dense_targets(set, c).array(), m = (z * w).array();
  const Eigen::ArrayXd r = head == Head::kLogistic ? Eigen::ArrayXd(-y / (1 + (y * m).exp())) : Eigen::ArrayXd(m - y);
  return z.transpose() * r.matrix() + mu * w + linear;
}

/// Derivatives of the softmax objective; coordinate (f, c) of the Hessian lies at c F + f.
struct DenseSoftmax {
  Eigen::MatrixXd gradient;
  Eigen::MatrixXd hessian;
};

inline DenseSoftmax dense_softmax(const TrainingSet& set, double mu, const Matrix& weights) {
  const Eigen::MatrixXd z = dense_rows(set);
  Eigen::ArrayXXd p = (z * weights).array();
  for (Eigen::Index i = 0; i < p.rows(); ++i) {
    p.row(i) = (p.row(i) - p.row(i).maxCoeff()).exp();
    p.row(i) /= p.row(i).sum();
  }
  DenseSoftmax out{mu * weights, mu * Eigen::MatrixXd::Identity(weights.size(), weights.size())};
  const Eigen::Index features = weights.rows();
  for (Eigen::Index c = 0; c < p.cols(); ++c) {
    for (Eigen::Index k = 0; k < p.cols(); ++k) {
      const Eigen::ArrayXd coupling = p.col(c) * ((c == k ? 1.0 : 0.0) - p.col(k));
      out.hessian.block(c * features, k * features, features, features) +=
          z.transpose() * coupling.matrix().asDiagonal() * z;
    }
    const Eigen::ArrayXd own = (dense_targets(set, size_of(c)).array() + 1) / 2;
    out.gradient.col(c) += z.transpose() * (p.col(c) - own).matrix();
  }
  return out;
}

/// H v of the above.
inline Matrix dense_softmax_product(const DenseSoftmax& at, const Matrix& v) {
  const Eigen::VectorXd flat = Eigen::MatrixXd(v).reshaped();
  return (at.hessian * flat).reshaped(v.rows(), v.cols());
}

/// By dense Newton over all classes, halved until the gradient falls, until nothing makes it fall.
inline Matrix dense_softmax_minimiser(const TrainingSet& set, double mu) {
  Matrix weights = Matrix::Zero(index_of(set.features()), index_of(set.classes()));
  DenseSoftmax at = dense_softmax(set, mu, weights);
  for (double scale = 1; scale > 1e-6;) {
    const Eigen::VectorXd solved = at.hessian.llt().solve(at.gradient.reshaped());
    const Matrix direction = solved.reshaped(weights.rows(), weights.cols());
    for (scale = 1; scale > 1e-6; scale /= 2) {
      DenseSoftmax next = dense_softmax(set, mu, weights - scale * direction);
      if (!(next.gradient.norm() < at.gradient.norm())) continue;
      weights -= scale * direction;
      at = std::move(next);
      break;
    }
  }
  return weights;
}

/// Minimiser by dense Newton with factorisations, class by class where they are not coupled.
inline Matrix dense_minimiser(const TrainingSet& set, double lambda, Head head = Head::kLogistic,
                              const Matrix* linear = nullptr) {
  const double mu = lambda * static_cast<double>(std::max<std::size_t>(1, set.size()));
  if (head == Head::kSoftmax) return dense_softmax_minimiser(set, mu);
  Matrix out = Matrix::Zero(index_of(set.features()), index_of(set.classes()));
  for (std::size_t c = 0; c < set.classes(); ++c) {
    Eigen::VectorXd w = Eigen::VectorXd::Zero(out.rows());
    const Eigen::VectorXd b = linear ? Eigen::VectorXd(linear->col(index_of(c))) : Eigen::VectorXd(0 * w);
    for (int step = 0; step < 60; ++step)
      w -= dense_hessian(set, mu, w, head).llt().solve(dense_gradient(set, mu, w, c, head, b));
    out.col(index_of(c)) = w;
  }
  return out;
}

/// Removes every `step`-th row from `first` on, and moves the rows after those by a little.
inline BatchChange random_change(const TrainingSet& set, std::size_t first, std::size_t step, std::size_t removals,
                                 std::size_t moves, double distance, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, distance);
  BatchChange change(set.features(), set.classes(), set.form());
  for (std::size_t i = first; i < set.size(); i += step) {
    if (removals > 0) {
      change.removed.append(set.nodes()[i], set.row(i), set.labels()[i]);
      --removals;
    }
    for (std::size_t j = i + 1; j < std::min(set.size(), i + step) && moves > 0; ++j, --moves) {
      std::vector<float> row(set.row(j).begin(), set.row(j).end());
      change.moved_from.append(set.nodes()[j], row, set.labels()[j]);
      for (float& x : row) x += static_cast<float>(normal(random));
      change.moved_to.append(set.nodes()[j], row, set.labels()[j]);
    }
  }
  change.only_edges = change.removed.size() == 0;
  return change;
}

}  // namespace unweave::testing
