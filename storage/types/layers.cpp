// storage/types/layers.cpp - which layers an edge is in, and which make sense.
#include "storage/types/layers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "storage/io/plain_text.h"

namespace unweave {
namespace {

constexpr std::size_t kMostRelations = 4096, kMostLayers = 4096, kMostNameBytes = 128;

std::string quoted(const std::string& name) {
  return "'" + printable(name) + "'";
}

/// Whether a word behind the ends of an edge can be a relation and nothing else.
bool is_relation_name(const std::string& name) {
  constexpr std::array<std::string_view, 3> kWords{"expires", "expired", "weight"};
  if (name.empty() || name.size() > kMostNameBytes || text_fault(name)) return false;
  if (name.find_first_of(" ,=\"'#[]") != std::string::npos) return false;
  if (name.find_first_not_of("0123456789.+-") == std::string::npos) return false;
  return std::find(kWords.begin(), kWords.end(), name) == kWords.end();
}

}  // namespace

std::uint32_t Layers::max_weight() const noexcept {
  std::size_t most = 1;
  for (const auto& subset : subsets) most = std::max(most, subset.size());
  return static_cast<std::uint32_t>(most);
}

std::vector<std::uint32_t> Layers::layers_with(std::uint32_t relation) const {
  std::vector<std::uint32_t> layers{relation};
  for (std::size_t i = 0; i < subsets.size(); ++i)
    if (std::binary_search(subsets[i].begin(), subsets[i].end(), relation))
      layers.push_back(static_cast<std::uint32_t>(relations.size() + i));
  return layers;
}

bool Layers::may_join(std::uint32_t relation, const NodeTypes& types, std::uint64_t u, std::uint64_t v) const {
  if (relations.empty() || !relations[relation].ends) return true;
  const EndTypes ends = *relations[relation].ends, given{type_of(types, u), type_of(types, v)};
  return given == ends || (!directed && EndTypes{given.v, given.u} == ends);
}

std::string layers_fault(const Layers& layers, const NodeTypes& types) {
  if (layers.relations.empty()) return layers.subsets.empty() ? "" : "sets of relations, and no relations";
  if (layers.relations.size() > kMostRelations || layers.relations.size() + layers.subsets.size() > kMostLayers)
    return "more than " + std::to_string(kMostLayers) + " relations and sets of them";
  for (std::size_t i = 0; i < layers.relations.size(); ++i) {
    const auto& [name, ends] = layers.relations[i];
    if (!is_relation_name(name))
      return quoted(name) + " is no name of a relation: one word that is no number, of " +
             std::to_string(kMostNameBytes) +
             " bytes at most, without commas, quotes, brackets, # and =, and none of " + "expires, expired and weight";
    if (relation_named(layers, name) != i) return quoted(name) + " is the name of two relations";
    if (ends && std::max(ends->u, ends->v) >= types.size())
      return quoted(name) + " has ends of a type of nodes that there is not";
  }
  for (std::size_t i = 0; i < layers.subsets.size(); ++i) {
    const std::vector<std::uint32_t>& subset = layers.subsets[i];
    if (subset.size() < 2 || !std::is_sorted(subset.begin(), subset.end()) ||
        subset.back() >= layers.relations.size() || std::adjacent_find(subset.begin(), subset.end()) != subset.end())
      return "a set of relations that is not of two or more of them, each once";
    if (std::find(layers.subsets.begin(), layers.subsets.end(), subset) !=
        layers.subsets.begin() + static_cast<std::ptrdiff_t>(i))
      return "a set of relations that is there twice";
  }
  return {};
}

std::uint32_t relation_named(const Layers& layers, const std::string& name) {
  const auto is_it = [&](const Relation& relation) { return relation.name == name; };
  return static_cast<std::uint32_t>(std::find_if(layers.relations.begin(), layers.relations.end(), is_it) -
                                    layers.relations.begin());
}

bool knows_ends(const Layers& layers) {
  return std::any_of(layers.relations.begin(), layers.relations.end(),
                     [](const Relation& relation) { return relation.ends.has_value(); });
}

std::vector<std::string> relation_names(const Layers& layers) {
  std::vector<std::string> names;
  for (const Relation& relation : layers.relations) names.push_back(relation.name);
  return names;
}

}  // namespace unweave
