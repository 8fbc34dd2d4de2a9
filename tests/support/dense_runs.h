// tests/support/dense_runs.h - SGD and its statistics by dense matrices, row by row: shares no
// kernel with the project's, but for hidden layers, of which single rows are Network's, held
// against loops over scalars in network_test.cpp.
#pragma once

#include <set>

#include "algorithms/sgd/sgd_run.h"
#include "algorithms/solvers/hessian_free/sgd_statistics.h"
#include "support/learner_data.h"

namespace unweave::testing {

/// One run that a test has made.
struct RunWorld {
  TrainingSet rows;
  Network network;
  SgdSchedule schedule;
  SgdRun run;

  RunWorld(TrainingSet set, const NetworkShape& shape, const SgdConstants& constants, double lambda)
      : rows(std::move(set)), network(shape), schedule(constants), run(network, rows, schedule, rows.nodes(), lambda) {}
  RunWorld(const RunWorld&) = delete;
};

inline RunWorld run_world(Head head, std::size_t rows = 60, std::vector<std::size_t> hidden = {},
                          double lambda = 0.02) {
  const SgdConstants constants{rows, 24, 8, 4, 0.9, 0.98, 1};
  return {random_rows(rows, 7, 3, 4), NetworkShape{head, 7, 3, std::move(hidden), Activation::kTanh}, constants,
          lambda};
}

/// Slopes and Hessian by the margins of one row.
inline void derivatives_of(Head head, const Eigen::VectorXd& margins, std::size_t label, Eigen::VectorXd& slopes,
                           Eigen::MatrixXd& curvature) {
  const auto classes = margins.size();
  slopes.resize(classes);
  curvature = Eigen::MatrixXd::Zero(classes, classes);
  if (head == Head::kSoftmax) {
    const Eigen::ArrayXd e = margins.array().exp();
    const Eigen::VectorXd p = (e / e.sum()).matrix();
    curvature = Eigen::MatrixXd(p.asDiagonal()) - p * p.transpose();
    slopes = p;
    slopes[index_of(label)] -= 1;
    return;
  }
  for (Eigen::Index c = 0; c < classes; ++c) {
    const double y = c == index_of(label) ? 1 : -1, m = margins[c];
    const double p = 1 / (1 + std::exp(-m));
    slopes[c] = head == Head::kLogistic ? -y / (1 + std::exp(y * m)) : m - y;
    curvature(c, c) = head == Head::kLogistic ? p * (1 - p) : 1;
  }
}

/// As row_derivatives(), behind hidden layers.
inline void network_derivatives(const SgdRun& run, std::uint32_t i, const Vector& weights, Eigen::VectorXd& gradient,
                                Eigen::MatrixXd* hessian) {
  const std::span<const double> at(weights.data(), size_of(weights.size()));
  gradient = run.network.gradient(at, {run.rows, {&i, 1}}) + run.lambda * weights;
  if (hessian == nullptr) return;
  *hessian = run.lambda * Eigen::MatrixXd::Identity(weights.size(), weights.size());
  for (Eigen::Index j = 0; j < weights.size(); ++j) {
    const Vector unit = Vector::Unit(weights.size(), j);
    hessian->col(j) += run.network.hessian_product(at, {run.rows, {&i, 1}}, {unit.data(), at.size()});
  }
}

/// Gradient and Hessian of one row's loss, the term of lambda included.
inline void row_derivatives(const SgdRun& run, std::uint32_t i, const Vector& weights, Eigen::VectorXd& gradient,
                            Eigen::MatrixXd* hessian) {
  if (!run.network.shape().hidden.empty()) return network_derivatives(run, i, weights, gradient, hessian);
  const std::size_t features = run.rows.features(), classes = run.rows.classes();
  Eigen::VectorXd margins = Eigen::VectorXd::Zero(index_of(classes)), slopes;
  Eigen::MatrixXd curvature;
  const auto x = run.rows.row(i);
  for (std::size_t f = 0; f < features; ++f)
    for (std::size_t c = 0; c < classes; ++c)
      margins[index_of(c)] += static_cast<double>(x[f]) * weights[index_of(f * classes + c)];
  derivatives_of(run.network.shape().head, margins, run.rows.labels()[i], slopes, curvature);
  gradient = run.lambda * weights;
  if (hessian != nullptr) *hessian = run.lambda * Eigen::MatrixXd::Identity(weights.size(), weights.size());
  for (std::size_t f = 0; f < features; ++f)
    for (std::size_t c = 0; c < classes; ++c) {
      const double xf = static_cast<double>(x[f]);
      gradient[index_of(f * classes + c)] += xf * slopes[index_of(c)];
      if (hessian == nullptr) continue;
      for (std::size_t g = 0; g < features; ++g)
        for (std::size_t e = 0; e < classes; ++e)
          (*hessian)(index_of(f * classes + c), index_of(g * classes + e)) +=
              xf * static_cast<double>(x[g]) * curvature(index_of(c), index_of(e));
    }
}

/// End of the run in which the rows at these places count 1 - share of a row.
inline Vector dense_end(const SgdRun& run, const std::set<std::uint32_t>& places, double share = 1) {
  Vector weights = run.initial();
  for (std::uint64_t step = 0; step < run.schedule.steps(); ++step) {
    const double eta = run.schedule.step_size(step) / static_cast<double>(run.schedule.batch_size(step));
    Vector sum = Vector::Zero(weights.size());
    for (const std::uint32_t place : run.schedule.batch(step)) {
      if (run.row_of_place[place] == kNoRow) continue;
      Eigen::VectorXd gradient;
      row_derivatives(run, run.row_of_place[place], weights, gradient, nullptr);
      sum += (places.contains(place) ? 1 - share : 1.0) * gradient;
    }
    weights -= eta * sum;
  }
  return weights;
}

/// The recursion of sgd_statistics.h for these places, by dense Hessians.
inline Vector dense_vector(const SgdRun& run, const std::set<std::uint32_t>& places, RemovedCurvature curvature) {
  Vector weights = run.initial(), vector = Vector::Zero(weights.size());
  for (std::uint64_t step = 0; step < run.schedule.steps(); ++step) {
    const double eta = run.schedule.step_size(step) / static_cast<double>(run.schedule.batch_size(step));
    Vector sum = Vector::Zero(weights.size()), change = sum;
    for (const std::uint32_t place : run.schedule.batch(step)) {
      if (run.row_of_place[place] == kNoRow) continue;
      Eigen::VectorXd gradient;
      Eigen::MatrixXd hessian;
      row_derivatives(run, run.row_of_place[place], weights, gradient, &hessian);
      sum += gradient;
      if (!places.contains(place) || curvature == RemovedCurvature::kAll) change -= hessian * vector;
      if (places.contains(place)) change += gradient;
    }
    vector += eta * change;
    weights -= eta * sum;
  }
  return vector;
}

/// All records in one.
inline RecordBlock gathered(const std::function<void(const RecordSink&)>& make) {
  RecordBlock all;
  make([&](const RecordBlock& block) {
    REQUIRE(block.first == size_of(all.vectors.rows()));
    const Eigen::Index rows = all.vectors.rows(), more = block.vectors.rows();
    all.vectors.conservativeResize(rows + more, block.vectors.cols());
    all.visits.conservativeResize(rows + more, block.visits.cols());
    all.vectors.bottomRows(more) = block.vectors;
    all.visits.bottomRows(more) = block.visits;
    all.bounds.insert(all.bounds.end(), block.bounds.begin(), block.bounds.end());
  });
  return all;
}

inline RecordBlock forward_records(const SgdRun& run, RemovedCurvature curvature, std::uint64_t group = 1) {
  return gathered([&](const RecordSink& sink) {
    forward_statistics(run, {{run.schedule.constants().slots, group}, curvature, 24, 0}, sink);
  });
}

}  // namespace unweave::testing
