// tools/commands/import_kinds.cpp - kinds of nodes and of edges among the options of an import.
#include "tools/commands/import_kinds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "tools/cli/option_values.h"

namespace unweave {
namespace {

/// The parts before and behind '='.
std::pair<std::string, std::string> name_and_value(const std::string& option, const std::string& text,
                                                   const std::string& form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UsageError("--" + option + ": " + quote_for_message(text) + " is not " + form);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The place of a type that an option names.
std::size_t type_option(const NodeTypes& types, const std::string& option, const std::string& name) {
  const std::size_t place = type_named(types, name);
  if (place < types.size()) return place;
  std::vector<std::string_view> names;
  for (const NodeType& type : types) names.emplace_back(type.name);
  throw UsageError("--" + option + ": " + unknown_name("type", name, names));
}

std::vector<std::string> texts_of(const CommandLine& line, const std::string& option) {
  return line.has(option) ? line.get<std::vector<std::string>>(option) : std::vector<std::string>();
}

}  // namespace

void add_types(const CommandLine& line, ImportOptions& options) {
  NodeTypes& types = options.types;
  for (const std::string& text : texts_of(line, "type")) {
    const auto [name, number] = name_and_value("type", text, "NAME=NODES");
    const std::optional<Count> nodes = Count::read(number);
    if (!nodes) throw UsageError("--type: " + quote_for_message(text) + " is not NAME=NODES, with a whole number");
    types.push_back({name, nodes->value});
  }
  for (const std::string other : {"features-of", "labels-of", "ends"})
    if (types.empty() && line.has(other)) throw UsageError("--" + other + " needs --type: it names types of nodes");
  if (types.empty()) return;
  if (const std::string fault = node_types_fault(types); !fault.empty()) throw UsageError("--type: " + fault);
  if (!options.nodes) options.nodes = first_id(types, types.size());
  if (line.has("features-of")) {
    if (line.has("features"))
      throw UsageError("--features-of and --features: features are those of types, or of all nodes; give one of both");
    TypedFeatures typed;
    for (const NodeType& type : types) typed.nodes.push_back(type.nodes);
    typed.files.resize(types.size());
    for (const std::string& text : texts_of(line, "features-of")) {
      const auto [name, path] = name_and_value("features-of", text, "TYPE=FILE");
      std::optional<InputFile>& file = typed.files[type_option(types, "features-of", name)];
      if (file) throw UsageError("--features-of: " + name + " is given twice");
      file = named_input(path);
    }
    options.features = std::move(typed);
  }
  if (!line.has("labels-of")) return;
  if (!line.has("labels")) throw UsageError("--labels-of needs --labels: it says whose they are");
  options.labels_of = type_option(types, "labels-of", line.get<std::string>("labels-of"));
}

void add_ends(const CommandLine& line, ImportOptions& options) {
  const std::vector<std::string> texts = relation_names(options.layers);
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  for (const std::string& text : texts_of(line, "ends")) {
    const auto [name, ends] = name_and_value("ends", text, "RELATION=TYPE,TYPE");
    const std::uint32_t place = relation_named(options.layers, name);
    if (place == names.size()) throw UsageError("--ends: " + unknown_name("relation", name, names));
    Relation& relation = options.layers.relations[place];
    const std::size_t comma = ends.find(',');
    if (comma == std::string::npos)
      throw UsageError("--ends: " + quote_for_message(text) + " is not RELATION=TYPE,TYPE");
    if (relation.ends) throw UsageError("--ends: " + name + " is given twice");
    relation.ends = EndTypes{type_option(options.types, "ends", ends.substr(0, comma)),
                             type_option(options.types, "ends", ends.substr(comma + 1))};
  }
}

void add_relations(const CommandLine& line, ImportOptions& options) {
  Layers& layers = options.layers;
  for (const std::string& text : texts_of(line, "relation")) {
    const auto [name, path] = name_and_value("relation", text, "NAME=FILE");
    layers.relations.push_back({name});
    options.relations.push_back({named_input(path)});
  }
}

void add_edge_weights(const CommandLine& line, ImportOptions& options) {
  const std::vector<std::string> given = texts_of(line, "edge-weights");
  if (options.relations.empty()) {
    if (given.size() > 1) throw UsageError("--edge-weights is given twice, and there is one file of edges");
    if (!given.empty()) options.edge_weights = named_input(given.front());
    return;
  }
  const std::vector<std::string> texts = relation_names(options.layers);
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  for (const std::string& text : given) {
    const auto [name, path] =
        name_and_value("edge-weights", text, "RELATION=FILE, the weights of the edges of a relation");
    const std::uint32_t place = relation_named(options.layers, name);
    if (place == names.size()) throw UsageError("--edge-weights: " + unknown_name("relation", name, names));
    std::optional<InputFile>& weights = options.relations[place].weights;
    if (weights) throw UsageError("--edge-weights: " + name + " is given twice");
    weights = named_input(path);
  }
}

void add_subsets(const CommandLine& line, ImportOptions& options) {
  Layers& layers = options.layers;
  const std::vector<std::string> texts = relation_names(layers);
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  for (const std::string& text : texts_of(line, "subset")) {
    std::vector<std::uint32_t>& subset = layers.subsets.emplace_back();
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const std::string name = text.substr(at, comma - at);
      subset.push_back(relation_named(layers, name));
      if (subset.back() == names.size()) throw UsageError("--subset: " + unknown_name("relation", name, names));
      at = comma + 1;
    }
    if (subset.size() < 2)
      throw UsageError("--subset " + text +
                       ": a set is of two relations or more, with commas between them; there are " + one_of(names));
    std::sort(subset.begin(), subset.end());
  }
}

}  // namespace unweave
