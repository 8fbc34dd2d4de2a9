// algorithms/unlearning/release.cpp - publishing, claiming, and the words of references.
#include "algorithms/unlearning/release.h"

#include <span>
#include <utility>

#include "algorithms/learning/head.h"

namespace unweave {

StepReport begin_report(const SolverOptions& options, const Mechanism& mechanism, double budget) {
  StepReport report;
  report.mechanism = mechanism;
  report.epsilon = options.epsilon;
  report.delta = options.delta;
  report.budget = budget;
  report.for_tests = options.seed.has_value();
  return report;
}

StepReport uncertified(const SolverOptions& options) {
  StepReport report = begin_report(options, kNoMechanism);
  report.reference = "none: how near this is to a model trained again is not bounded";
  return report;
}

void release(Model& model, Matrix weights, const TrainingSet& rows) {
  model.published = std::move(weights);
  model.trained_rows = rows.size();
  ++model.releases;
}

void release_with_noise(Model& model, Matrix& weights, const OutputNoise& noise, RandomSource& random,
                        const TrainingSet& rows) {
  Ranks* const ranks = rows.ranks();
  if (ranks == nullptr) return release(model, publish(weights, noise, random), rows);
  // The noise is drawn on one rank, and nothing of it but what is published leaves that one.
  Matrix published = Matrix::Zero(weights.rows(), weights.cols());
  if (ranks->first()) published = publish(weights, noise, random);
  wipe(weights.data(), size_of(weights.size()) * sizeof(double));
  ranks->broadcast(std::as_writable_bytes(std::span(published.data(), size_of(published.size()))));
  release(model, std::move(published), rows);
}

void certify(StepReport& report, std::string_view theorem, double delta_reached, Curve curve) {
  report.certified = true;
  report.claim = theorem;
  report.gaussian_curve = curve == Curve::gaussian;
  report.delta_reached = delta_reached;
}

void compose(StepReport& report, const OutputNoise& noise) {
  for (const std::uint64_t releases : {2, 5, 10, 50})
    report.composed.emplace_back(releases, composed_epsilon(shift_of(noise), releases, report.delta));
}

void withdraw_claims_of_seed(StepReport& report) {
  if (!report.for_tests) return;
  report.certified = false;
  report.claim.reset();
  report.composed.clear();
}

void publish_output_noise(Terms& terms, double mu, const OutputNoise& noise) {
  terms.publish({{"mu", mu},
                 {"distance", noise.distance},
                 {"sensitivity", noise.sensitivity},
                 {"sigma", noise.sigma},
                 {"grid", noise.grid}});
}

std::string present_rows(const SolverOptions& options) {
  const std::string row = std::string("float32(clip(row i of the ") +
                          (options.has_program ? "constant row_program" : "fixed-point embedding") + "))";
  return "on the present data alone: rows z_i = " + (options.intercept ? "(" + row + ", 1)" : row) +
         " of the training " + std::string(name_of(options.unit)) + "s";
}

std::string present_objective(const SolverOptions& options) {
  return present_rows(options) + "; F(W) = " + std::string(loss_text(options.head)) +
         " + (lambda max(1, n) / 2) |W|_F^2; ";
}

std::string minimiser_with_noise(const SolverOptions& options) {
  return present_objective(options) +
         "W* its minimiser; published: W* rounded to the grid, plus fresh discrete Gaussian noise of variance sigma^2 on every coordinate";
}

}  // namespace unweave
