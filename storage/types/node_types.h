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

/// Types of both ends of an edge, by their places among all: that of its first node and of its
/// second.
struct EndTypes {
  std::size_t u = 0, v = 0;

  friend bool operator==(const EndTypes&, const EndTypes&) = default;
};

/// The first id of a type; with the number of types, how many nodes all have.
[[nodiscard]] std::uint64_t first_id(const NodeTypes& types, std::size_t type);
/// The place of a type of this name; as many as there are types where none has it.
[[nodiscard]] std::size_t type_named(const NodeTypes& types, const std::string& name);
/// The place of the type that has an id, which is below the number of all nodes.
[[nodiscard]] std::size_t type_of(const NodeTypes& types, std::uint64_t id);
/// Why no store has these types; empty where one may.
[[nodiscard]] std::string node_types_fault(const NodeTypes& types);

}  // namespace unweave
