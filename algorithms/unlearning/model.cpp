// algorithms/unlearning/model.cpp - shapes and margins of models, and what solvers read from their
// state.
#include "algorithms/unlearning/model.h"

#include <cmath>

#include "storage/io/error.h"

namespace unweave {
namespace {

[[noreturn]] void refuse_state(std::string_view name) {
  throw UsageError("the model holds no " + std::string(name) + " that can be used; train it again");
}

}  // namespace

double SolverState::number(std::string_view name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end() || !(found->second >= 0) || !std::isfinite(found->second)) refuse_state(name);
  return found->second;
}

std::uint64_t SolverState::count(std::string_view name) const {
  const double value = number(name);
  if (value > 0x1p53 || value != std::floor(value)) refuse_state(name);
  return static_cast<std::uint64_t>(value);
}

const std::vector<double>& SolverState::array(std::string_view name) const {
  const auto found = arrays.find(name);
  if (found == arrays.end()) refuse_state(name);
  return found->second;
}

std::vector<NodeId> SolverState::slots(std::string_view name) const {
  std::vector<NodeId> slots;
  for (const double node : array(name)) {
    if (!(node >= 0 && node <= static_cast<double>(kNoNode)) || node != std::floor(node)) refuse_state(name);
    slots.push_back(static_cast<NodeId>(node));
  }
  return slots;
}

Model blank_model(std::string_view solver, const SolverOptions& options, const TrainingSet& rows) {
  Model model;
  model.solver = solver;
  model.head = options.head;
  if (!options.hidden.empty()) model.network = shape_of(options, rows);
  return model;
}

NetworkShape shape_of(const Model& model) {
  if (model.network) return *model.network;
  return {model.head, size_of(model.published.rows()), size_of(model.published.cols()), {}, Activation::kTanh, 1};
}

void margins_of(const Model& model, const float* rows, std::size_t count, double* out) {
  const Network network(shape_of(model));
  network.margins({model.published.data(), size_of(model.published.size())}, rows, count, out);
}

Matrix as_published(const NetworkShape& shape, const Vector& weights) {
  if (!shape.hidden.empty()) return weights;
  return Eigen::Map<const Matrix>(weights.data(), index_of(shape.features), index_of(shape.classes));
}

Vector as_vector(const Matrix& published) {
  return Eigen::Map<const Vector>(published.data(), published.size());
}

void check_shape(const Model& model, std::string_view name, const TrainingSet& rows) {
  if (model.solver != name)
    throw UsageError("the model was trained by " + model.solver + ", not by " + std::string(name) + "; train it again");
  const NetworkShape shape = shape_of(model);
  if (shape.features != rows.features() || shape.classes != rows.classes())
    throw UsageError("the model has another shape than the training rows; train it again");
}

void check_model(const Model& model, std::string_view name, const TrainingSet& after, const BatchChange& change) {
  check_shape(model, name, after);
  if (model.trained_rows != after.size() + change.removed.size())
    throw UsageError("the batch does not lead from the model's training rows to these; train the model again");
}

}  // namespace unweave
