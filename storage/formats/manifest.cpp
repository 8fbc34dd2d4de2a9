// storage/formats/manifest.cpp - writes manifest.json, and reads it with a check of every field.
#include "storage/formats/manifest.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "storage/formats/feature_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/map_guard.h"
#include "storage/io/shell_word.h"
#include "storage/io/store_folders.h"
#include "storage/types/changes.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kManifestLimit = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostSequence = std::uint64_t{1} << 62;

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

/// An entry whose path is a file in one of `folders`: without "..", and without a way through other
/// folders.
FileEntry file_entry(const Json& json, std::span<const char* const> folders = kStoreFolders) {
  FileEntry entry{json.at("path").get<std::string>(), whole_number<std::uint64_t>(json.at("bytes")),
                  json.at("root").get<std::string>()};
  const std::size_t slash = entry.path.find('/');
  const std::string folder = entry.path.substr(0, slash), name = entry.path.substr(std::min(slash, entry.path.size()));
  const bool known = std::find(folders.begin(), folders.end(), folder) != folders.end();
  if (!known || name.size() < 2 || name == "/." || name == "/.." || name.find('/', 1) != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw std::runtime_error("the path " + text_of_json(Json(entry.path)) + " leaves the store");
  return entry;
}

std::optional<FileEntry> optional_entry(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return file_entry(json);
}

std::vector<FileEntry> entry_list(const Json& json, std::span<const char* const> folders = kStoreFolders) {
  if (!json.is_array()) throw std::runtime_error("a list of files is missing");
  std::vector<FileEntry> entries;
  for (const Json& item : json) entries.push_back(file_entry(item, folders));
  return entries;
}

Json to_json(const PropagationSpec& spec) {
  Json json = {{"levels", spec.levels},         {"weights", spec.weights},
               {"scheme", spec.scheme},         {"rho", spec.rho},
               {"scale_bits", spec.scale_bits}, {"all_rows", spec.all_rows},
               {"code_norm", spec.code_norm},   {"column_norms", spec.column_norms}};
  if (spec.kept.has_sums()) return json;
  json["keep"] = keep_name(spec.kept.keep);
  json["keep_type"] = feature_type_name(spec.kept.type);
  json["keep_exponent"] = spec.kept.exponent;
  return json;
}

/// Nothing is said where sums are kept.
KeptForm kept_form(const Json& json) {
  KeptForm kept;
  if (!json.contains("keep")) return kept;
  const auto keep = keep_named(json.at("keep").get<std::string>());
  const auto type = feature_type_named(json.at("keep_type").get<std::string>());
  const Json& exponent = json.at("keep_exponent");
  if (!keep || *keep == Keep::state || !type || !exponent.is_number_integer())
    throw std::runtime_error("keep: no form of kept rows");
  const auto value = exponent.get<std::int64_t>();
  if (value < -kMostKeptExponent || value > kMostKeptExponent || (*type == FeatureType::f32 && value != 0))
    throw std::runtime_error("keep_exponent: outside -64 to 64, or not 0 for f32");
  kept = {*keep, *type, static_cast<std::int32_t>(value)};
  return kept;
}

PropagationSpec propagation_spec(const Json& json) {
  PropagationSpec spec;
  spec.levels = whole_number<std::uint32_t>(json.at("levels"));
  spec.weights = real_numbers(json.at("weights"));
  spec.scheme = json.at("scheme").get<std::string>();
  spec.rho = real_number(json.at("rho"));
  spec.scale_bits = whole_number<std::uint32_t>(json.at("scale_bits"));
  spec.all_rows = json.at("all_rows").get<bool>();
  spec.code_norm = real_number(json.at("code_norm"));
  spec.column_norms = real_numbers(json.at("column_norms"));
  spec.kept = kept_form(json);
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

/// A word where edges have directions alone, an object where they have relations.
Json layers_json(const Layers& layers) {
  if (layers.relations.empty()) return "directed";
  Json json = {{"relations", relation_names(layers)}, {"subsets", layers.subsets}};
  if (layers.directed) json["directed"] = true;
  if (!knows_ends(layers)) return json;
  Json& all = json["ends"] = Json::array();
  for (const Relation& relation : layers.relations)
    all.push_back(relation.ends ? Json({relation.ends->u, relation.ends->v}) : Json());
  return json;
}

void read_ends(const Json& json, Layers& layers) {
  if (json.size() != layers.relations.size()) throw std::runtime_error("layers: ends of another number of relations");
  for (std::size_t r = 0; r < json.size(); ++r) {
    if (json[r].is_null()) continue;
    if (json[r].size() != 2) throw std::runtime_error("layers: ends that are not two");
    layers.relations[r].ends =
        EndTypes{whole_number<std::uint32_t>(json[r].at(0)), whole_number<std::uint32_t>(json[r].at(1))};
  }
  if (!knows_ends(layers)) throw std::runtime_error("layers: ends of no relation");
}

Json types_json(const NodeTypes& types) {
  Json json = Json::array();
  for (const NodeType& type : types) json.push_back({{"name", type.name}, {"nodes", type.nodes}});
  return json;
}

NodeTypes types_from(const Json& json) {
  NodeTypes types;
  for (const Json& type : json)
    types.push_back({type.at("name").get<std::string>(), whole_number<std::uint64_t>(type.at("nodes"))});
  const std::string fault = types.empty() ? "none" : node_types_fault(types);
  if (!fault.empty()) throw std::runtime_error("types: " + fault);
  return types;
}

Layers layers_from(const Json& json, const NodeTypes& types) {
  Layers layers;
  if (json.is_string()) {
    layers.directed = json == "directed";
  } else {
    for (const Json& name : json.at("relations")) layers.relations.push_back({name.get<std::string>()});
    for (const Json& subset : json.at("subsets")) {
      layers.subsets.emplace_back();
      for (const Json& relation : subset) layers.subsets.back().push_back(whole_number<std::uint32_t>(relation));
    }
    layers.directed = json.contains("directed");
    if (layers.directed && json.at("directed") != true) throw std::runtime_error("layers: directed, and not true");
    if (json.contains("ends")) read_ends(json.at("ends"), layers);
  }
  const std::string fault = layers.any() ? layers_fault(layers, types) : "none";
  if (!fault.empty()) throw std::runtime_error("layers: " + fault);
  return layers;
}

Json pairs_json(const PairFiles& pairs) {
  const PairRules& rules = pairs.rules;
  return {{"key", rules.key},
          {"below", {rules.below_valid, rules.below_test, rules.below_label}},
          {"negatives", rules.negatives},
          {"uniform", rules.uniform},
          {"apart", rules.apart},
          {"edges", pairs.edges},
          {"shards", to_json(pairs.shards)},
          {"changes", to_json(pairs.changes)}};
}

PairFiles pairs_from(const Json& json) {
  PairFiles pairs;
  PairRules& rules = pairs.rules;
  const auto below = json.at("below").get<std::vector<Json>>();
  if (below.size() != 3) throw std::runtime_error("pairs: not three bounds");
  rules.key = whole_number<std::uint64_t>(json.at("key"));
  rules.below_valid = whole_number<std::uint64_t>(below[0]);
  rules.below_test = whole_number<std::uint64_t>(below[1]);
  rules.below_label = whole_number<std::uint64_t>(below[2]);
  rules.negatives = whole_number<std::uint32_t>(json.at("negatives"));
  rules.uniform = whole_number<std::uint64_t>(json.at("uniform"));
  rules.apart = json.at("apart").get<bool>();
  if (const std::string fault = pair_rules_fault(rules); !fault.empty()) throw std::runtime_error("pairs: " + fault);
  pairs.edges = whole_number<std::uint64_t>(json.at("edges"));
  if (json.contains("weight_sum")) pairs.weight_sum = whole_number<std::uint64_t>(json.at("weight_sum"));
  pairs.shards = entry_list(json.at("shards"));
  pairs.changes = optional_entry(json.at("changes"));
  return pairs;
}

Json graphs_json(const GraphFiles& graphs) {
  return {{"count", graphs.count},          {"of_nodes", to_json(graphs.of_nodes)}, {"labels", to_json(graphs.labels)},
          {"train", to_json(graphs.train)}, {"valid", to_json(graphs.valid)},       {"test", to_json(graphs.test)}};
}

GraphFiles graphs_from(const Json& json) {
  GraphFiles graphs;
  graphs.count = whole_number<std::uint32_t>(json.at("count"));
  graphs.of_nodes = file_entry(json.at("of_nodes"));
  graphs.labels = optional_entry(json.at("labels"));
  graphs.train = optional_entry(json.at("train"));
  graphs.valid = optional_entry(json.at("valid"));
  graphs.test = optional_entry(json.at("test"));
  return graphs;
}

void require_graphs_in_place(const Manifest& m) {
  const auto need = [](bool ok, const char* what) {
    if (!ok) throw std::runtime_error(what);
  };
  const GraphFiles& graphs = *m.graphs;
  need(graphs.count > 0 && graphs.count <= kMostGraphs, "graphs: none, or too many");
  need(!m.layers.any(), "graphs: of copies of nodes");
  need(!graphs.labels || !m.labels, "graphs: labels of nodes and of graphs");
  need(graphs.labels || (!graphs.train && !graphs.valid && !graphs.test), "graphs: splits without labels");
}

Json level_json(const LevelFiles& files) {
  Json json = Json::object();
  for (const LevelFileKind& kind : kLevelFileKinds) {
    if (kind.only_with_rows && files_of(files, kind).empty()) continue;
    json[kind.key] = kind.list != nullptr ? to_json(files.*kind.list) : to_json(files.*kind.one);
  }
  return json;
}

LevelFiles level_files(const Json& json) {
  LevelFiles files;
  for (const LevelFileKind& kind : kLevelFileKinds) {
    if (kind.only_with_rows && !json.contains(kind.key)) continue;
    const Json& field = json.at(kind.key);
    if (kind.only_with_rows && field.empty()) throw std::runtime_error("an empty list of files that is left out else");
    if (kind.list != nullptr)
      files.*kind.list = entry_list(field);
    else
      files.*kind.one = optional_entry(field);
  }
  return files;
}

/// Lists of a wrong length are told first, then files where there may be none, then missing ones.
void require_files_in_place(const Manifest& m) {
  const auto refuse = [&](const auto& is_wrong) {
    for (const LevelFileKind& kind : kLevelFileKinds)
      for (std::uint32_t level = 0; level < m.levels.size(); ++level) {
        const LevelPlace place = m.place(level);
        if (is_wrong(kind, kind.presence(place), files_of(place.files, kind).size()))
          throw std::runtime_error(kind.fault);
      }
  };
  const std::size_t spans = num_spans(m.nodes);
  refuse([&](const LevelFileKind& kind, Presence presence, std::size_t files) {
    return kind.one_a_span && files != (presence == Presence::always ? spans : 0);
  });
  refuse([](const LevelFileKind&, Presence presence, std::size_t files) {
    return presence == Presence::never && files > 0;
  });
  refuse([](const LevelFileKind& kind, Presence presence, std::size_t files) {
    return presence == Presence::always && !kind.one_a_span && files == 0;
  });
}

Json manifest_json(const Manifest& m) {
  Json levels = Json::array();
  for (const LevelFiles& files : m.levels) levels.push_back(level_json(files));
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
          {"levels", std::move(levels)},
          {"sequence", m.sequence},
          {"journal", to_json(m.journal)},
          {"releases", to_json(m.releases)}};
}

/// The unit of real weights; none where weights are whole numbers.
std::optional<WeightUnit> weight_unit_from(const Json& weights) {
  if (!weights.contains("unit") && !weights.contains("self")) return std::nullopt;
  const auto exponent = weights.at("unit").get<std::int64_t>();
  const auto self = whole_number<std::uint32_t>(weights.at("self"));
  if (exponent < WeightUnit::kLeastExponent || exponent > 0) throw std::runtime_error("weights: a unit that is none");
  if (self < 1 || self > kMostSelfWeight) throw std::runtime_error("weights: a self loop that is none");
  return WeightUnit{static_cast<int>(exponent), self};
}

Manifest manifest_from(const Json& json) {
  Manifest m;
  m.nodes = whole_number<NodeId>(json.at("nodes"));
  m.features = whole_number<std::uint32_t>(json.at("features"));
  m.classes = whole_number<std::uint32_t>(json.at("classes"));
  m.standardized = json.at("standardized").get<bool>();
  m.feature_layout.sparse = json.at("sparse_features").get<bool>();
  const auto type = feature_type_named(json.at("feature_type").get<std::string>());
  if (!type) throw std::runtime_error("feature_type: neither f32 nor f16");
  m.feature_layout.type = *type;
  read_order(json.at("order"), m);
  m.edges = whole_number<std::uint64_t>(json.at("edges"));
  m.shards = entry_list(json.at("shards"));
  m.feature_files = entry_list(json.at("feature_files"));
  m.labels = optional_entry(json.at("labels"));
  m.train = optional_entry(json.at("train"));
  m.valid = optional_entry(json.at("valid"));
  m.test = optional_entry(json.at("test"));
  m.changes = optional_entry(json.at("changes"));
  if (!json.at("propagation").is_null()) m.propagation = propagation_spec(json.at("propagation"));
  for (const Json& item : json.at("levels")) m.levels.push_back(level_files(item));
  m.sequence = whole_number<std::uint64_t>(json.at("sequence"));
  m.journal = optional_entry(json.at("journal"));
  m.releases = entry_list(json.at("releases"), kReleaseFolders);
  m.lazy = json.contains("lazy");
  if (json.contains("names"))
    m.names = {file_entry(json.at("names").at("names")), file_entry(json.at("names").at("index"))};
  if (json.contains("ids_are")) m.ids_are = ids_are_of(json.at("ids_are").get<std::string>());
  if (json.contains("types")) m.types = types_from(json.at("types"));
  m.feature_layout.packs = packs_rows(m.types, m.feature_layout.sparse, m.standardized);
  if (json.contains("layers")) {
    m.layers = layers_from(json.at("layers"), m.types);
    if (m.nodes % m.layers.copies() != 0) throw std::runtime_error("layers: copies of another number of nodes");
  }
  if (!m.types.empty() && first_id(m.types, m.types.size()) != m.user_nodes())
    throw std::runtime_error("types: of another number of nodes");
  if (json.contains("graphs")) {
    m.graphs = graphs_from(json.at("graphs"));
    require_graphs_in_place(m);
  }
  if (json.contains("expiries")) m.expiries = file_entry(json.at("expiries"));
  if (json.contains("pairs")) {
    m.pairs = pairs_from(json.at("pairs"));
    m.pairs->rules.directed = m.layers.directed;
  }
  if (json.contains("folded_spans")) m.folded_spans = whole_number<std::uint32_t>(json.at("folded_spans"));
  if (json.contains("weights")) {
    m.max_weight = whole_number<std::uint32_t>(json.at("weights").at("max"));
    m.weight_sum = whole_number<std::uint64_t>(json.at("weights").at("sum"));
    m.weight_unit = weight_unit_from(json.at("weights"));
  }
  if (json.contains("scale")) {
    m.scale.as_given = json.at("scale") == "none";
    if (!m.scale.as_given) m.scale.divisor = json.at("scale").get<double>();
  }

  const auto need = [](bool ok, const char* what) {
    if (!ok) throw std::runtime_error(what);
  };
  need(!json.contains("weights") || (m.max_weight > 1 && m.max_weight <= kMostWeight),
       "weights: a maximum that is none");
  need(m.max_weight == 1 || (m.weight_sum >= m.edges && m.weight_sum / m.max_weight <= m.edges),
       "weights: a sum that edges of these weights do not have");
  const std::size_t spans = num_spans(m.nodes);
  need(m.shards.size() == spans, "shards: not one file a span");
  need(!m.pairs || m.pairs->shards.size() == spans, "pairs: not one file a span");
  need(!json.contains("folded_spans") || (m.folded_spans > 0 && m.folded_spans < spans && m.changes),
       "folded_spans: none or all of them, or without changes");
  need(!m.pairs || m.layers.relations.empty(), "pairs: of a graph with relations");
  need(!m.weight_unit || m.max_weight == kMostWeight, "weights: a unit beside a smaller maximum");
  need(!m.pairs || json.at("pairs").contains("weight_sum") == m.weight_unit.has_value(),
       "pairs: a sum of weights that are not real, or none of weights that are");
  need(!m.pairs ||
           (m.weight_unit ? m.pairs->weight_sum >= m.pairs->edges && m.pairs->weight_sum / kMostWeight <= m.pairs->edges
                          : m.pairs->weight_sum == 0),
       "pairs: a sum of weights that held edges do not have");
  need(m.feature_files.size() == (m.features > 0 ? num_spans(m.feature_rows()) : 0),
       "feature_files: not one file a span");
  need(m.feature_layout.packs || std::none_of(m.feature_files.begin(), m.feature_files.end(), is_packed),
       "feature_files: without rows of zeros in a store that leaves none out");
  need(m.features > 0 || m.feature_layout.type == FeatureType::f32, "feature_type: f16 without features");
  need(!json.contains("scale") ||
           (m.features > 0 && m.scale != FeatureScale() && m.scale.divisor >= FeatureScale::kLeastDivisor &&
            m.scale.divisor <= FeatureScale::kMostDivisor),
       "scale: neither none nor a divisor");
  need(m.propagation.has_value() ? m.levels.size() == m.propagation->levels + std::size_t{1} : m.levels.empty(),
       "levels: not one entry a level");
  if (m.propagation) {
    need(!m.propagation->weights.empty() && m.propagation->weights.size() % m.levels.size() == 0,
         "weights: not one a level");
    need(m.propagation->column_norms.size() == m.features, "column_norms: not one a column");
    const auto is_norm = [](double norm) { return norm >= 0; };
    const std::vector<double>& norms = m.propagation->column_norms;
    need(std::all_of(norms.begin(), norms.end(), is_norm) && is_norm(m.propagation->code_norm), "norms: below 0");
    need(m.propagation->rho >= 0 && m.propagation->rho <= 1, "rho: outside 0 to 1");
    need(m.propagation->scale_bits >= 8 && m.propagation->scale_bits <= 29, "scale_bits: outside 8 to 29");
    require_files_in_place(m);
  }
  need(!m.lazy || (m.propagation && json.at("lazy") == true), "lazy: neither true nor left out");
  need(m.ids_are.has_value() == json.contains("ids_are") && (m.names || !m.ids_are),
       "ids_are: neither names nor positions, or no names");
  need(m.sequence < kMostSequence, "sequence: beyond all requests");
  need(!m.journal || m.journal->path.starts_with("journal/"), "journal: not in its folder");
  const auto is_before = [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; };
  need(std::is_sorted(m.releases.begin(), m.releases.end(), is_before), "releases: not sorted");
  return m;
}

}  // namespace

std::vector<std::string> Manifest::needs() const {
  std::vector<std::string> words;
  if (names) words.emplace_back("names");
  if (ids_are) words.emplace_back("ids-are");
  if (expiries) words.emplace_back("expiries");
  if (max_weight > 1) words.emplace_back("weights");
  if (propagation && !propagation->kept.has_sums()) words.emplace_back("rows");
  if (layers.any()) words.emplace_back("layers");
  if (layers.directed && !layers.relations.empty()) words.emplace_back("arcs-of-relations");
  if (!types.empty()) words.emplace_back("types");
  if (knows_ends(layers)) words.emplace_back("ends");
  if (std::any_of(feature_files.begin(), feature_files.end(), is_packed)) words.emplace_back("packed-features");
  if (shares_features()) words.emplace_back("shared-features");
  if (pairs) words.emplace_back("pairs");
  if (graphs) words.emplace_back("graphs");
  if (weight_unit) words.emplace_back("real-weights");
  if (folded_spans > 0) words.emplace_back("folded-spans");
  return words;
}

void Manifest::take_users(NodeId users) noexcept {
  if (!types.empty()) types.back().nodes += users - user_nodes();
  nodes = users * layers.copies();
}

std::uint32_t Manifest::row_width() const noexcept {
  if (!propagation || propagation->kept.keep != Keep::embedding) return features;
  return static_cast<std::uint32_t>(propagation->weights.size() / (propagation->levels + std::size_t{1}) * features);
}

LevelPlace Manifest::place(std::uint32_t level) const {
  return {levels[level],     level,      propagation->levels, propagation->all_rows, nodes, features, list_form(),
          propagation->kept, row_width()};
}

Manifest Manifest::of_held() const {
  Manifest held;
  held.nodes = nodes;
  held.edges = pairs.value().edges;
  held.weight_sum = pairs->weight_sum;
  held.weight_unit = weight_unit;
  if (weight_unit) held.max_weight = max_weight;
  held.shards = pairs->shards;
  held.changes = pairs->changes;
  return held;
}

void Manifest::forget_history() {
  propagation.reset();
  levels.clear();
  lazy = false;
  sequence = 0;
  journal.reset();
  releases.clear();
}

std::vector<FileEntry> Manifest::files() const {
  std::vector<FileEntry> all = shards;
  const auto add = [&](const std::optional<FileEntry>& entry) {
    if (entry) all.push_back(*entry);
  };
  all.insert(all.end(), feature_files.begin(), feature_files.end());
  for (const auto* entry : {&order_file, &labels, &train, &valid, &test, &changes, &expiries}) add(*entry);
  if (graphs) {
    all.push_back(graphs->of_nodes);
    for (const auto* entry : {&graphs->labels, &graphs->train, &graphs->valid, &graphs->test}) add(*entry);
  }
  if (names) all.insert(all.end(), {names->names, names->index});
  if (pairs) all.insert(all.end(), pairs->shards.begin(), pairs->shards.end());
  if (pairs) add(pairs->changes);
  for (const LevelFiles& level : levels)
    for (const LevelFileKind& kind : kLevelFileKinds) {
      const std::span<const FileEntry> entries = files_of(level, kind);
      all.insert(all.end(), entries.begin(), entries.end());
    }
  return all;
}

std::uint64_t bytes_of(const std::vector<FileEntry>& files) noexcept {
  std::uint64_t bytes = 0;
  for (const FileEntry& file : files) bytes += file.bytes;
  return bytes;
}

const FileEntry* Manifest::release(std::string_view path) const {
  const auto entry = std::find_if(releases.begin(), releases.end(), [&](const auto& one) { return one.path == path; });
  return entry == releases.end() ? nullptr : &*entry;
}

namespace {

/// Refuses a store of a later program, by what it has that this one does not know.
[[noreturn]] void refuse_later(const std::filesystem::path& path, const std::string& what) {
  throw DataError(path.string() + ": the store " + what + "; a later unweave wrote it: use that one, or a newer one");
}

/// Refuses a store of before the first release. Its first inputs are not to be imported again: they
/// may still hold what was removed.
[[noreturn]] void refuse_unreleased(const std::filesystem::path& path, const std::string& version) {
  throw DataError(path.string() + ": the store has version " + version +
                  ", which no release of unweave wrote, and this program reads version " +
                  std::to_string(kManifestVersion) + "; import what the unweave that wrote it exports by " +
                  operation("export " + shell_word(path.parent_path().string()) + ' ' + option("all", "DIR")));
}

/// Throws DataError where there is no store.
std::string text_of_store(const std::filesystem::path& store) {
  const std::filesystem::path path = store / kManifestName;
  if (const EntryKind kind = status_of(store).kind; kind != EntryKind::none && kind != EntryKind::folder)
    throw DataError(store.string() + ": is a file, not a store; a store is a folder that " + operation("import") +
                    " makes");
  const bool is_there = has_entry(path);
  if (!is_there && store.extension() == ".jsonl") throw DataError(store.string() + ": no such file");
  if (!is_there && has_entry(store / kUnfinishedName))
    throw DataError(
        store.string() +
        ": no store yet (manifest.json is missing): what makes it is at work, or was ended, and begins anew "
        "when the same command is given again");
  if (!is_there)
    throw DataError(store.string() + ": no store here (manifest.json is missing); make one with " +
                    operation("import " + shell_word(store.string()) + ' ' + option("edges", "FILE")));
  return read_text_file(path, kManifestLimit);
}

/// Whatever is wrong with a text is told as a fault of the file `path`.
template <class Read>
auto read_checked(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const DataError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw FormatError(path, "manifest", fault_of(error));
  }
}

/// The outer object of a manifest of any version.
Json outer_json(const std::string& text) {
  Json json = parse_json(text);
  if (json.at("format").get<std::string>() != "unweave store")
    throw std::runtime_error("format: this is not the manifest of an unweave store");
  if (!json.at("version").is_number_integer()) throw std::runtime_error("version: not a whole number");
  return json;
}

/// A manifest whose version, needs, checksum and layout are right.
Json whole_json(const std::string& text, const std::filesystem::path& path) {
  Json json = outer_json(text);
  const auto version = json.at("version").get<std::int64_t>();
  if (version > kManifestVersion)
    refuse_later(path, "has version " + std::to_string(version) + ", this program reads version " +
                           std::to_string(kManifestVersion));
  if (version < kManifestVersion) refuse_unreleased(path, std::to_string(version));
  static const std::set<std::string> known{
      "names", "ids-are",         "expiries",        "weights", "rows",   "layers",       "arcs-of-relations", "types",
      "ends",  "packed-features", "shared-features", "pairs",   "graphs", "real-weights", "folded-spans"};
  for (const Json& need : json.at("needs"))
    if (!known.contains(need.get<std::string>()))
      refuse_later(path, "needs " + text_of_json(need) + ", of which this program does not know");
  const std::string body = text_of_json(json.at("contents"));
  if (to_hex(checksum128(std::as_bytes(std::span(body)), {})) != json.at("checksum").get<std::string>())
    throw std::runtime_error("checksum: the contents are damaged");
  // Bytes that do not change the meaning, as blanks, are under no checksum; there is one right way
  // to write them.
  if (text_of_json(json, 1) + "\n" != text) throw std::runtime_error("layout: not as this program writes it");
  return json;
}

}  // namespace

std::int64_t manifest_version(const std::filesystem::path& store) {
  const std::filesystem::path path = store / kManifestName;
  return read_checked(path, [&] { return outer_json(text_of_store(store)).at("version").get<std::int64_t>(); });
}

Manifest read_manifest(const std::filesystem::path& store) {
  return parse_manifest(text_of_store(store), store / kManifestName);
}

Manifest parse_manifest(const std::string& text, const std::filesystem::path& path) {
  return read_checked(path, [&] {
    const Json json = whole_json(text, path);
    Manifest manifest = manifest_from(json.at("contents"));
    if (json.at("needs") == manifest.needs()) return manifest;
    const Json& needs = json.at("needs");
    if (manifest.shares_features() && std::find(needs.begin(), needs.end(), "shared-features") == needs.end())
      refuse_unreleased(path, "12, and features for each copy of a node,");
    throw std::runtime_error("needs: not what the contents are of");
  });
}

std::string journal_name(Manifest manifest) {
  manifest.journal.reset();
  const std::string digits = std::to_string(manifest.sequence), text = manifest_text(manifest);
  return "after-" + std::string(20 - digits.size(), '0') + digits + "-" +
         to_hex(checksum128(std::as_bytes(std::span(text)), {})).substr(0, 16) + ".log";
}

std::string manifest_text(const Manifest& manifest) {
  Json contents = manifest_json(manifest);
  if (manifest.lazy) contents["lazy"] = true;
  if (manifest.layers.any()) contents["layers"] = layers_json(manifest.layers);
  if (!manifest.types.empty()) contents["types"] = types_json(manifest.types);
  if (manifest.graphs) contents["graphs"] = graphs_json(*manifest.graphs);
  if (manifest.scale.as_given)
    contents["scale"] = "none";
  else if (manifest.scale != FeatureScale())
    contents["scale"] = manifest.scale.divisor;
  if (manifest.names)
    contents["names"] = {{"names", to_json(manifest.names->names)}, {"index", to_json(manifest.names->index)}};
  if (manifest.ids_are) contents["ids_are"] = text_of(*manifest.ids_are);
  if (manifest.max_weight > 1) contents["weights"] = {{"max", manifest.max_weight}, {"sum", manifest.weight_sum}};
  if (manifest.weight_unit) {
    contents["weights"]["unit"] = manifest.weight_unit->exponent;
    contents["weights"]["self"] = manifest.weight_unit->self;
  }
  if (manifest.expiries) contents["expiries"] = to_json(*manifest.expiries);
  if (manifest.pairs) contents["pairs"] = pairs_json(*manifest.pairs);
  if (manifest.pairs && manifest.weight_unit) contents["pairs"]["weight_sum"] = manifest.pairs->weight_sum;
  if (manifest.folded_spans > 0) contents["folded_spans"] = manifest.folded_spans;
  const std::string body = text_of_json(contents);
  Json json = {{"format", "unweave store"},
               {"version", kManifestVersion},
               {"needs", manifest.needs()},
               {"checksum", to_hex(checksum128(std::as_bytes(std::span(body)), {}))}};
  json["contents"] = std::move(contents);  // which is large: braces would copy it
  return text_of_json(json, 1) + "\n";
}

void write_manifest(const std::filesystem::path& store, const Manifest& manifest) {
  require_whole_files();  // nothing that was made from a file without its end comes to stay
  replace_file(store / kManifestName, manifest_text(manifest));
}

}  // namespace unweave
