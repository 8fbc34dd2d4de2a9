// algorithms/maintenance/new_nodes.cpp - checks the number and the names of new nodes.
#include "algorithms/maintenance/new_nodes.h"

#include <string>
#include <string_view>

#include "engine/graph/arc_chunks.h"
#include "engine/graph/node_count.h"
#include "engine/ingest/name_import.h"
#include "storage/io/error.h"
#include "storage/io/message.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

[[noreturn]] void throw_no_growth(const std::filesystem::path& store, std::uint64_t nodes, const std::string& why,
                                  const std::string& first_remedy = {}) {
  throw UsageError(option("nodes", std::to_string(nodes)) + ": " + why + "; " + first_remedy + "write it to files by " +
                   operation("export " + shell_word(store.string()) + ' ' + option("all", "DIR")) +
                   " and import these with this number of nodes");
}

void require_names_fit(const std::filesystem::path& store, const Manifest& manifest, bool has_number,
                       std::uint64_t added) {
  if (!manifest.names) throw UsageError(option("ids") + ": nodes of " + store.string() + " have numbers alone");
  if (!has_number) throw UsageError(option("ids") + " needs " + option("nodes", "N") + ", which makes room for nodes");
  if (added == 0)
    throw UsageError(option("ids") + ": there are no new nodes to name; " + store.string() + " has " +
                     std::to_string(manifest.user_nodes()) + " already, give more of them in " + option("nodes"));
}

}  // namespace

std::uint64_t added_nodes(const std::filesystem::path& store, const Manifest& manifest,
                          const std::optional<std::uint64_t>& wanted, const std::optional<InputFile>& names) {
  const std::uint64_t nodes = wanted.value_or(manifest.user_nodes());
  if (manifest.pairs && nodes >= manifest.user_nodes() && nodes <= kMaxNodeId &&
      id_bits(static_cast<NodeId>(nodes)) != id_bits(manifest.user_nodes()))
    throw_no_growth(store, nodes,
                    store.string() + " predicts links, and draws the ends of its negatives among numbers below " +
                        std::to_string(std::uint64_t{1} << id_bits(manifest.user_nodes())),
                    "name no more nodes than that, or ");
  if (nodes < manifest.user_nodes())
    throw UsageError(option("nodes", std::to_string(nodes)) + ": " + store.string() + " has " +
                     std::to_string(manifest.user_nodes()) +
                     " nodes, and ids are never given again; name as many or more");
  const std::uint64_t copies = manifest.layers.copies();
  if (const std::uint64_t most = kMostNodes / copies; copies > 1 && nodes > most)
    throw UsageError(option("nodes", std::to_string(nodes)) + ": the graph of " + store.string() + " has " +
                     std::to_string(copies) + " copies of each node; name " + std::to_string(most) + " at most");
  require_room_for_weights(NodeCount(nodes * copies).value(), manifest.max_weight);
  const std::uint64_t added = nodes - manifest.user_nodes();
  if (names) require_names_fit(store, manifest, wanted.has_value(), added);
  return added;
}

NameList read_new_names(const std::filesystem::path& store, const Manifest& manifest, const InputFile& file,
                        const NodeNames& present, std::uint64_t added, MemoryBudget& budget, WorkMeter& meter) {
  const ImportedNames imported = import_names(store, file, IdsAre::names, budget, meter);
  const auto line = [](std::uint64_t node) { return "line " + std::to_string(node + 1); };
  if (imported.nodes > added)
    throw InputError(
        display_name(file), line(added), "a name more than there are new nodes, " + std::to_string(added),
        imported.nodes == manifest.user_nodes() + added
            ? std::string("give the names of the new nodes alone, without those of the nodes that there are")
            : "name as many nodes in all as there are then: " +
                  option("nodes", std::to_string(std::uint64_t{manifest.user_nodes()} + imported.nodes)));
  NameList names(store, imported.entries.names, imported.nodes);
  for (NodeId node = 0; node < names.nodes(); ++node) {
    const std::string_view name = names.name(node);
    if (name.empty() || present.find(name) == kUnknownName) continue;
    throw InputError(display_name(file), line(node), "a node of the store has the name " + quote_for_message(name),
                     "each node has a name of its own");
  }
  return names;
}

}  // namespace unweave
