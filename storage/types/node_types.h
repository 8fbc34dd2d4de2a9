// storage/types/node_types.h - kinds of the nodes of users, as ranges of their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace unweave {

/// Nodes of one kind, such as papers or authors. Their ids follow those of the type before.
struct NodeType {
  std::string name;
  std::uint64_t nodes = 0;  ///< one at least

  friend bool operator==(const NodeType&, const NodeType&) = default;
};

/// The types of a store, in the order of their ids; empty where nodes are of one kind.
using NodeTypes = std::vector<NodeType>;

/// The first id of a type; with the number of types, how many nodes all have.
[[nodiscard]] std::uint64_t first_id(const NodeTypes& types, std::size_t type);
/// The place of a type of this name; as many as there are types where none has it.
[[nodiscard]] std::size_t type_named(const NodeTypes& types, const std::string& name);
/// Why no store has these types; empty where one may.
[[nodiscard]] std::string node_types_fault(const NodeTypes& types);

}  // namespace unweave
