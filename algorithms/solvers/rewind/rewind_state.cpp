// algorithms/solvers/rewind/rewind_state.cpp - the state as numbers and arrays of a model, and
// files of iterates.
#include "algorithms/solvers/rewind/rewind_state.h"

#include <cmath>

#include "storage/formats/model_file.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

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

RewindState rewind_state(const Model& model) {
  const SolverState& kept = model.state;
  RewindState state;
  RewindConstants& constants = state.constants;
  constants.slots = kept.count("slots");
  constants.batch_rows = kept.count("batch_rows");
  constants.epochs = kept.count("epochs");
  constants.step_size = kept.number("step_size");
  constants.radius = kept.number("radius");
  constants.order_key = kept.count("order_key");
  const std::uint64_t sampling = kept.count("sampling");
  constants.sampling = static_cast<Sampling>(sampling);
  constants.sigma = kept.number("sigma");
  constants.capacity = kept.number("capacity");
  constants.retention = kept.number("retention");
  state.run = kept.count("run");
  state.last_epochs = kept.count("last_epochs");
  state.adaptive_requests = kept.flag("adaptive_requests");
  state.lazy_rows = kept.flag("lazy_rows");
  state.slots = kept.slots("slots");
  state.weights = kept.array("weights");
  bool right = sampling <= 2 && constants.batch_rows > 0 && constants.epochs > 0 &&
               state.slots.size() == constants.slots && state.weights.size() == constants.slots;
  for (const double epochs : kept.array("kept")) {
    right = right && epochs >= 0 && epochs < static_cast<double>(constants.epochs) && epochs == std::floor(epochs);
    if (right) state.kept.push_back(static_cast<std::uint64_t>(epochs));
  }
  for (const double weight : state.weights) right = right && weight >= 0 && std::isfinite(weight);
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
                   {text_of_json(text), {{weights.data(), weights.data() + weights.size()}}});
}

Matrix read_iterate(const std::filesystem::path& folder, const RewindState& state, std::uint64_t epochs,
                    const Matrix& shape) {
  const std::filesystem::path path = folder / iterate_name(state.run, epochs);
  ModelFile file;
  try {
    file = read_model_file(path);
  } catch (const DataError& error) {
    throw DataError(error.message() + "; train the model again");
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
