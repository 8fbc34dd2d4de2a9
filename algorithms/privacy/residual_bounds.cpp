// algorithms/privacy/residual_bounds.cpp - the bounds, term by term.
#include "algorithms/privacy/residual_bounds.h"

#include <cmath>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kWorstGamma = 0.25;  // gamma1 of the logistic loss

double worst_factor(const WorstCase& w, double rows) {
  const double features = static_cast<double>(w.features);
  return kWorstGamma / w.lambda * features + std::sqrt(features * rows);
}

/// 2 gamma1 F / (lambda m)
double worst_step(const WorstCase& w, double rows) {
  return 2 * kWorstGamma * static_cast<double>(w.features) / (w.lambda * rows);
}

}  // namespace

double objective_noise_budget(double alpha, double epsilon, double delta) {
  if (!(alpha >= 0) || !(epsilon > 0) || !(delta > 0) || !(delta < 1) || !std::isfinite(alpha * epsilon))
    throw UsageError("alpha must be at least 0, epsilon above 0 and delta strictly between 0 and 1");
  return alpha * epsilon / std::sqrt(2 * std::log(1.5 / delta));
}

double printed_approximation_term(Head head, const ApproximationError& error) {
  if (error.exact()) return 0;
  return 2 * smoothness(head).slope * error.residue_sum.norm();
}

double corrected_approximation_term(Head head, const ApproximationError& error, std::size_t rows, double spectral_norm,
                                    double weight_norm, double slope_norm) {
  if (error.exact()) return 0;
  const Smoothness smooth = smoothness(head);
  const double euclidean = error.euclidean.norm();
  const double direct =
      std::isfinite(smooth.slope)
          ? smooth.slope * std::min(error.absolute.norm(), std::sqrt(static_cast<double>(rows)) * euclidean)
          : (slope_norm + smooth.curvature * euclidean * weight_norm) * euclidean;
  return direct + smooth.curvature * spectral_norm * weight_norm * euclidean;
}

double printed_step_term(Head head, double spectral_norm, double step_norm, double image_norm) {
  return smoothness(head).third_printed * spectral_norm * step_norm * image_norm;
}

double corrected_step_term(Head head, double spectral_norm, double squared_image_norm, double solver_error) {
  return 0.5 * smoothness(head).third * spectral_norm * squared_image_norm + solver_error;
}

double gradient_gap(Head head, const ApproximationError& error, double frobenius, double slope_norm,
                    double weight_norm) {
  if (error.exact()) return 0;
  const double curvature = smoothness(head).curvature;
  const double e = error.euclidean.norm() + 0x1p-20 * frobenius;
  return (e * (slope_norm + curvature * e * weight_norm) + curvature * frobenius * e * weight_norm) * (1 + 1e-6);
}

double WorstCase::feature(double degree) const {
  const double rows = static_cast<double>(training_rows) - 1;
  return worst_factor(*this, rows) * (approximation + 4 * worst_step(*this, rows) * std::sqrt(degree));
}

double WorstCase::edge(double degree_u, double degree_v) const {
  const double rows = static_cast<double>(training_rows);
  const double moved = 4 / std::sqrt(degree_u) + 4 / std::sqrt(degree_v);
  return 2 * worst_step(*this, rows) +
         worst_factor(*this, rows) * (approximation + worst_step(*this, rows) * (2 * approximation + moved));
}

double WorstCase::node(double degree, std::span<const double> neighbour_degrees) const {
  const double rows = static_cast<double>(training_rows) - 1;
  double moved = 4 * std::sqrt(degree);
  for (const double d : neighbour_degrees) moved += 4 / std::sqrt(d);
  return 2 * worst_step(*this, rows) +
         worst_factor(*this, rows) * (approximation + worst_step(*this, rows) * (2 * approximation + moved));
}

}  // namespace unweave
