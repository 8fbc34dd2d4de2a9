// engine/ingest/name_import.cpp - writes names as they come, sorts their hashes, and finds names
// that stand there twice.
#include "engine/ingest/name_import.h"

#include <charconv>
#include <string>
#include <vector>

#include "engine/graph/node_count.h"
#include "engine/ingest/hash_sorter.h"
#include "engine/resources/memory_shares.h"
#include "storage/input/nodes/name_reader.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr NodeId kToldNames = NodeId{1} << 16;  // between two reports of progress

/// Writes entries that come sorted; those of one hash wait for each other.
class IndexBuilder {
 public:
  /// Is told of two nodes of one name, the earlier one first, and throws.
  using Refuse = std::function<void(NodeId first, NodeId second)>;

  IndexBuilder(const std::filesystem::path& store, const NameList& names, const Refuse& refuse)
      : names_(names), refuse_(refuse), writer_(store, names.nodes(), names.named()) {}

  void add(std::uint64_t hash, NodeId id) {
    if (hash != hash_) equal_.clear();
    hash_ = hash;
    for (const NodeId other : equal_)
      if (names_.name(other) == names_.name(id)) refuse_(other, id);
    if (equal_.size() == kMostEqualHashes)
      throw DataError(names_.file().path().string() + ": more than " + std::to_string(kMostEqualHashes) +
                      " names share a hash, " + quote_for_message(names_.name(id)) +
                      " among them: they were made to; leave them out");
    equal_.push_back(id);
    writer_.add(hash, id);
  }
  FileEntry finish() { return writer_.finish(); }

 private:
  const NameList& names_;
  const Refuse& refuse_;
  NameIndexWriter writer_;
  std::uint64_t hash_ = 0;
  std::vector<NodeId> equal_;
};

FileEntry build_index(const std::filesystem::path& store, const NameList& names, MemoryBudget& budget, WorkMeter& meter,
                      const IndexBuilder::Refuse& refuse) {
  const Reservation buckets = budget.reserve(NameIndexWriter::bytes(names.named()), "places of names in their index");
  const Reservation memory = budget.reserve(memory_shares::kRowSort.of(budget), "sorting of names");
  HashSorter sorter(store, memory.bytes());
  meter.start("index of names", names.nodes(), "names");
  for (NodeId id = 0; id < names.nodes(); ++id) {
    if (const std::string_view name = names.name(id); !name.empty()) sorter.add(name_hash(name), id);
    if (id % kToldNames == kToldNames - 1) meter.advance(kToldNames);
  }
  IndexBuilder builder(store, names, refuse);
  sorter.drain([&](std::uint64_t hash, NodeId id) { builder.add(hash, id); });
  return builder.finish();
}

/// What a node behind a list is called.
std::string_view name_behind(const NameList& names, const NameList* added, NodeId id) {
  return added != nullptr && id - names.nodes() < added->nodes() ? added->name(id - names.nodes()) : std::string_view();
}

}  // namespace

void SeemingPositions::see(std::string_view name, NodeId node) {
  if (!is_whole_number(name)) return;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || number == node || number >= number_) return;
  number_ = number;
  node_ = node;
}

ImportedNames import_names(const std::filesystem::path& store, const InputFile& file, std::optional<IdsAre> ids_are,
                           MemoryBudget& budget, WorkMeter& meter) {
  ImportedNames imported;
  SeemingPositions seeming;
  const std::string title = display_name(file).string();
  {
    const auto reader = open_names(file);
    // Places of blocks, which grow with the file.
    Reservation places;
    NameWriter writer(store);
    meter.start("names", 0, "names");
    for (std::string_view name; reader->next(name);) {
      if (writer.nodes() == kMostNodes)
        throw InputError(title, reader->place(writer.nodes()), "more names than a graph has nodes",
                         "a graph has at most " + std::to_string(kMostNodes) + " nodes");
      seeming.see(name, static_cast<NodeId>(writer.nodes()));
      writer.add(name);
      if (writer.nodes() % kToldNames != 0) continue;
      meter.advance(kToldNames);
      places.release();
      places = budget.reserve(4 * sizeof(std::uint64_t) * writer.nodes() / kBlockNames, "places of names");
    }
    if (writer.nodes() == 0)
      throw InputError(title, "whole file", "no names", "write one a line, that of node 0 first");
    if (!ids_are && seeming.is_among(writer.nodes()))
      throw InputError(title, reader->place(seeming.node()),
                       "the name '" + std::to_string(seeming.number()) + "' is a whole number, and " +
                           reader->place(seeming.number()) + " is at position " + std::to_string(seeming.number()) +
                           ", so that this number may mean one node or the other in edges, splits and requests",
                       "say which by " + option("ids-are", "names") + " or " + option("ids-are", "positions"));
    imported.nodes = static_cast<NodeId>(writer.nodes());
    imported.entries.names = writer.finish();
  }
  const NameList names(store, imported.entries.names, imported.nodes);
  imported.named = names.named();
  imported.entries.index = build_index(store, names, budget, meter, [&](NodeId first, NodeId second) {
    const auto place = [](NodeId node) { return "line " + std::to_string(std::uint64_t{node} + 1); };
    throw InputError(title, place(second),
                     "the name " + quote_for_message(names.name(second)) + " stands in " + place(first) + " too",
                     "each node has a name of its own; leave a line empty for a node without one");
  });
  return imported;
}

FileEntry write_name_index(const std::filesystem::path& store, const NameList& names, MemoryBudget& budget,
                           WorkMeter& meter) {
  return build_index(store, names, budget, meter, [&](NodeId first, NodeId second) {
    throw FormatError(names.file().path(), "names",
                      "nodes " + std::to_string(first) + " and " + std::to_string(second) + " have one name");
  });
}

NameEntries rewrite_names(const std::filesystem::path& store, const NameList& names, NodeId nodes,
                          const std::function<bool(NodeId id)>& keep, const NameList* added,
                          std::optional<IdsAre> ids_are, MemoryBudget& budget, WorkMeter& meter) {
  NameEntries entries;
  SeemingPositions seeming;
  {
    const Reservation places =
        budget.reserve(4 * sizeof(std::uint64_t) * (std::uint64_t{nodes} / kBlockNames + 1), "places of names");
    NameWriter writer(store);
    meter.start("names", nodes, "names");
    for (NodeId id = 0; id < nodes; ++id) {
      const std::string_view name = id >= names.nodes() ? name_behind(names, added, id)
                                    : keep(id)          ? names.name(id)
                                                        : std::string_view();
      seeming.see(name, id);
      writer.add(name);
      if (id % kToldNames == kToldNames - 1) meter.advance(kToldNames);
    }
    if (!ids_are && seeming.is_among(nodes))
      throw UsageError(store.string() + ": the name '" + std::to_string(seeming.number()) +
                       "' would be the position of another node among " + std::to_string(nodes) +
                       ", and nobody has said what a number means here; import the graph anew with " +
                       option("ids-are", "names") + ", or make room for fewer nodes");
    entries.names = writer.finish();
  }
  entries.index = write_name_index(store, NameList(store, entries.names, nodes), budget, meter);
  return entries;
}

}  // namespace unweave
