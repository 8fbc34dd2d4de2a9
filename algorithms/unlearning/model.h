// algorithms/unlearning/model.h - a learnt model as plain fields, so that a store can write them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/learning/network.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/unlearning/options.h"

namespace unweave {

/// What a solver keeps beside the weights for its next request: named by the solver, and read by
/// nobody else. It is private, since it may depend on removed data.
struct SolverState {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::vector<double>, std::less<>> arrays;

  /// A finite number of this name, at least 0. Throws UsageError that says to train again.
  [[nodiscard]] double number(std::string_view name) const;
  /// A whole number up to 2^53. Throws UsageError.
  [[nodiscard]] std::uint64_t count(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const { return number(name) != 0; }
  /// Throws UsageError that says to train again.
  [[nodiscard]] const std::vector<double>& array(std::string_view name) const;
  /// An array that holds the ascending node of each slot, kNoNode where the row has left. Throws
  /// UsageError.
  [[nodiscard]] std::vector<NodeId> slots(std::string_view name) const;
};

/// `published` is what users may see; the rest is private.
struct Model {
  std::string solver;
  Head head = Head::kLogistic;
  std::size_t trained_rows = 0;         ///< n_t that the model stands on
  std::uint64_t releases = 0;           ///< models published so far: no noise is ever drawn twice
  std::uint64_t sequence = 0;           ///< request that the model has absorbed; kept by the caller
  Matrix published;                     ///< F x C; for a network its parameters, size() x 1
  std::optional<NetworkShape> network;  ///< shape of a model with hidden layers
  SolverState state;
};

/// A model of this shape without weights.
[[nodiscard]] Model blank_model(std::string_view solver, const SolverOptions& options, const TrainingSet& rows);

/// The shape of a trained model.
[[nodiscard]] NetworkShape shape_of(const Model& model);
/// Margins of `count` clipped rows under the published weights, count x classes into `out`. Who
/// predicts does so by these.
void margins_of(const Model& model, const float* rows, std::size_t count, double* out);

/// Weights as a model publishes them: F x C for linear shapes, else size() x 1.
[[nodiscard]] Matrix as_published(const NetworkShape& shape, const Vector& weights);
[[nodiscard]] Vector as_vector(const Matrix& published);

/// Throws UsageError unless `model` was trained by `name` on rows of this shape.
void check_shape(const Model& model, std::string_view name, const TrainingSet& rows);
/// Throws UsageError also unless the change leads from as many rows as the model stands on to
/// `after`.
void check_model(const Model& model, std::string_view name, const TrainingSet& after, const BatchChange& change);

}  // namespace unweave
