// storage/formats/run_file.cpp - writes, reads and checks the files of changes, runs, counts and
// stale rows.
#include "storage/formats/run_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <utility>

#include "storage/formats/level_files.h"
#include "storage/formats/node_file.h"
#include "storage/io/error.h"
#include "storage/io/private_file.h"
#include "storage/io/store_folders.h"
#include "storage/types/list_view.h"

namespace unweave {
namespace {

std::string level_stem(std::string_view name, std::uint32_t level) {
  return "level" + std::to_string(level) + "-" + std::string(name);
}

/// Gives arrays one after the other and fails on the first that does not fit.
class Arrays {
 public:
  explicit Arrays(const SealedFile& file) : file_(file) {}

  template <class T>
  std::span<const T> next(std::uint64_t count) {
    const auto values = file_.values<T>(at_, count);
    at_ += count * sizeof(T);
    return values;
  }
  /// The bytes are not checked, which is up to whoever uses them.
  template <class T>
  std::span<const T> next_unchecked(std::uint64_t count) {
    if (at_ > file_.size() || count > (file_.size() - at_) / sizeof(T))
      file_.fail(at_, "more values than the file can hold");
    const std::span values(reinterpret_cast<const T*>(file_.data() + at_), static_cast<std::size_t>(count));
    at_ += values.size_bytes();
    return values;
  }
  /// All values that are left.
  template <class T>
  std::span<const T> rest() {
    return next<T>(at_ < file_.size() ? (file_.size() - at_) / sizeof(T) : 0);
  }
  void align(std::uint64_t unit) { at_ = (at_ + unit - 1) / unit * unit; }
  void finish() const {
    if (at_ != file_.size()) file_.fail(at_, "the file is longer than its contents");
  }

 private:
  const SealedFile& file_;
  std::uint64_t at_ = 0;
};

template <class T>
std::vector<T> copy_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

void check_nodes(const SealedFile& file, std::span<const NodeId> ids, NodeId nodes) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= nodes || (i > 0 && ids[i] <= ids[i - 1])) file.fail(0, "node ids out of range or out of order");
}

template <class Set>
void check_sorted(const SealedFile& file, const std::vector<Set>& set, std::uint32_t nodes) {
  for (std::size_t i = 0; i < set.size(); ++i)
    if (set[i].node >= nodes || (i > 0 && set[i].node <= set[i - 1].node))
      file.fail(0, "node ids out of range or out of order");
}

/// Columns of the values that the words of a row hold; all where it holds them all.
bool holds_pairs(std::uint64_t nonzeros, std::uint32_t columns) noexcept {
  return 2 * nonzeros < columns;
}

std::vector<std::uint32_t> next_row(Arrays& arrays, std::uint32_t columns) {
  const std::uint32_t nonzeros = arrays.next<std::uint32_t>(1)[0];
  const auto rest = arrays.next<std::uint32_t>(holds_pairs(nonzeros, columns) ? 2 * std::uint64_t{nonzeros} : columns);
  std::vector<std::uint32_t> words{nonzeros};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

/// The form is the one that pack_row() gives, and the norm that of features.
void check_row(const SealedFile& file, std::span<const std::uint32_t> words, std::uint32_t columns) {
  const std::size_t nonzeros = words[0];
  const bool pairs = holds_pairs(nonzeros, columns);
  std::size_t found = 0;
  double square = 0;
  for (const std::uint32_t bits : words.subspan(pairs ? 1 + nonzeros : 1)) {
    found += bits != 0 ? 1 : 0;
    const double value = std::bit_cast<float>(bits);
    square += value * value;
  }
  if (!(square <= 1 + 1e-9))  // the rounding of the sum alone
    file.fail(0, "a row of features that is not finite or above norm 1");
  if (found != nonzeros) file.fail(0, "another number of non-zeros than values");
  for (std::size_t i = 1; pairs && i <= nonzeros; ++i)
    if (words[i] >= columns || (i > 1 && words[i] <= words[i - 1])) file.fail(0, "columns out of range or order");
}

/// Edges as a file has them, in which one may stand `most` times.
void check_edges(const SealedFile& file, std::span<const Edge> edges, NodeId nodes, std::size_t most) {
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i].u >= edges[i].v || edges[i].v >= nodes || (i > 0 && edges[i] < edges[i - 1]) ||
        (i >= most && edges[i] == edges[i - most]))
      file.fail(0, "edges out of range or out of order");
}

std::vector<ChangedEdge> repeated_edges(const SealedFile& file, std::span<const Edge> stored,
                                        const ChangesScope& scope) {
  check_edges(file, stored, scope.nodes, scope.max_weight);
  std::vector<ChangedEdge> edges;
  for_runs(stored, [&](const Edge& edge, std::uint32_t units) { edges.push_back({edge.u, edge.v, units}); });
  return edges;
}

std::vector<ChangedEdge> edges_with_units(const SealedFile& file, std::span<const Edge> stored,
                                          std::span<const std::uint32_t> units, const ChangesScope& scope) {
  check_edges(file, stored, scope.nodes, 1);
  std::vector<ChangedEdge> edges;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (units[i] < 1 || units[i] > scope.max_weight) file.fail(0, "an edge that has changed by no weight there is");
    edges.push_back({stored[i].u, stored[i].v, units[i]});
  }
  return edges;
}

/// The removed and the inserted edges, with which a file begins.
void read_edges(const SealedFile& file, Arrays& arrays, const ChangesScope& scope, Changes& out) {
  const auto removed = arrays.next<Edge>(file.parameters()[0]), inserted = arrays.next<Edge>(file.parameters()[1]);
  if (!scope.with_units) {
    out.removed = repeated_edges(file, removed, scope);
    out.inserted = repeated_edges(file, inserted, scope);
    return;
  }
  const auto lost = arrays.next<std::uint32_t>(removed.size()), gained = arrays.next<std::uint32_t>(inserted.size());
  out.removed = edges_with_units(file, removed, lost, scope);
  out.inserted = edges_with_units(file, inserted, gained, scope);
}

/// Returns how many edges of both kinds the file names.
std::pair<std::uint64_t, std::uint64_t> append_edges(SealedWriter& writer, const Changes& changes, bool with_units) {
  std::pair<std::uint64_t, std::uint64_t> counts;
  const auto append = [&](const std::vector<ChangedEdge>& edges) {
    std::uint64_t count = 0;
    for (const ChangedEdge& edge : edges) {
      const Edge one{edge.u, edge.v};
      const std::uint32_t times = with_units ? 1 : edge.units;
      for (std::uint32_t i = 0; i < times; ++i) writer.append_values(std::span(&one, 1));
      count += times;
    }
    return count;
  };
  counts.first = append(changes.removed);
  counts.second = append(changes.inserted);
  for (const auto* const edges : {&changes.removed, &changes.inserted})
    for (const ChangedEdge& edge : *edges)
      if (with_units) writer.append_values(std::span(&edge.units, 1));
  return counts;
}

}  // namespace

std::vector<std::uint32_t> pack_row(std::span<const float> row) {
  std::vector<std::uint32_t> words{0};
  for (const float value : row) words[0] += std::bit_cast<std::uint32_t>(value) != 0 ? 1 : 0;
  const bool pairs = holds_pairs(words[0], static_cast<std::uint32_t>(row.size()));
  words.reserve(1 + (pairs ? std::size_t{2} * words[0] : row.size()));
  for (std::uint32_t c = 0; pairs && c < row.size(); ++c)
    if (std::bit_cast<std::uint32_t>(row[c]) != 0) words.push_back(c);
  for (const float value : row)
    if (const auto bits = std::bit_cast<std::uint32_t>(value); !pairs || bits != 0) words.push_back(bits);
  return words;
}

void unpack_row(std::span<const std::uint32_t> words, std::uint32_t columns, std::uint32_t first,
                std::span<float> out) {
  const std::size_t nonzeros = words[0];
  if (!holds_pairs(nonzeros, columns)) {
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = std::bit_cast<float>(words[1 + first + c]);
    return;
  }
  std::fill(out.begin(), out.end(), 0.0F);
  const auto ids = words.subspan(1, nonzeros);
  for (auto at = std::lower_bound(ids.begin(), ids.end(), first); at != ids.end() && *at < first + out.size(); ++at)
    out[*at - first] = std::bit_cast<float>(words[1 + nonzeros + static_cast<std::size_t>(at - ids.begin())]);
}

namespace {

/// How many things of three kinds are said of whole graphs, then these.
void append_graphs(SealedWriter& writer, const GraphChanges& graphs) {
  static_assert(sizeof(SetGraph) == 8);
  const std::array<std::uint32_t, 3> counts{static_cast<std::uint32_t>(graphs.of_nodes.size()),
                                            static_cast<std::uint32_t>(graphs.labels.size()),
                                            static_cast<std::uint32_t>(graphs.splits.size())};
  writer.append_values(std::span<const std::uint32_t>(counts));
  writer.append_values(std::span<const SetGraph>(graphs.of_nodes));
  writer.append_values(std::span<const SetLabel>(graphs.labels));
  writer.append_values(std::span<const SetSplit>(graphs.splits));
}

void check_values(const SealedFile& file, const std::vector<SetLabel>& labels, const std::vector<SetSplit>& splits,
                  std::uint32_t classes) {
  for (const SetLabel& one : labels)
    if (one.label < kNoLabel || one.label >= static_cast<std::int64_t>(classes))
      file.fail(0, "a label outside the declared classes");
  for (const SetSplit& one : splits)
    if (one.split > SplitName::test) file.fail(0, "a split that there is not");
}

GraphChanges next_graphs(const SealedFile& file, Arrays& arrays, const ChangesScope& scope) {
  GraphChanges graphs;
  const auto counts = arrays.next<std::uint32_t>(3);
  graphs.of_nodes = copy_of(arrays.next<SetGraph>(counts[0]));
  graphs.labels = copy_of(arrays.next<SetLabel>(counts[1]));
  graphs.splits = copy_of(arrays.next<SetSplit>(counts[2]));
  check_sorted(file, graphs.of_nodes, scope.nodes);
  check_sorted(file, graphs.labels, *scope.graphs);
  check_sorted(file, graphs.splits, *scope.graphs);
  for (const SetGraph& one : graphs.of_nodes)
    if (one.graph < kNoGraph || one.graph >= static_cast<std::int64_t>(*scope.graphs))
      file.fail(0, "a graph that there is not");
  check_values(file, graphs.labels, graphs.splits, scope.classes);
  return graphs;
}

FileEntry write_changes_in(const char* folder, const std::filesystem::path& store, const Changes& changes,
                           bool with_graphs, bool with_units) {
  SealedWriter writer({store, folder, "changes", "changes", "changes"});
  const auto [removed, inserted] = append_edges(writer, changes, with_units);
  writer.append_values(std::span<const NodeId>(changes.cleared));
  static_assert(sizeof(SetLabel) == 8 && sizeof(SetSplit) == 8);
  writer.append_values(std::span<const SetLabel>(changes.labels));
  writer.append_values(std::span<const SetSplit>(changes.splits));
  if (with_graphs) append_graphs(writer, changes.graphs);
  for (const SetRow& row : changes.rows) {
    writer.append_values(std::span<const NodeId>(&row.node, 1));
    writer.append_values(std::span<const std::uint32_t>(*row.words));
  }
  writer.append_values(std::span<const NodeId>(changes.lost_names));
  FileEntry entry = writer.finish(
      {removed, inserted, changes.cleared.size(), changes.labels.size(), changes.splits.size(), changes.rows.size()});
  make_private(File::open_stored(store / entry.path));  // it names what was removed
  return entry;
}

}  // namespace

FileEntry write_held_changes(const std::filesystem::path& store, const Changes& changes, bool with_units) {
  return write_changes_in(kPairsFolder, store, changes, false, with_units);
}

FileEntry write_changes(const std::filesystem::path& store, const Changes& changes, bool with_graphs, bool with_units) {
  return write_changes_in("graph", store, changes, with_graphs, with_units);
}

Changes read_changes(const std::filesystem::path& store, const FileEntry& entry, const ChangesScope& scope) {
  const NodeId nodes = scope.nodes;
  const SealedFile file(store, entry, "changes");
  const SealedParameters& p = file.parameters();
  Arrays arrays(file);
  Changes changes;
  read_edges(file, arrays, scope, changes);
  changes.cleared = copy_of(arrays.next<NodeId>(p[2]));
  changes.labels = copy_of(arrays.next<SetLabel>(p[3]));
  changes.splits = copy_of(arrays.next<SetSplit>(p[4]));
  if (scope.graphs) changes.graphs = next_graphs(file, arrays, scope);
  for (std::uint64_t i = 0; i < p[5]; ++i) {
    const NodeId node = arrays.next<NodeId>(1)[0];
    changes.rows.push_back({node, std::make_shared<const std::vector<std::uint32_t>>(next_row(arrays, scope.columns))});
    check_row(file, *changes.rows.back().words, scope.columns);
  }
  if (scope.lost_names) changes.lost_names = copy_of(arrays.rest<NodeId>());
  arrays.finish();
  check_nodes(file, changes.lost_names, nodes);
  check_nodes(file, changes.cleared, nodes);
  check_sorted(file, changes.labels, nodes);
  check_sorted(file, changes.splits, nodes);
  check_sorted(file, changes.rows, nodes);
  check_values(file, changes.labels, changes.splits, scope.classes);
  return changes;
}

ChangesCounts count_changes(const std::filesystem::path& store, const FileEntry& entry, bool with_graphs,
                            bool with_units) {
  const SealedFile file(store, entry, "changes");
  const SealedParameters& p = file.parameters();
  const auto most = [&](std::uint64_t number, std::uint64_t bytes) { return std::min(number, file.size() / bytes); };
  ChangesCounts counts;
  counts.edges = most(p[0], sizeof(Edge)) + most(p[1], sizeof(Edge));
  counts.labels = most(p[3], sizeof(SetLabel));
  counts.splits = most(p[4], sizeof(SetSplit));
  counts.rows = most(p[5], 2 * sizeof(std::uint32_t));
  if (with_graphs) {
    const std::uint64_t of_edge = sizeof(Edge) + (with_units ? sizeof(std::uint32_t) : 0);
    const std::uint64_t before = counts.edges * of_edge + most(p[2], sizeof(NodeId)) * sizeof(NodeId) +
                                 (counts.labels + counts.splits) * sizeof(SetLabel);
    for (const std::uint32_t count : file.values<std::uint32_t>(before, 3))
      counts.graphs += most(count, sizeof(SetGraph));
  }
  counts.row_bytes = counts.rows == 0 ? 0 : file.size();
  return counts;
}

FileEntry write_run(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, const Run& run,
                    const std::function<StateRow(NodeId)>& row) {
  SealedWriter writer({store, "state", level_stem("run", level), "run", "run"});
  for (const auto* const nodes : {&run.narrow_nodes, &run.wide_nodes, &run.dropped, &run.count_nodes})
    writer.append_values(std::span<const NodeId>(*nodes));
  writer.append_values(std::span<const std::uint32_t>(run.count_values));
  for (const NodeId node : run.narrow_nodes) writer.append_values(std::span(row(node).narrow, columns));
  writer.align(8);
  for (const NodeId node : run.wide_nodes) writer.append_values(std::span(row(node).wide, columns));
  return writer.finish(
      {level, columns, run.narrow_nodes.size(), run.wide_nodes.size(), run.dropped.size(), run.count_nodes.size()});
}

StoredRun read_run(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
                   std::uint32_t columns, NodeId nodes) {
  const auto file = std::make_shared<SealedFile>(store, entry, "run");
  const SealedParameters& p = file->parameters();
  if (p[0] != level || p[1] != columns) file->fail(0, "the run belongs to another level or number of columns");
  for (std::size_t i = 2; i < p.size(); ++i)
    if (p[i] > nodes) file->fail(0, "more rows than nodes");
  Arrays arrays(*file);
  StoredRun run;
  run.file = file;
  run.narrow_nodes = arrays.next<NodeId>(p[2]);
  run.wide_nodes = arrays.next<NodeId>(p[3]);
  run.dropped = arrays.next<NodeId>(p[4]);
  run.count_nodes = arrays.next<NodeId>(p[5]);
  run.count_values = arrays.next<std::uint32_t>(p[5]);
  run.narrow_rows = arrays.next_unchecked<std::int32_t>(p[2] * columns);
  arrays.align(8);
  run.wide_rows = arrays.next<std::int64_t>(p[3] * columns);
  arrays.finish();
  for (const auto ids : {run.narrow_nodes, run.wide_nodes, run.dropped, run.count_nodes})
    check_nodes(*file, ids, nodes);
  return run;
}

FileEntry write_counts(const std::filesystem::path& store, std::uint32_t level, std::span<const std::uint32_t> counts) {
  SealedWriter writer({store, "state", level_stem("counts", level), "counts", "counts"});
  writer.append_values(counts);
  return writer.finish({level, counts.size()});
}

FileEntry write_stale(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns,
                      std::span<const StaleRow> rows) {
  SealedWriter writer({store, "state", level_stem("stale", level), "stale", "stale"});
  for (const StaleRow& row : rows) writer.append_values(std::span(&row.node, 1));
  for (const StaleRow& row : rows) writer.append_values(std::span(&row.width, 1));
  for (const StaleRow& row : rows) writer.append(row.values);
  return writer.finish({level, columns, rows.size()});
}

std::vector<StaleRow> read_stale(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
                                 std::uint32_t columns, NodeId nodes, std::vector<SealedFile>& holder) {
  const SealedFile& file = holder.emplace_back(store, entry, "stale");
  const SealedParameters& p = file.parameters();
  if (p[0] != level || p[1] != columns || p[2] > nodes)
    file.fail(0, "the stale rows belong to another level or number of columns");
  const auto ids = file.values<NodeId>(0, p[2]);
  check_nodes(file, ids, nodes);
  const auto widths = file.values<std::uint8_t>(4 * p[2], p[2]);
  std::vector<StaleRow> rows;
  rows.reserve(ids.size());
  std::uint64_t at = 5 * p[2];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (widths[i] != 1 && widths[i] != 2 && widths[i] != 4) file.fail(4 * p[2] + i, "width: not 1, 2 or 4 bytes");
    const std::uint64_t bytes = std::uint64_t{widths[i]} * columns;
    rows.push_back({ids[i], widths[i], file.bytes(at, bytes)});
    at += bytes;
  }
  if (at != file.size()) file.fail(at, "the file is longer than its rows");
  return rows;
}

/// Opening leaves narrow rows unread, and contradictions between the lists; here all is read.
void verify_run(const std::filesystem::path& store, const LevelPlace& place, std::size_t) {
  const FileEntry& entry = place.files.run.value();
  const StoredRun run = read_run(store, entry, place.level, place.columns, place.nodes);
  run.file->check_all();
  std::set<NodeId> seen;
  for (const auto nodes : {run.narrow_nodes, run.wide_nodes, run.dropped})
    for (const NodeId node : nodes)
      if (!seen.insert(node).second)
        throw FormatError(store / entry.path, "position " + std::to_string(node), "two states of one row");
}

void verify_counts(const std::filesystem::path& store, const LevelPlace& place, std::size_t) {
  const SealedFile file(store, place.files.counts.value(), "counts");
  file.check_all();
  if (file.size() != std::uint64_t{place.nodes} * 4 || file.parameters()[0] != place.level)
    file.fail(0, "not one count a node of this level");
}

void verify_stale(const std::filesystem::path& store, const LevelPlace& place, std::size_t) {
  std::vector<SealedFile> holder;
  static_cast<void>(read_stale(store, place.files.stale.value(), place.level, place.columns, place.nodes, holder));
}

}  // namespace unweave
