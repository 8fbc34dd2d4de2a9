// tools/commands/info.cpp - `unweave info`: what a store holds at this moment.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "engine/generations/store_purge.h"
#include "engine/resources/memory.h"
#include "tools/cli/message_style.h"
#include "tools/cli/option_values.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_output.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes of the files in each folder of the store that this generation names.
Json folder_bytes(const Manifest& manifest) {
  Json folders = Json::object();
  for (const FileEntry& file : manifest.files()) {
    const std::string folder = std::filesystem::path(file.path).begin()->string();
    folders[folder] = folders.value(folder, std::uint64_t{0}) + file.bytes;
  }
  return folders;
}

std::uint64_t num_targets(const LiveStore& store) {
  if (store.propagated()) return store.embedding().cone().rows(store.embedding().levels());
  // What `propagate` takes by default.
  return store.contents().has_labels() ? store.contents().num_labelled() : store.contents().num_nodes();
}

Json level_rows(const Embedding& embedding) {
  Json levels = Json::array();
  for (std::uint32_t level = 0; level <= embedding.levels(); ++level)
    levels.push_back({{"level", level},
                      {"rows", level == 0 ? 0 : embedding.cone().rows(level)},
                      {"stale_rows", level < embedding.levels() ? embedding.stale(level).size() : 0}});
  return levels;
}

/// Whether the model of this name was trained on the store's present propagation.
bool stands_on_present(const std::string& name, const LiveStore& store) {
  try {
    check_propagation(load_model(store.path(), name), store.manifest(), store.path());
    return true;
  } catch (const UsageError&) {
    return true;  // purged meanwhile
  } catch (const DataError&) {
    return false;
  }
}

Json models_of(const std::vector<ModelSummary>& summaries, const LiveStore& store) {
  Json models = Json::array();
  for (const ModelSummary& model : summaries) {
    Json one = {{"name", model.name}, {"solver", model.solver}};
    if (model.damage.empty())
      one.update({{"id", model.id},
                  {"sequence", model.sequence},
                  {"outdated", model.sequence != store.sequence()},
                  {"other_propagation", !stands_on_present(model.name, store)}});
    else
      one["damage"] = command_text(model.damage);
    models.push_back(std::move(one));
  }
  return models;
}

Json describe_store(const LiveStore& store, const std::vector<ModelSummary>& models) {
  const Manifest& manifest = store.manifest();
  const Contents& contents = store.contents();
  const std::uint64_t arcs = contents.graph().num_arcs();
  const Embedding* embedding = store.propagated() ? &store.embedding() : nullptr;
  const std::uint64_t shard_bytes = bytes_of(manifest.shards);
  Json info = {{"nodes", manifest.nodes},
               {"edges", arcs / 2},
               {"arcs", arcs},
               {"features", manifest.features},
               {"classes", manifest.classes},
               {"targets", num_targets(store)},
               {"bits_per_arc", nullptr},
               {"order", manifest.order},
               {"hops", nullptr},
               {"stale_rows", embedding != nullptr ? embedding->stale_rows() : 0},
               {"lazy_error_bound", embedding != nullptr ? lazy_error_bound(*embedding, store.contents()) : 0},
               {"pending_requests", store.pending_requests()},
               {"acknowledged", store.sequence()},
               {"pending_purge", purge_state(store.path()) != PurgeState::none},
               {"labelled", contents.num_labelled()},
               {"train", contents.train().size()},
               {"valid", contents.valid().size()},
               {"test", contents.test().size()},
               {"standardized", manifest.standardized},
               {"scale", manifest.features > 0 ? Json(scale_text(manifest.scale)) : Json()},
               {"sparse_features", manifest.feature_layout.sparse},
               {"feature_type", feature_type_name(manifest.feature_layout.type)},
               {"bytes", folder_bytes(manifest)}};
  if (arcs > 0) info["bits_per_arc"] = 8.0 * static_cast<double>(shard_bytes) / static_cast<double>(arcs);
  if (embedding != nullptr) {
    const PropagationSpec& spec = embedding->spec();
    info["hops"] = spec.levels;
    info["scheme"] = spec.scheme;
    info["weights"] = spec.weights;
    info["rho"] = spec.rho;
    info["scale_bits"] = spec.scale_bits;
    info["rows"] = spec.all_rows ? "all" : "labelled";
    info["levels"] = level_rows(*embedding);
  }
  info["models"] = models_of(models, store);
  return info;
}

/// The first ones, where they are many.
std::string weights_text(const std::vector<double>& weights) {
  constexpr std::size_t kMost = 5, kFirst = 3;
  std::string text;
  for (std::size_t i = 0; i < (weights.size() <= kMost ? weights.size() : kFirst); ++i)
    text += (i == 0 ? "" : ", ") + number_text(weights[i]);
  if (weights.size() <= kMost) return text;
  return count_text(weights.size()) + ": " + text + ", ... (all with --json)";
}

std::string cell(const std::string& name, const Json& value) {
  if (value.is_null()) return name == "hops" ? "not propagated" : "-";
  if (value.is_number_unsigned()) return count_text(value.get<std::uint64_t>());
  if (value.is_number()) return number_text(value.get<double>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array() && name == "weights") return weights_text(value.get<std::vector<double>>());
  return value.dump();
}

void print_tables(const Json& info, std::ostream& out) {
  Table facts;
  for (const auto& [name, value] : info.items()) {
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    if (name == "bytes") {
      for (const auto& [folder, bytes] : value.items())
        facts.add_row({"size of " + folder, bytes_text(bytes.get<std::uint64_t>())});
    } else if (name == "models") {
      for (const Json& model : value)
        facts.add_row({"model " + model_text(model.at("name"), model.at("solver")),
                       model.contains("damage")                ? "damaged"
                       : model.at("other_propagation") == true ? "stands on another propagation"
                       : model.at("outdated") == true          ? "outdated"
                                                               : "up to date"});
    } else if (name != "levels") {
      facts.add_row({label, cell(name, value)});
    }
  }
  facts.print(out);
  if (!info.contains("levels")) return;
  out << '\n';
  Table levels({"level", "rows", "stale rows"});
  for (const Json& level : info.at("levels"))
    levels.add_row({level.at("level").dump(), cell("rows", level.at("rows")), cell("stale", level.at("stale_rows"))});
  levels.print(out);
}

}  // namespace

void run_info(CommandLine& line) {
  line.describe("Prints what a store holds: counts, sizes, the state of every level, requests.", {"STORE"},
                "unweave info demo/debian.store");
  line.options().add_options()("digest", po::bool_switch(), "compute the content digest, which --json always holds");
  if (!line.parse()) return;
  MemoryBudget budget(line.budget_bytes());
  std::vector<ModelSummary> models =
      list_models(line.positional(0));  // first: a writer at work acknowledges requests first
  const LiveStore store(line.positional(0), Access::read, budget, release_ledger());
  const auto is_later = [&](const ModelSummary& model) { return model.sequence > store.sequence(); };
  if (std::any_of(models.begin(), models.end(), is_later)) models = list_models(store.path());  // purged meanwhile
  Json info = describe_store(store, models);
  if (line.common().json || line.get<bool>("digest")) info["digest"] = digest_text(content_digest(store));
  if (line.common().json)
    write_json_line(line.out(), info);
  else
    print_tables(info, line.out());
}

}  // namespace unweave
