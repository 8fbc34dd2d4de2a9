// algorithms/live/export_all.cpp - writes the arrays of a store, rows of features as an import
// wants them given.
#include "algorithms/live/export_all.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "algorithms/live/export.h"
#include "algorithms/live/live_store.h"
#include "engine/ingest/given_row.h"
#include "engine/ingest/row_sorter.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/watcher.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/shell_word.h"
#include "storage/npy/id_writer.h"
#include "storage/npy/npy_writer.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkValues = std::size_t{1} << 16;

/// An array of numbers that come one after the other, written many at a time.
template <class T>
class ArraySink {
 public:
  ArraySink(const fs::path& file, const char* descr, std::span<const std::uint64_t> shape)
      : writer_(file, descr, sizeof(T), shape) {}
  void add(T value) {
    values_.push_back(value);
    if (values_.size() >= kChunkValues) flush();
  }
  void finish() {
    flush();
    writer_.finish();
  }

 private:
  void flush() {
    writer_.append(std::span<const T>(values_));
    values_.clear();
  }
  NpyWriter writer_;
  std::vector<T> values_;
};

/// Values of rows as a user would give them.
class ValueSink {
 public:
  ValueSink(const fs::path& file, const LiveStore& store, std::span<const std::uint64_t> shape)
      : store_(store), rules_(store.contents().rules()) {
    if (rules_.scale.divisor == 1)
      floats_.emplace(file, "<f4", shape);
    else
      doubles_.emplace(file, "<f8", shape);
  }

  /// A row, or its non-zeros.
  void add(std::span<const float> row) {
    if (floats_) {
      for (const float value : row) floats_->add(value);
      return;
    }
    // A hair below the product: the sum of squares stays below the square of the divisor, whatever
    // its rounding, and the quotient is still nearest to the float32 that it was.
    constexpr double kHair = 1 - 0x1p-30;
    given_.clear();
    for (const float value : row) given_.push_back(double{value} * rules_.scale.divisor * kHair);
    const auto again = stored_row(given_, rules_);
    if (!again || !std::equal(row.begin(), row.end(), again->begin(), again->end()))
      throw DataError(store_.path().string() + ": its features hold a row that no import makes; run " +
                      operation("verify " + shell_word(store_.path().string())) +
                      ", and restore the file that it names from a copy");
    for (const double value : given_) doubles_->add(value);
  }
  void finish() {
    if (floats_) floats_->finish();
    if (doubles_) doubles_->finish();
  }

 private:
  const LiveStore& store_;
  const DataRules& rules_;
  std::optional<ArraySink<float>> floats_;
  std::optional<ArraySink<double>> doubles_;
  std::vector<double> given_;
};

/// Calls use(position, row) for the rows of all first copies, in the order of the store.
template <class Use>
void for_rows(const Contents& contents, const char* step, const Use& use) {
  const Features& features = contents.features();
  const std::uint32_t columns = features.columns();
  const auto most = static_cast<NodeId>(std::clamp<std::size_t>(kChunkValues / columns, 1, contents.num_nodes()));
  std::vector<float> rows(std::size_t{most} * columns);
  const WatchedStep watched(step, contents.num_nodes(), "rows");
  for (NodeId first = 0; first < contents.num_nodes();) {
    const NodeId last = first + std::min(most, contents.num_nodes() - first);
    features.read_ahead({last, last + std::min(most, contents.num_nodes() - last)}, 0, columns);
    features.read({first, last}, 0, columns, rows.data());
    for (NodeId node = first; node < last; ++node)
      if (contents.order().is_first_copy(node))
        use(node, std::span<const float>(&rows[std::size_t{node - first} * columns], columns));
    watched.advance(last - first);
    first = last;
  }
}

/// Calls use(row) for all rows, in the order of the user's ids.
template <class Use>
void for_user_rows(const LiveStore& store, const fs::path& folder, const Use& use) {
  const Contents& contents = store.contents();
  if (contents.order().is_identity())
    return for_rows(contents, "features", [&](NodeId, std::span<const float> row) { use(row); });
  const Reservation memory =
      store.budget().reserve(memory_shares::kRowSort.of(store.budget()), "rows on their way to their ids");
  RowSorter sorter(folder, contents.order().users(), memory.bytes());
  for_rows(contents, "features",
           [&](NodeId node, std::span<const float> row) { sorter.add(contents.order().user(node), pack_row(row)); });
  std::vector<float> row(contents.features().columns());
  const WatchedStep watched("features by id", contents.order().users(), "rows");
  sorter.drain([&](NodeId, std::span<const std::uint32_t> words) {
    unpack_row(words, contents.features().columns(), 0, row);
    use(std::span<const float>(row));
    watched.advance(1);
  });
}

void write_dense(const LiveStore& store, const fs::path& folder) {
  const Contents& contents = store.contents();
  const std::array<std::uint64_t, 2> shape{contents.order().users(), contents.features().columns()};
  ValueSink values(folder / "features.npy", store, shape);
  for_user_rows(store, folder, [&](std::span<const float> row) { values.add(row); });
  values.finish();
}

void write_csr(const LiveStore& store, const fs::path& folder) {
  const Contents& contents = store.contents();
  std::uint64_t nonzeros = 0;
  const auto is_kept = [](float value) { return value != 0; };
  for_rows(contents, "non-zeros", [&](NodeId, std::span<const float> row) {
    nonzeros += static_cast<std::uint64_t>(std::count_if(row.begin(), row.end(), is_kept));
  });
  const std::array<std::uint64_t, 1> rows{std::uint64_t{contents.order().users()} + 1}, entries{nonzeros};
  ArraySink<std::int64_t> indptr(folder / "features_indptr.npy", "<i8", rows);
  ArraySink<std::int32_t> indices(folder / "features_indices.npy", "<i4", entries);
  ValueSink values(folder / "features_values.npy", store, entries);
  indptr.add(0);
  std::int64_t end = 0;
  std::vector<float> kept;
  for_user_rows(store, folder, [&](std::span<const float> row) {
    kept.clear();
    for (std::uint32_t c = 0; c < row.size(); ++c) {
      if (!is_kept(row[c])) continue;
      indices.add(static_cast<std::int32_t>(c));
      kept.push_back(row[c]);
    }
    values.add(kept);
    indptr.add(end += static_cast<std::int64_t>(kept.size()));
  });
  indptr.finish();
  indices.finish();
  values.finish();
}

/// Ids of the user in the order of their numbers, as names in text.
void write_split(const LiveStore& store, const fs::path& file, const std::vector<NodeId>& nodes) {
  const Reservation memory = store.budget().reserve(nodes.size() * sizeof(std::int64_t), "ids of a split");
  std::vector<std::int64_t> ids;
  ids.reserve(nodes.size());
  for (const NodeId node : nodes) ids.push_back(store.contents().order().user(node));
  std::sort(ids.begin(), ids.end());
  IdWriter writer(NpyTarget(file), ids.size(), store.contents().order().names().writer());
  writer.append(ids);
  writer.finish();
}

/// Graphs of nodes, and what is known of them.
void write_graphs(const LiveStore& store, const fs::path& folder, ExportedStore& exported) {
  const WholeGraphs& graphs = store.contents().graphs();
  exported.graphs = graphs.count();
  export_graphs(store, NpyTarget(folder / "graphs.npy"));
  exported.has_graph_labels = graphs.has_labels();
  if (exported.has_graph_labels)
    export_graph_labels(store,
                        NpyTarget(folder / (exported.class_names.empty() ? "graph_labels.npy" : "graph_labels.txt")),
                        !exported.class_names.empty());
  const auto write = [&](SplitName split, const char* name, bool& is_there) {
    is_there = graphs.has(split);
    if (!is_there) return;
    const std::vector<std::int64_t> ids(graphs.members(split).begin(), graphs.members(split).end());
    const std::array<std::uint64_t, 1> shape{ids.size()};
    NpyWriter writer(NpyTarget(folder / name), "<i8", sizeof(std::int64_t), shape);
    writer.append(std::span<const std::int64_t>(ids));
    writer.finish();
  };
  write(SplitName::train, "graph_train.npy", exported.has_graph_train);
  write(SplitName::valid, "graph_valid.npy", exported.has_graph_valid);
  write(SplitName::test, "graph_test.npy", exported.has_graph_test);
}

/// Whether names say which nodes edges and splits are about: those that were removed, or that
/// nothing is known of, need none.
bool are_all_named(const Contents& contents) {
  for (NodeId position = 0; position < contents.num_nodes(); ++position) {
    if (!contents.name(position).empty()) continue;
    const bool is_alone = contents.edges_of(position) == 0 && contents.split(position) == SplitName::none;
    if (!is_alone) return false;
  }
  return true;
}

void require_empty(const fs::path& folder) {
  if (!has_entry(folder)) return make_folders(folder);
  if (!is_folder(folder) || !list_folder(folder).empty())
    throw UsageError(folder.string() + ": exists and is not an empty folder; name a new folder");
}

}  // namespace

ExportedStore export_all(const LiveStore& store, const fs::path& folder) {
  const Contents& contents = store.contents();
  const DataRules& rules = contents.rules();
  if (rules.standardized)
    throw UsageError(store.path().string() +
                     ": its features were scaled by statistics of the data, and an import of them would not say so any "
                     "more; the rows of embeddings and the edges can be exported");
  require_empty(folder);
  ExportedStore exported;
  exported.nodes = contents.order().users();
  exported.types = store.manifest().types;
  exported.layers = contents.order().layers();
  exported.edges = contents.graph().num_edges() + (contents.held() != nullptr ? contents.held()->num_edges() : 0);
  exported.pairs = rules.pairs;
  exported.max_weight = rules.max_weight;
  exported.weight_unit = rules.weight_unit;
  exported.columns = contents.features().columns();
  exported.sparse = store.manifest().feature_layout.sparse;
  exported.type = rules.type;
  exported.scale = rules.scale;
  exported.has_labels = contents.has_labels();
  exported.classes = rules.classes;
  exported.class_names = class_names(store);
  exported.has_train = rules.has_train;
  exported.has_valid = rules.has_valid;
  exported.has_test = rules.has_test;
  exported.order = store.manifest().order;
  exported.has_names = contents.order().names().given();
  exported.ids_are = store.manifest().ids_are;
  exported.by_name = exported.ids_are == IdsAre::names && are_all_named(contents);
  if (exported.ids_are && !exported.by_name) exported.ids_are = IdsAre::positions;  // which the arrays have
  // Text has them in a third column.
  const auto weights = [&](const std::string& name) {
    return exported.max_weight > 1 && !exported.by_name ? std::optional(NpyTarget(folder / name)) : std::nullopt;
  };
  const std::vector<Relation>& relations = exported.layers.relations;
  for (std::size_t r = 0; r < relations.size(); ++r) {
    exported.relation_files.push_back("edges-" + std::to_string(r) + (exported.by_name ? ".txt" : ".npy"));
    export_relation(store, NpyTarget(folder / exported.relation_files.back()),
                    weights("weights-" + std::to_string(r) + ".npy"), relations[r]);
  }
  if (exported.edges > 0 && relations.empty())
    export_edges(store, NpyTarget(folder / (exported.by_name ? "edges.txt" : "edges.npy")), weights("weights.npy"));
  if (exported.columns > 0) (exported.sparse ? write_csr : write_dense)(store, folder);
  // Numbers in an array might be taken for names that are numbers.
  const bool named_classes = !exported.class_names.empty();
  if (exported.has_labels && named_classes) export_label_names(store, NpyTarget(folder / "labels.txt"));
  if (exported.has_labels && !named_classes) export_labels(store, NpyTarget(folder / "labels.npy"));
  const auto write = [&](const std::string& split, const std::vector<NodeId>& nodes) {
    write_split(store, folder / (split + (exported.by_name ? ".txt" : ".npy")), nodes);
  };
  if (exported.has_train) write("train", contents.train());
  if (exported.has_valid) write("valid", contents.valid());
  if (exported.has_test) write("test", contents.test());
  if (exported.has_names) export_names(store, NpyTarget(folder / "names.txt"));
  if (contents.graphs().any()) write_graphs(store, folder, exported);
  exported.has_expiries = contents.expiries().size() > 0;
  if (exported.has_expiries) export_expiries(store, NpyTarget(folder / "expiries.txt"));
  return exported;
}

}  // namespace unweave
