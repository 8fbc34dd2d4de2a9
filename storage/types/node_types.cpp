// storage/types/node_types.cpp - where the ids of a type begin, and which types make sense.
#include "storage/types/node_types.h"

#include <algorithm>

#include "storage/io/plain_text.h"
#include "storage/io/types.h"

namespace unweave {
namespace {

constexpr std::size_t kMostTypes = 4096, kMostTypeNameBytes = 128;

/// Whether a word can stand before '=' and between commas, where options name types.
bool is_type_name(const std::string& name) {
  return !name.empty() && name.size() <= kMostTypeNameBytes && !text_fault(name) &&
         name.find_first_of(" ,=\"'#[]") == std::string::npos;
}

}  // namespace

std::uint64_t first_id(const NodeTypes& types, std::size_t type) {
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < type; ++i) first += types[i].nodes;
  return first;
}

std::size_t type_named(const NodeTypes& types, const std::string& name) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const NodeType& type) { return type.name == name; });
  return static_cast<std::size_t>(found - types.begin());
}

std::size_t type_of(const NodeTypes& types, std::uint64_t id) {
  std::size_t type = 0;
  for (std::uint64_t end = types.front().nodes; id >= end; end += types[type].nodes) ++type;
  return type;
}

std::string node_types_fault(const NodeTypes& types) {
  constexpr std::uint64_t kMost = std::uint64_t{kMaxNodeId} + 1;
  if (types.size() > kMostTypes) return "more than " + std::to_string(kMostTypes) + " types of nodes";
  std::uint64_t nodes = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string quoted = "'" + printable(types[i].name) + "'";
    if (!is_type_name(types[i].name))
      return quoted + " is no name of a type: one word of " + std::to_string(kMostTypeNameBytes) +
             " bytes at most, without commas, quotes, brackets, # and =";
    if (type_named(types, types[i].name) != i) return quoted + " is the name of two types";
    if (types[i].nodes < 1 || types[i].nodes > kMost - nodes)
      return quoted + " has " + std::to_string(types[i].nodes) + " nodes: a type has one at least, and all types " +
             std::to_string(kMost) + " at most";
    nodes += types[i].nodes;
  }
  return {};
}

}  // namespace unweave
