// algorithms/models/model_record.cpp - a model as text and arrays, and back.
#include "algorithms/models/model_record.h"

#include <cmath>
#include <utility>

#include "algorithms/live/model_text.h"
#include "algorithms/models/certificate.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/models/row_program_json.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/random/hash.h"
#include "algorithms/registry/registry.h"
#include "algorithms/rows/row_maker.h"
#include "engine/generations/store_purge.h"
#include "storage/formats/manifest.h"
#include "storage/formats/model_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

template <class Dense>
std::vector<double> values_of(const Dense& dense) {
  return {dense.data(), dense.data() + dense.size()};
}

Json to_json(const ModelRecord& record) {
  const Model& model = record.model;
  const SolverOptions& options = record.options;
  const NetworkShape shape = shape_of(model);
  return {{"text", kModelText},
          {"solver", model.solver},
          {"sequence", model.sequence},
          {"releases", model.releases},
          {"trained_rows", model.trained_rows},
          {"features", shape.features},
          {"classes", shape.classes},
          {"options",
           {{"head", name_of(options.head)},
            {"hidden", options.hidden},
            {"activation", name_of(options.activation)},
            {"epsilon", options.epsilon},
            {"delta", options.delta},
            {"lambda", options.lambda},
            {"lambda_chosen", options.lambda_chosen},
            {"tau", options.tau},
            {"alpha", options.alpha},
            {"bound", options.bound == BoundRule::kPaper ? "paper" : "corrected"},
            {"standardized", options.standardized},
            {"intercept", options.intercept},
            {"parameters", options.parameters}}},
          {"weights", record.rows.weights},
          {"clip", record.clip},
          {"propagation",
           {{"levels", record.levels},
            {"rho", record.rho},
            {"scale_bits", record.scale_bits},
            {"all_rows", record.all_rows}}},
          {"certificate", record.certificate},
          {"private_part", record.private_part},
          {"release_key", record.release_key},
          {"receipt_secret", record.receipt_secret},
          {"requests", record.requests}};
}

KeptForm kept_form_of(const Json& json) {
  const auto keep = keep_named(json.at("keep").get<std::string>());
  const auto type = feature_type_named(json.at("type").get<std::string>());
  if (!keep || !type) throw std::runtime_error("its rows are kept in a form that is none");
  return {*keep, *type, json.at("exponent").get<std::int32_t>()};
}

/// The names of the arrays, in the order in which they follow the weights.
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

Matrix matrix_of(const std::vector<double>& values, std::size_t rows, std::size_t columns) {
  if (columns == 0 || values.size() / columns != rows || values.size() % columns != 0)
    throw std::runtime_error("an array has a wrong length");
  return Eigen::Map<const Matrix>(values.data(), index_of(rows), index_of(columns));
}

std::string_view bytes_of(const Matrix& weights) {
  return {reinterpret_cast<const char*>(weights.data()), size_of(weights.size()) * sizeof(double)};
}

ModelRecord from_json(const Json& json, const ModelFile& file) {
  if (file.arrays.empty()) throw std::runtime_error("it has no weights");
  ModelRecord record;
  Model& model = record.model;
  model.solver = json.at("solver").get<std::string>();
  record.name = json.value("name", std::string());
  model.sequence = whole_number<std::uint64_t>(json.at("sequence"));
  model.releases = whole_number<std::uint64_t>(json.at("releases"));
  model.trained_rows = whole_number<std::size_t>(json.at("trained_rows"));
  const auto features = whole_number<std::size_t>(json.at("features")),
             classes = whole_number<std::size_t>(json.at("classes"));
  const Json& options = json.at("options");
  record.options.head = model.head = parse_head(options.at("head").get<std::string>());
  for (const Json& width : options.value("hidden", Json::array()))
    record.options.hidden.push_back(whole_number<std::size_t>(width));
  record.options.activation = parse_activation(options.value("activation", std::string("tanh")));
  record.rows.weights = real_numbers(json.at("weights"));
  if (json.contains("rows")) read_program(record.rows, json.at("rows"));
  const Json& propagation = json.at("propagation");
  record.levels = whole_number<std::uint32_t>(propagation.at("levels"));
  record.options.blocks = blocks_of(record);
  record.options.has_program = !record.rows.only_levels();
  record.options.unit = record.rows.unit();
  if (!record.options.hidden.empty())
    model.network = NetworkShape{
        model.head, features, classes, record.options.hidden, record.options.activation, record.options.blocks};
  model.published = model.network ? matrix_of(file.arrays[0], Network(*model.network).size(), 1)
                                  : matrix_of(file.arrays[0], features, classes);
  model.state = state_from_json(json.at("state"), std::span(file.arrays).subspan(1));

  record.options.epsilon = real_number(options.at("epsilon"));
  record.options.delta = real_number(options.at("delta"));
  record.options.lambda = real_number(options.at("lambda"));
  record.options.lambda_chosen = options.value("lambda_chosen", std::string("public"));
  record.options.weights_chosen = options.value("weights_chosen", std::string(kPropagatedWeights));
  record.options.tau = real_number(options.at("tau"));
  record.options.alpha = real_number(options.at("alpha"));
  record.options.bound = parse_bound(options.at("bound").get<std::string>());
  record.options.standardized = options.at("standardized").get<bool>();
  record.options.intercept = options.value("intercept", false);
  if (record.options.intercept && (model.network || features < 2))
    throw std::runtime_error("its intercept has no room");
  record.options.parameters = options.at("parameters").get<decltype(record.options.parameters)>();
  record.clip = real_number(json.at("clip"));
  if (!(record.clip > 0)) throw std::runtime_error("clip is not above 0");
  record.rho = real_number(propagation.at("rho"));
  record.scale_bits = whole_number<std::uint32_t>(propagation.at("scale_bits"));
  record.all_rows = propagation.at("all_rows").get<bool>();
  if (propagation.contains("rows")) record.kept = kept_form_of(propagation.at("rows"));
  record.certificate = json.at("certificate").get<std::string>();
  record.private_part = json.at("private_part").get<std::string>();
  record.release_key = json.at("release_key").get<std::string>();
  record.receipt_secret = json.at("receipt_secret").get<std::string>();
  record.receipts_file = json.value("receipts_file", std::string());
  record.requests = json.at("requests").get<std::vector<std::string>>();
  return record;
}

/// What those who read the certificate of a model rely on. Throws std::runtime_error or an
/// exception of the library of JSON.
void require_certificate(const ModelRecord& record) {
  if (record.certificate.empty()) return;
  const Json certificate = parse_json(record.certificate);
  static_cast<void>(certificate.at("digest").get_ref<const std::string&>());
  if (record.requests.empty()) return;
  static_cast<void>(whole_number<std::uint64_t>(certificate.at("number")));
  static_cast<void>(whole_number<std::uint64_t>(certificate.at("batch").at("first")));
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& store, std::string_view name) {
  return file_of_model(store, kModelsFolder, name, "");
}

std::filesystem::path model_file(const std::filesystem::path& store, std::string_view name) {
  return file_of_model(store, kModelsFolder, name, kModelExtension);
}

std::filesystem::path release_file(const std::filesystem::path& store, std::string_view name) {
  return file_of_model(store, kCertificatesFolder, name, kReleaseExtension);
}

Hash weights_digest(const ModelRecord& record) {
  return hash_of(bytes_of(record.model.published));
}

Hash weights_commitment(const ModelRecord& record) {
  return hash_of(bytes_of(record.model.published), hash_from_hex(record.release_key).value_or(Hash{}));
}

std::string release_id(const ModelRecord& record) {
  const Hash hash = weights_commitment(record);
  return name_of(record) + "-" + std::to_string(record.model.releases) + "-" + to_hex(std::span(hash).first(8));
}

std::size_t blocks_of(const ModelRecord& record) {
  const SolverEntry* const entry = find_solver(record.model.solver);
  const bool side_by_side = entry != nullptr && !entry->filters;
  return record.rows.only_levels() && !side_by_side ? blocks_of(record.rows.weights, record.levels) : 1;
}

void stand_on(ModelRecord& record, const PropagationSpec& spec) {
  record.levels = spec.levels;
  record.options.blocks = blocks_of(record);
  record.options.has_program = !record.rows.only_levels();
  record.options.unit = record.rows.unit();
  record.rho = spec.rho;
  record.scale_bits = spec.scale_bits;
  record.all_rows = spec.all_rows;
  record.kept = spec.kept;
}

void check_propagation(const ModelRecord& record, const Manifest& manifest, const std::filesystem::path& store) {
  if (manifest.propagation) {
    const PropagationSpec& spec = *manifest.propagation;
    const NetworkShape shape = shape_of(record.model);
    if (record.levels == spec.levels && record.rho == spec.rho && record.scale_bits == spec.scale_bits &&
        record.all_rows == spec.all_rows && record.kept == spec.kept && shape.classes == manifest.classes &&
        shape.features ==
            form_of(record).features(width_of(record.rows, spec.levels, manifest.features, manifest.classes)))
      return;
  }
  const bool other_levels = manifest.propagation && manifest.propagation->levels != record.levels;
  if (other_levels && record.options.weights_chosen == "given")
    throw DataError(store.string() + ": the model of " + name_of(record) +
                    " stands on another propagation than the store's, with weights of " +
                    std::to_string(record.levels + 1) + " levels, of which there are " +
                    std::to_string(manifest.propagation->levels + 1) +
                    " now; train it with weights of these, or propagate the store as it was when it was trained");
  throw DataError(store.string() + ": the model of " + name_of(record) +
                  " stands on another propagation than the store's; run " + train_command(store, name_of(record)) +
                  " again, or propagate the store as it was when the model was trained");
}

void save_model(const std::filesystem::path& store, const ModelRecord& record) {
  const Model& model = record.model;
  Json json = to_json(record);
  if (name_of(record) != model.solver) json["name"] = record.name;
  if (!record.receipts_file.empty()) json["receipts_file"] = record.receipts_file;
  if (!record.kept.has_sums()) json["propagation"]["rows"] = rows_json(record.kept);
  if (!record.rows.only_levels()) json["rows"] = program_json(record.rows);
  if (record.options.weights_chosen != kPropagatedWeights)
    json["options"]["weights_chosen"] = record.options.weights_chosen;
  json["state"] = to_json(model.state);
  ModelFile file{text_of_json(json), {values_of(model.published)}};
  for (const auto& [name, values] : model.state.arrays) file.arrays.push_back(values);
  if (solver_entry(model.solver).canonical)
    write_canonical_text(model_file(store, name_of(record)), release_file(store, name_of(record)),
                         {std::move(json), std::move(file)});
  else
    write_model_file(model_file(store, name_of(record)), file);
}

void sync_model(const std::filesystem::path& store, std::string_view name) {
  sync_directory(model_file(store, name).parent_path());
}

ModelRecord load_model(const std::filesystem::path& store, const Manifest& manifest, std::string_view name) {
  const std::filesystem::path path = model_file(store, name);
  if (!has_entry(path) || purge_state(store) == PurgeState::decided) {
    require_no_recorded_model(store, manifest, name);
    throw UsageError(store.string() + ": " + std::string(name) + " is not trained yet; run " +
                     train_command(store, name) + " first");
  }
  const bool recorded = is_recorded_model(store, manifest, name);
  const ModelText model = read_model_text(path, release_file(store, name));
  return take_apart(path, [&] {
    ModelRecord record = from_json(model.text, model.file);
    require_certificate(record);
    if (name_of(record) != name || find_solver(record.model.solver) == nullptr)
      throw std::runtime_error("it is a model of " + name_of(record));
    if (!recorded) require_later(store, manifest, record);
    return record;
  });
}

ModelRecord load_model(const std::filesystem::path& store, std::string_view name) {
  for (Manifest manifest = read_manifest(store);;) {
    try {
      return load_model(store, manifest, name);
    } catch (const DataError&) {  // also where a purge has removed it since
      Manifest now = read_manifest(store);
      if (now.releases == manifest.releases) throw;
      manifest = std::move(now);
    }
  }
}

std::vector<ModelSummary> list_models(const std::filesystem::path& store) {
  std::vector<ModelSummary> models;
  const Manifest manifest = read_manifest(store);
  for (const std::string& name : model_names(store, manifest)) {
    const std::filesystem::path path = model_file(store, name);
    if (!has_entry(path) && manifest.release(path.lexically_relative(store).string()) == nullptr) continue;
    try {
      const ModelRecord record = load_model(store, name);
      const Model& model = record.model;
      models.push_back({name,
                        model.solver,
                        record.certificate.empty() ? std::string() : release_id(record),
                        weights_digest(record),
                        model.sequence,
                        model.releases,
                        text_of(record.rows),
                        {}});
    } catch (const UsageError&) {  // there is none
    } catch (const FormatError& error) {
      models.push_back({.name = name, .damage = error.message()});
    } catch (const RecordError& error) {
      models.push_back({.name = name, .damage = error.message()});
    }
  }
  return models;
}

}  // namespace unweave
