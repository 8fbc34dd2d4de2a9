// algorithms/solvers/rewind/rewind_state.cpp - the state as numbers and arrays of a model, and files of iterates.
#include "algorithms/solvers/rewind/rewind_state.h"

#include <cmath>

#include "storage/formats/model_file.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostWhole = 0x1p53;

double number(const Model& model, const char* name) {
  const auto found = model.state.numbers.find(name);
  if (found == model.state.numbers.end() || !std::isfinite(found->second))
    throw UsageError("the model holds no " + std::string(name) + "; train it again");
  return found->second;
}

std::uint64_t whole(double value) {
  if (!(value >= 0 && value < kMostWhole) || value != std::floor(value))
    throw UsageError("the model holds an odd count; train it again");
  return static_cast<std::uint64_t>(value);
}

const std::vector<double>& array(const Model& model, const char* name) {
  const auto found = model.state.arrays.find(name);
  if (found == model.state.arrays.end())
    throw UsageError("the model holds no " + std::string(name) + "; train it again");
  return found->second;
}

}  // namespace

std::vector<SlotWeight> RewindState::changes() const {
  std::vector<SlotWeight> changes;
  for (std::size_t slot = 0; slot < weights.size(); ++slot)
    if (weights[slot] > 0) changes.push_back({slot, weights[slot], slots[slot] == kNoNode});
  return changes;
}

void keep_state(const RewindState& state, Model& model) {
  const RewindConstants& constants = state.constants;
  const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
  model.state.numbers = {{"slots", real(constants.slots)},
                         {"batch_rows", real(constants.batch_rows)},
                         {"epochs", real(constants.epochs)},
                         {"step_size", constants.step_size},
                         {"radius", constants.radius},
                         {"order_key", real(constants.order_key)},
                         {"sampling", static_cast<double>(constants.sampling)},
                         {"sigma", constants.sigma},
                         {"capacity", constants.capacity},
                         {"retention", constants.retention},
                         {"run", real(state.run)},
                         {"last_epochs", real(state.last_epochs)},
                         {"adaptive_requests", state.adaptive_requests ? 1.0 : 0.0},
                         {"lazy_rows", state.lazy_rows ? 1.0 : 0.0}};
  model.state.arrays = {{"slots", {state.slots.begin(), state.slots.end()}},
                        {"weights", state.weights},
                        {"kept", {state.kept.begin(), state.kept.end()}}};
}

RewindState state_of(const Model& model) {
  RewindState state;
  RewindConstants& constants = state.constants;
  constants.slots = whole(number(model, "slots"));
  constants.batch_rows = whole(number(model, "batch_rows"));
  constants.epochs = whole(number(model, "epochs"));
  constants.step_size = number(model, "step_size");
  constants.radius = number(model, "radius");
  constants.order_key = whole(number(model, "order_key"));
  const std::uint64_t sampling = whole(number(model, "sampling"));
  constants.sampling = static_cast<Sampling>(sampling);
  constants.sigma = number(model, "sigma");
  constants.capacity = number(model, "capacity");
  constants.retention = number(model, "retention");
  state.run = whole(number(model, "run"));
  state.last_epochs = whole(number(model, "last_epochs"));
  state.adaptive_requests = number(model, "adaptive_requests") != 0;
  state.lazy_rows = number(model, "lazy_rows") != 0;
  for (const double node : array(model, "slots")) {
    if (!(node <= static_cast<double>(kNoNode))) throw UsageError("a slot holds no node; train the model again");
    state.slots.push_back(static_cast<NodeId>(whole(node)));
  }
  state.weights = array(model, "weights");
  for (const double epochs : array(model, "kept")) state.kept.push_back(whole(epochs));
  bool right = sampling <= 2 && constants.batch_rows > 0 && constants.epochs > 0 &&
               state.slots.size() == constants.slots && state.weights.size() == constants.slots;
  for (const double weight : state.weights) right &= weight >= 0 && std::isfinite(weight);
  for (const std::uint64_t epochs : state.kept) right &= epochs < constants.epochs;
  if (!right) throw UsageError("slots, weights and iterates of the model do not fit; train it again");
  return state;
}

std::string iterate_name(std::uint64_t run, std::uint64_t epochs) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name(13, '0');
  for (std::size_t i = name.size(); i-- > 0; run >>= 4) name[i] = kDigits[run & 15];
  return name + "-" + std::to_string(epochs) + ".iterate";
}

void write_iterate(const std::filesystem::path& folder, const RewindState& state, std::uint64_t epochs,
                   const Matrix& weights) {
  const Json text = {{"run", state.run}, {"epochs_left", epochs}, {"step_size", state.constants.step_size}};
  write_model_file(folder / iterate_name(state.run, epochs),
                   {text.dump(), {{weights.data(), weights.data() + weights.size()}}});
}

Matrix read_iterate(const std::filesystem::path& folder, const RewindState& state, std::uint64_t epochs,
                    const Matrix& shape) {
  const std::filesystem::path path = folder / iterate_name(state.run, epochs);
  ModelFile file;
  try {
    file = read_model_file(path);
  } catch (const DataError& error) {
    throw DataError(std::string(error.what()) + "; train the model again");
  }
  const Json text = parse_json_or_discard(file.text);
  if (text.is_object() && text.value("run", Json()) == state.run && text.value("epochs_left", Json()) == epochs &&
      file.arrays.size() == 1 && file.arrays[0].size() == size_of(shape.size())) {
    Matrix weights = Eigen::Map<const Matrix>(file.arrays[0].data(), shape.rows(), shape.cols());
    if (weights.allFinite()) return weights;
  }
  throw DataError(path.string() + ": it is no iterate of this model; train the model again");
}

}  // namespace unweave
