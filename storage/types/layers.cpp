// storage/types/layers.cpp - which copies an edge is in, and which layers make sense.
#include "storage/types/layers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "storage/io/plain_text.h"

namespace unweave {
namespace {

constexpr std::size_t kMostRelations = 4096, kMostCopies = 4096, kMostNameBytes = 128;

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

std::vector<std::uint32_t> Layers::copies_with(std::uint32_t relation) const {
  std::vector<std::uint32_t> copies{relation};
  for (std::size_t i = 0; i < subsets.size(); ++i)
    if (std::binary_search(subsets[i].begin(), subsets[i].end(), relation))
      copies.push_back(static_cast<std::uint32_t>(relations.size() + i));
  return copies;
}

std::string layers_fault(const Layers& layers) {
  if (layers.relations.empty()) return layers.subsets.empty() ? "" : "sets of relations, and no relations";
  if (layers.directed) return "directions and relations exclude each other";
  if (layers.relations.size() > kMostRelations || layers.copies() > kMostCopies)
    return "more than " + std::to_string(kMostCopies) + " relations and sets of them";
  for (std::size_t i = 0; i < layers.relations.size(); ++i) {
    const std::string& name = layers.relations[i];
    if (!is_relation_name(name))
      return quoted(name) + " is no name of a relation: one word that is no number, of " +
             std::to_string(kMostNameBytes) +
             " bytes at most, without commas, quotes, brackets, # and =, and none of " + "expires, expired and weight";
    if (relation_named(layers, name) != i) return quoted(name) + " is the name of two relations";
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
  return static_cast<std::uint32_t>(std::find(layers.relations.begin(), layers.relations.end(), name) -
                                    layers.relations.begin());
}

}  // namespace unweave
