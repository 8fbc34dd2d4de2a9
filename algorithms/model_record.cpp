// algorithms/model_record.cpp - a model as text and arrays, and back.
#include "algorithms/model_record.h"

#include <cmath>
#include <new>
#include <nlohmann/json.hpp>

#include "engine/store_purge.h"
#include "storage/checksum.h"
#include "storage/error.h"
#include "storage/file.h"
#include "storage/model_file.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path path_of(const std::filesystem::path& store, std::string_view solver) {
  return store / "models" / (std::string(solver) + ".model");
}

template <class Dense>
std::vector<double> values_of(const Dense& dense) {
  return {dense.data(), dense.data() + dense.size()};
}

Json to_json(const LangevinState& state) {
  const LangevinConstants& constants = state.constants;
  return {{"slots", constants.slots},         {"batch_rows", constants.batch_rows},
          {"epochs", constants.epochs},       {"step_size", constants.step_size},
          {"radius", constants.radius},       {"sigma", constants.sigma},
          {"order_key", constants.order_key}, {"distance", state.distance},
          {"last_epochs", state.last_epochs}, {"adaptive_requests", state.adaptive_requests},
          {"lazy_rows", state.lazy_rows}};
}

LangevinState langevin_from_json(const Json& json, const std::vector<double>& slots) {
  LangevinState state;
  LangevinConstants& constants = state.constants;
  constants.slots = json.at("slots").get<std::uint64_t>();
  constants.batch_rows = json.at("batch_rows").get<std::uint64_t>();
  constants.epochs = json.at("epochs").get<std::uint64_t>();
  constants.step_size = json.at("step_size").get<double>();
  constants.radius = json.at("radius").get<double>();
  constants.sigma = json.at("sigma").get<double>();
  constants.order_key = json.at("order_key").get<std::uint64_t>();
  state.distance = json.at("distance").get<double>();
  state.last_epochs = json.at("last_epochs").get<std::uint64_t>();
  state.adaptive_requests = json.at("adaptive_requests").get<bool>();
  state.lazy_rows = json.at("lazy_rows").get<bool>();
  if (slots.size() != constants.slots || constants.batch_rows == 0)
    throw std::runtime_error("slots and batches do not fit");
  for (const double node : slots) {
    if (!(node >= 0 && node <= static_cast<double>(kNoNode)) || node != std::floor(node))
      throw std::runtime_error("a slot holds no node");
    state.slots.push_back(static_cast<NodeId>(node));
  }
  return state;
}

Json to_json(const ModelRecord& record) {
  const Model& model = record.model;
  const SolverOptions& options = record.options;
  const NetworkShape shape = shape_of(model);
  return {{"solver", model.solver},
          {"sequence", model.sequence},
          {"releases", model.releases},
          {"trained_rows", model.trained_rows},
          {"features", shape.features},
          {"classes", shape.classes},
          {"spectral_bound", model.spectral_bound},
          {"spectral_fresh", model.spectral_fresh},
          {"options",
           {{"head", name_of(options.head)},
            {"hidden", options.hidden},
            {"activation", name_of(options.activation)},
            {"epsilon", options.epsilon},
            {"delta", options.delta},
            {"lambda", options.lambda},
            {"tau", options.tau},
            {"alpha", options.alpha},
            {"bound", options.bound == BoundRule::kPaper ? "paper" : "corrected"},
            {"standardized", options.standardized},
            {"parameters", options.parameters}}},
          {"weights", record.weights},
          {"clip", record.clip},
          {"propagation",
           {{"levels", record.levels},
            {"rho", record.rho},
            {"scale_bits", record.scale_bits},
            {"all_rows", record.all_rows}}},
          {"certificate", record.certificate}};
}

/// The names of the arrays, in the order in which they follow the first ones.
Json to_json(const SolverState& state) {
  Json arrays = Json::array();
  for (const auto& [name, values] : state.arrays) arrays.push_back(name);
  return {{"numbers", state.numbers}, {"arrays", std::move(arrays)}};
}

SolverState state_from_json(const Json& json, std::span<const std::vector<double>> arrays) {
  SolverState state;
  state.numbers = json.at("numbers").get<decltype(state.numbers)>();
  const auto names = json.at("arrays").get<std::vector<std::string>>();
  if (names.size() != arrays.size()) throw std::runtime_error("it has another number of arrays");
  for (std::size_t i = 0; i < names.size(); ++i) state.arrays[names[i]] = arrays[i];
  return state;
}

Matrix matrix_of(const std::vector<double>& values, std::size_t rows, std::size_t columns, bool optional) {
  if (optional && values.empty()) return {};
  if (columns == 0 || values.size() / columns != rows || values.size() % columns != 0)
    throw std::runtime_error("an array has a wrong length");
  return Eigen::Map<const Matrix>(values.data(), index_of(rows), index_of(columns));
}

ModelRecord from_json(const Json& json, const ModelFile& file) {
  const bool langevin = json.contains("langevin");
  const std::size_t fixed = langevin ? 5 : 4;
  if (file.arrays.size() < fixed) throw std::runtime_error("it has another number of arrays");
  ModelRecord record;
  Model& model = record.model;
  model.solver = json.at("solver").get<std::string>();
  model.sequence = json.at("sequence").get<std::uint64_t>();
  model.releases = json.at("releases").get<std::uint64_t>();
  model.trained_rows = json.at("trained_rows").get<std::size_t>();
  const auto features = json.at("features").get<std::size_t>(), classes = json.at("classes").get<std::size_t>();
  model.spectral_bound = json.at("spectral_bound").get<double>();
  model.spectral_fresh = json.at("spectral_fresh").get<double>();
  const Json& options = json.at("options");
  record.options.head = model.head = parse_head(options.at("head").get<std::string>());
  record.options.hidden = options.value("hidden", std::vector<std::size_t>{});
  record.options.activation = parse_activation(options.value("activation", std::string("tanh")));
  record.weights = json.at("weights").get<std::vector<double>>();
  const Json& propagation = json.at("propagation");
  record.levels = propagation.at("levels").get<std::uint32_t>();
  record.options.blocks = blocks_of(record);
  if (!record.options.hidden.empty())
    model.network = NetworkShape{
        model.head, features, classes, record.options.hidden, record.options.activation, record.options.blocks};
  model.published = model.network ? matrix_of(file.arrays[0], Network(*model.network).size(), 1, false)
                                  : matrix_of(file.arrays[0], features, classes, false);
  model.objective_noise = matrix_of(file.arrays[1], features, classes, true);
  model.accumulated = matrix_of(file.arrays[2], classes, 1, true).reshaped();
  model.accumulated_printed = matrix_of(file.arrays[3], classes, 1, true).reshaped();
  if (langevin) model.langevin = langevin_from_json(json.at("langevin"), file.arrays[4]);
  model.state = state_from_json(json.at("state"), std::span(file.arrays).subspan(fixed));

  record.options.epsilon = options.at("epsilon").get<double>();
  record.options.delta = options.at("delta").get<double>();
  record.options.lambda = options.at("lambda").get<double>();
  record.options.tau = options.at("tau").get<double>();
  record.options.alpha = options.at("alpha").get<double>();
  record.options.bound = parse_bound(options.at("bound").get<std::string>());
  record.options.standardized = options.at("standardized").get<bool>();
  record.options.parameters = options.at("parameters").get<decltype(record.options.parameters)>();
  record.clip = json.at("clip").get<double>();
  record.rho = propagation.at("rho").get<double>();
  record.scale_bits = propagation.at("scale_bits").get<std::uint32_t>();
  record.all_rows = propagation.at("all_rows").get<bool>();
  record.certificate = json.at("certificate").get<std::string>();
  return record;
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& store, std::string_view solver) {
  return store / "models" / solver;
}

std::string release_id(const Model& model) {
  const auto bytes = std::as_bytes(std::span(model.published.data(), size_of(model.published.size())));
  const Checksum128 checksum = checksum128(bytes, {});
  return model.solver + "-" + std::to_string(model.releases) + "-" + to_hex(std::span(checksum).first(8));
}

std::size_t blocks_of(const ModelRecord& record) {
  return record.weights.size() / (std::size_t{record.levels} + 1);
}

void stand_on(ModelRecord& record, const PropagationSpec& spec) {
  record.levels = spec.levels;
  record.options.blocks = blocks_of(record);
  record.rho = spec.rho;
  record.scale_bits = spec.scale_bits;
  record.all_rows = spec.all_rows;
}

void check_propagation(const ModelRecord& record, const Manifest& manifest, const std::filesystem::path& store) {
  if (manifest.propagation) {
    const PropagationSpec& spec = *manifest.propagation;
    const NetworkShape shape = shape_of(record.model);
    if (record.levels == spec.levels && record.rho == spec.rho && record.scale_bits == spec.scale_bits &&
        record.all_rows == spec.all_rows && shape.features == manifest.features * blocks_of(record) &&
        shape.classes == manifest.classes)
      return;
  }
  throw DataError(store.string() + ": the model of " + record.model.solver +
                  " stands on another propagation than the store's; run `unweave train " + store.string() +
                  " --solver " + record.model.solver + "` again");
}

void save_model(const std::filesystem::path& store, const ModelRecord& record) {
  const Model& model = record.model;
  Json json = to_json(record);
  if (model.langevin) json["langevin"] = to_json(*model.langevin);
  json["state"] = to_json(model.state);
  ModelFile file{json.dump(),
                 {values_of(model.published), values_of(model.objective_noise), values_of(model.accumulated),
                  values_of(model.accumulated_printed)}};
  if (model.langevin) file.arrays.emplace_back(model.langevin->slots.begin(), model.langevin->slots.end());
  for (const auto& [name, values] : model.state.arrays) file.arrays.push_back(values);
  write_model_file(path_of(store, model.solver), file);
}

void sync_model(const std::filesystem::path& store, std::string_view solver) {
  sync_directory(path_of(store, solver).parent_path());
}

ModelRecord load_model(const std::filesystem::path& store, std::string_view solver) {
  const std::filesystem::path path = path_of(store, solver);
  if (!std::filesystem::exists(path) || purge_state(store) == PurgeState::decided)
    throw UsageError(store.string() + ": " + std::string(solver) + " is not trained yet; run `unweave train " +
                     store.string() + " --solver " + std::string(solver) + "` first");
  const ModelFile file = read_model_file(path);
  try {
    ModelRecord record = from_json(Json::parse(file.text), file);
    if (record.model.solver != solver) throw std::runtime_error("it is a model of " + record.model.solver);
    return record;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw FormatError(path, "text", error.what());
  }
}

std::vector<ModelSummary> list_models(const std::filesystem::path& store) {
  std::vector<ModelSummary> models;
  if (purge_state(store) == PurgeState::decided) return models;
  for (const std::string_view solver : solver_names()) {
    if (!std::filesystem::exists(path_of(store, solver))) continue;
    try {
      const Model model = load_model(store, solver).model;
      models.push_back({model.solver, release_id(model), model.sequence, model.releases, {}});
    } catch (const FormatError& error) {
      models.push_back({std::string(solver), {}, 0, 0, error.what()});
    }
  }
  return models;
}

}  // namespace unweave
