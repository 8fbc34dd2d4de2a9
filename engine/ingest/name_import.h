// engine/ingest/name_import.h - the dictionary of a store: names of nodes from a user's file, and the index over them.
#pragma once

#include <filesystem>
#include <functional>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/name_file.h"
#include "storage/input/byte_source.h"

namespace unweave {

struct ImportedNames {
  NameEntries entries;
  NodeId nodes = 0;
  std::uint64_t named = 0;
};

/// Writes the names of a file, the first one that of node 0, and their index into the folder of a store. Holds a part of the
/// budget; hashes that have no room there are sorted through a temporary file in `store`. Throws InputError for what is no name
/// and for a name that two nodes have, ResourceError.
[[nodiscard]] ImportedNames import_names(const std::filesystem::path& store, const InputFile& file,
                                         MemoryBudget& budget, WorkMeter& meter);

/// Names of a list without those for which keep(id) is false, for `nodes` nodes, no fewer than it has: the files that an import
/// of what is left would make. Nodes behind it are called what `added` says, as far as it goes; null: they have no names. Throws
/// FormatError where two nodes come to have one name.
[[nodiscard]] NameEntries rewrite_names(const std::filesystem::path& store, const NameList& names, NodeId nodes,
                                        const std::function<bool(NodeId id)>& keep, const NameList* added,
                                        MemoryBudget& budget, WorkMeter& meter);

/// Writes the index of a list of names, which are distinct.
[[nodiscard]] FileEntry write_name_index(const std::filesystem::path& store, const NameList& names,
                                         MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
