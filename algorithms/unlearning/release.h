// algorithms/unlearning/release.h - the one way in which solvers publish, and the texts that speak
// of a release.
#pragma once

#include <string>
#include <string_view>

#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/unlearning/model.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/report.h"

namespace unweave {

/// A report of what these options ask for, to which nothing has happened yet.
[[nodiscard]] StepReport begin_report(const SolverOptions& options, const Mechanism& mechanism, double budget = 0);
/// Begins the report of a release that claims nothing.
[[nodiscard]] StepReport uncertified(const SolverOptions& options);

/// Makes `weights` the next release of a model that stands on `rows`.
void release(Model& model, Matrix weights, const TrainingSet& rows);
/// Rounds `weights` to the grid, adds fresh noise, releases the result and wipes `weights`. Where
/// ranks share the rows all of them call it, and release what rank 0 has made. Throws UsageError
/// when a weight is too large for the grid.
void release_with_noise(Model& model, Matrix& weights, const OutputNoise& noise, RandomSource& random,
                        const TrainingSet& rows);

/// How far a theorem goes.
enum class Curve {
  point,  ///< (epsilon, delta) alone
  /// release and reference are no easier to tell apart than two Gaussians whose curve passes
  /// through that point
  gaussian,
};
/// Says that a theorem certifies the release with this least delta.
void certify(StepReport& report, std::string_view theorem, double delta_reached, Curve curve = Curve::gaussian);
/// Says what several certified releases with this noise come to, each compared with its own
/// reference given all before it.
void compose(StepReport& report, const OutputNoise& noise);
/// Noise that was drawn from a seed is known to whoever knows the seed: such a release claims
/// nothing and is certified by no theorem, whatever its solver has found.
void withdraw_claims_of_seed(StepReport& report);

/// The public terms of output noise: distance, sensitivity, sigma and grid follow mu.
void publish_output_noise(Terms& terms, double mu, const OutputNoise& noise);

/// How the reference of every claim begins: the rows of the present data that it is about.
[[nodiscard]] std::string present_rows(const SolverOptions& options);
/// The reference of claims about the minimiser of the objective, up to what is done with it.
[[nodiscard]] std::string present_objective(const SolverOptions& options);
/// The reference of releases that minimise and add noise (T1).
[[nodiscard]] std::string minimiser_with_noise(const SolverOptions& options);

}  // namespace unweave
