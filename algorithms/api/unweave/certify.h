// algorithms/api/unweave/certify.h - a model that another program made: what its weights are worth
// here, and a release of them that a theorem certifies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// Files of a linear model's weights.
struct ForeignModel {
  /// .npy, .npz or .safetensors in the shapes of storage/input/linear_model.h: one row a class, or
  /// transposed.
  std::filesystem::path weights;
  std::optional<std::filesystem::path> intercepts{};  ///< .npy of one number a class, beside a .npy without them
};

/// What weights are on the training rows before anything is done to them. All of it depends on how
/// they were made, and so on whatever was in the data then: it is for the operator, and in no
/// public line.
struct GivenFigures {
  std::string form;                      ///< how the file was read: "58 x 2575, transposed"
  std::vector<std::uint64_t> missing{};  ///< classes that it does not speak of, whose weights are taken as 0
  double gradient_bound = 0;  ///< proved: the norm of the gradient of the objective there is at most this (X5)
  double distance_bound = 0;  ///< hence at most so far from the minimiser: gradient_bound / mu
  Accuracies accuracies;

  /// How large tau has to be for a solver with noise to release them where they are: it finishes to
  /// half of it.
  [[nodiscard]] double releasing_tau() const noexcept { return 2 * gradient_bound; }
};

struct CertifiedModel {
  TrainedModel trained;
  GivenFigures given;
  bool as_given = false;      ///< the weights were near enough: they were released as they are, with noise
  std::uint64_t weights = 0;  ///< how many the model has, intercepts included
  std::uint64_t changed = 0;  ///< published ones that are not the given ones, rounded to the same grid
  double largest_change = 0;  ///< largest difference between a published weight and the given one
  double distance = 0;        ///< 2-norm of all these differences
};

/// Measures given weights, then releases or finishes them by a solver whose theorem holds from any
/// start (SolverInfo::any_start), and saves the model as Writer::train() does. A single row of two
/// classes becomes -w and w under a one-vs-rest head, -w / 2 and w / 2 under one that couples
/// classes, which gives the same probabilities. Throws UsageError for another solver, a network, or
/// intercepts where the model has none; InputError for files; what Writer::train() throws.
[[nodiscard]] CertifiedModel certify_model(Writer& writer, const ForeignModel& model, const TrainOptions& options);

}  // namespace v0
}  // namespace unweave
