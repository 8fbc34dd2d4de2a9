// engine/ingest/name_import.h - the dictionary of a store: names of nodes from a user's file, and
// the index over them.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/name_file.h"
#include "storage/input/bytes/byte_source.h"

namespace unweave {

struct ImportedNames {
  NameEntries entries;
  NodeId nodes = 0;
  std::uint64_t named = 0;
};

/// The smallest name that is a whole number, and not the position of its node: where there are more
/// nodes than that, a number may mean one node or another.
class SeemingPositions {
 public:
  void see(std::string_view name, NodeId node);
  /// Whether the number is a node among so many.
  [[nodiscard]] bool is_among(std::uint64_t nodes) const noexcept { return number_ < nodes; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] NodeId node() const noexcept { return node_; }  ///< whose name it is

 private:
  std::uint64_t number_ = std::numeric_limits<std::uint64_t>::max();
  NodeId node_ = 0;
};

/// Writes the names of a file, the first one that of node 0, and their index into the folder of a
/// store. Holds a part of the budget; hashes that have no room there are sorted through a temporary
/// file in `store`. `ids_are`: what a number means, where somebody has said so. Throws InputError
/// for what is no name, for a name that two nodes have, and where nobody has said what a number
/// means and a name is the position of another node; ResourceError.
[[nodiscard]] ImportedNames import_names(const std::filesystem::path& store, const InputFile& file,
                                         std::optional<IdsAre> ids_are, MemoryBudget& budget, WorkMeter& meter);

/// Names of a list without those for which keep(id) is false, for `nodes` nodes, no fewer than it
/// has: the files that an import of what is left would make. Nodes behind it are called what
/// `added` says, as far as it goes; null: they have no names. Throws FormatError where two nodes
/// come to have one name, UsageError where nobody has said what a number means and a name comes to
/// be the position of another node.
[[nodiscard]] NameEntries rewrite_names(const std::filesystem::path& store, const NameList& names, NodeId nodes,
                                        const std::function<bool(NodeId id)>& keep, const NameList* added,
                                        std::optional<IdsAre> ids_are, MemoryBudget& budget, WorkMeter& meter);

/// Writes the index of a list of names, which are distinct.
[[nodiscard]] FileEntry write_name_index(const std::filesystem::path& store, const NameList& names,
                                         MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
