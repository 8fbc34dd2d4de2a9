#include "storage/manifest.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "storage/checksum.h"
#include "storage/error.h"
#include "storage/file.h"
#include "storage/store_layout.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kManifestVersion = 4;
constexpr std::uint64_t kManifestLimit = std::uint64_t{64} << 20;

Json to_json(const FileEntry& entry) {
  return {{"path", entry.path}, {"bytes", entry.bytes}, {"root", entry.root}};
}

Json to_json(const std::optional<FileEntry>& entry) {
  return entry ? to_json(*entry) : Json();
}

Json to_json(const std::vector<FileEntry>& entries) {
  Json list = Json::array();
  for (const FileEntry& entry : entries) list.push_back(to_json(entry));
  return list;
}

FileEntry file_entry(const Json& json) {
  FileEntry entry{json.at("path").get<std::string>(), json.at("bytes").get<std::uint64_t>(),
                  json.at("root").get<std::string>()};
  const std::filesystem::path path(entry.path);
  const bool inside = !path.empty() && path.is_relative() &&
                      std::none_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
  if (!inside) throw std::runtime_error("the path '" + entry.path + "' leaves the store");
  return entry;
}

std::optional<FileEntry> optional_entry(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return file_entry(json);
}

std::vector<FileEntry> entry_list(const Json& json) {
  std::vector<FileEntry> entries;
  for (const Json& item : json) entries.push_back(file_entry(item));
  return entries;
}

Json to_json(const PropagationSpec& spec) {
  return {{"levels", spec.levels},         {"weights", spec.weights},
          {"scheme", spec.scheme},         {"rho", spec.rho},
          {"scale_bits", spec.scale_bits}, {"all_rows", spec.all_rows},
          {"code_norm", spec.code_norm},   {"column_norms", spec.column_norms}};
}

PropagationSpec propagation_spec(const Json& json) {
  PropagationSpec spec;
  spec.levels = json.at("levels").get<std::uint32_t>();
  spec.weights = json.at("weights").get<std::vector<double>>();
  spec.scheme = json.at("scheme").get<std::string>();
  spec.rho = json.at("rho").get<double>();
  spec.scale_bits = json.at("scale_bits").get<std::uint32_t>();
  spec.all_rows = json.at("all_rows").get<bool>();
  spec.code_norm = json.at("code_norm").get<double>();
  spec.column_norms = json.at("column_norms").get<std::vector<double>>();
  return spec;
}

/// The name alone where ids are positions.
Json order_json(const Manifest& m) {
  if (!m.order_file) return m.order;
  return {{"name", m.order}, {"file", to_json(*m.order_file)}};
}

void read_order(const Json& json, Manifest& m) {
  if (json.is_object()) {
    m.order = json.at("name").get<std::string>();
    m.order_file = file_entry(json.at("file"));
  } else {
    m.order = json.get<std::string>();
  }
  if ((m.order == "none") == m.order_file.has_value()) throw std::runtime_error("order: name and file disagree");
}

Json manifest_json(const Manifest& m) {
  Json levels = Json::array();
  for (const LevelFiles& level : m.levels)
    levels.push_back({{"partitions", to_json(level.partitions)},
                      {"run", to_json(level.run)},
                      {"counts", to_json(level.counts)},
                      {"stale", to_json(level.stale)},
                      {"targets", to_json(level.targets)},
                      {"lists", to_json(level.lists)}});
  return {{"nodes", m.nodes},
          {"features", m.features},
          {"classes", m.classes},
          {"standardized", m.standardized},
          {"sparse_features", m.feature_layout.sparse},
          {"feature_type", feature_type_name(m.feature_layout.type)},
          {"order", order_json(m)},
          {"edges", m.edges},
          {"shards", to_json(m.shards)},
          {"feature_files", to_json(m.feature_files)},
          {"labels", to_json(m.labels)},
          {"train", to_json(m.train)},
          {"valid", to_json(m.valid)},
          {"test", to_json(m.test)},
          {"changes", to_json(m.changes)},
          {"propagation", m.propagation ? to_json(*m.propagation) : Json()},
          {"levels", levels},
          {"sequence", m.sequence},
          {"journal", m.journal}};
}

Manifest manifest_from(const Json& json) {
  Manifest m;
  m.nodes = json.at("nodes").get<NodeId>();
  m.features = json.at("features").get<std::uint32_t>();
  m.classes = json.at("classes").get<std::uint32_t>();
  m.standardized = json.at("standardized").get<bool>();
  m.feature_layout.sparse = json.at("sparse_features").get<bool>();
  const auto type = feature_type_named(json.at("feature_type").get<std::string>());
  if (!type) throw std::runtime_error("feature_type: neither f32 nor f16");
  m.feature_layout.type = *type;
  read_order(json.at("order"), m);
  m.edges = json.at("edges").get<std::uint64_t>();
  m.shards = entry_list(json.at("shards"));
  m.feature_files = entry_list(json.at("feature_files"));
  m.labels = optional_entry(json.at("labels"));
  m.train = optional_entry(json.at("train"));
  m.valid = optional_entry(json.at("valid"));
  m.test = optional_entry(json.at("test"));
  m.changes = optional_entry(json.at("changes"));
  if (!json.at("propagation").is_null()) m.propagation = propagation_spec(json.at("propagation"));
  for (const Json& item : json.at("levels"))
    m.levels.push_back({entry_list(item.at("partitions")), optional_entry(item.at("run")),
                        optional_entry(item.at("counts")), optional_entry(item.at("stale")),
                        optional_entry(item.at("targets")), entry_list(item.at("lists"))});
  m.sequence = json.at("sequence").get<std::uint64_t>();
  m.journal = json.at("journal").get<std::string>();

  const auto need = [](bool ok, const char* what) {
    if (!ok) throw std::runtime_error(what);
  };
  const std::size_t spans = num_spans(m.nodes);
  need(m.shards.size() == spans, "shards: not one file a span");
  need(m.feature_files.size() == (m.features > 0 ? spans : 0), "feature_files: not one file a span");
  need(m.features > 0 || m.feature_layout.type == FeatureType::f32, "feature_type: f16 without features");
  need(m.propagation.has_value() ? m.levels.size() == m.propagation->levels + std::size_t{1} : m.levels.empty(),
       "levels: not one entry a level");
  if (m.propagation) {
    need(!m.propagation->weights.empty() && m.propagation->weights.size() % m.levels.size() == 0,
         "weights: not one a level");
    need(m.propagation->column_norms.size() == m.features, "column_norms: not one a column");
    need(m.propagation->scale_bits >= 8 && m.propagation->scale_bits <= 29, "scale_bits: outside 8 to 29");
    for (std::size_t level = 1; level < m.levels.size(); ++level)
      need(m.levels[level].partitions.size() == spans, "levels: not one partition a span");
    for (std::size_t level = 0; level < m.levels.size(); ++level) {
      const LevelFiles& one = m.levels[level];
      need(one.targets.has_value() ? level > 0 && level + 1 == m.levels.size() && !m.propagation->all_rows
                                   : one.lists.empty(),
           "lists: not of the last level's targets");
    }
    for (std::size_t level = 1; level + 1 < m.levels.size(); ++level)
      need(m.propagation->all_rows || m.levels[level].counts.has_value(), "levels: reference counts are missing");
  }
  need(m.journal.find('/') == std::string::npos, "journal: not a plain file name");
  return m;
}

}  // namespace

std::vector<FileEntry> Manifest::files() const {
  std::vector<FileEntry> all = shards;
  const auto add = [&](const std::optional<FileEntry>& entry) {
    if (entry) all.push_back(*entry);
  };
  all.insert(all.end(), feature_files.begin(), feature_files.end());
  for (const auto* entry : {&order_file, &labels, &train, &valid, &test, &changes}) add(*entry);
  for (const LevelFiles& level : levels) {
    all.insert(all.end(), level.partitions.begin(), level.partitions.end());
    for (const auto* entry : {&level.run, &level.counts, &level.stale, &level.targets}) add(*entry);
    all.insert(all.end(), level.lists.begin(), level.lists.end());
  }
  return all;
}

Manifest read_manifest(const std::filesystem::path& store) {
  const std::filesystem::path path = store / kManifestName;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw DataError(store.string() + ": no store here (manifest.json is missing); make one with `unweave import " +
                    store.string() + " --edges FILE`");
  const std::string text = read_text_file(path, kManifestLimit);
  try {
    const Json json = Json::parse(text);
    if (json.at("format").get<std::string>() != "unweave store" || json.at("version").get<int>() != kManifestVersion)
      throw std::runtime_error("format: this program reads version " + std::to_string(kManifestVersion) +
                               " of an unweave store; import it again");
    const std::string body = json.at("contents").dump();
    if (to_hex(checksum128(std::as_bytes(std::span(body)), {})) != json.at("checksum").get<std::string>())
      throw std::runtime_error("checksum: the contents are damaged");
    // Bytes that do not change the meaning, as blanks, are under no checksum; there is one right way to write them.
    if (json.dump(1) + "\n" != text) throw std::runtime_error("layout: not as this program writes it");
    return manifest_from(json.at("contents"));
  } catch (const DataError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw FormatError(path, "manifest", error.what());
  }
}

std::string manifest_text(const Manifest& manifest) {
  const Json contents = manifest_json(manifest);
  const std::string body = contents.dump();
  const Json json = {{"format", "unweave store"},
                     {"version", kManifestVersion},
                     {"checksum", to_hex(checksum128(std::as_bytes(std::span(body)), {}))},
                     {"contents", contents}};
  return json.dump(1) + "\n";
}

void write_manifest(const std::filesystem::path& store, const Manifest& manifest) {
  replace_file(store / kManifestName, manifest_text(manifest));
}

}  // namespace unweave
