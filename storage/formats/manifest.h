// storage/formats/manifest.h - the one mutable file of a store: it names the immutable files of a
// generation.
//
// manifest.json is replaced atomically. A store that was never streamed has sequence 0, and nothing
// in it depends on times, threads, paths or the history of its contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/level_files.h"
#include "storage/formats/name_file.h"
#include "storage/formats/pair_files.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/file_entry.h"
#include "storage/types/ids_are.h"
#include "storage/types/layers.h"
#include "storage/types/node_types.h"
#include "storage/types/propagation_spec.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// Whole graphs of a store: to which one each node belongs, and what is known of them.
struct GraphFiles {
  std::uint32_t count = 0;  ///< numbers of graphs, 0 .. count - 1, also of such without nodes
  FileEntry of_nodes;
  std::optional<FileEntry> labels;  ///< classes of graphs; a store with them has none of nodes
  std::optional<FileEntry> train, valid, test;
};

/// Bytes of all these files.
[[nodiscard]] std::uint64_t bytes_of(const std::vector<FileEntry>& files) noexcept;

struct Manifest {
  NodeId nodes = 0;  ///< those of the graph: copies are nodes of their own
  Layers layers;     ///< how they stand for the nodes of users
  NodeTypes types;   ///< kinds of the nodes of users; empty where they are of one
  std::uint32_t features = 0;
  std::uint32_t classes = 0;
  bool standardized = false;
  FeatureLayout feature_layout;         ///< layout of all feature files
  FeatureScale scale;                   ///< how the import scaled their rows
  std::string order = "none";           ///< how the positions of nodes were chosen
  std::optional<FileEntry> order_file;  ///< the permutation; absent under "none", where ids are positions
  std::optional<NameEntries> names;     ///< what users call the nodes; absent where they have numbers alone
  /// What a number means where nodes have names; absent where no name is a number of another node.
  std::optional<IdsAre> ids_are;

  std::uint64_t edges = 0;       ///< undirected, in this generation
  std::uint32_t max_weight = 1;  ///< declared: weights of edges are integers up to it; 1 where edges have none
  std::uint64_t weight_sum = 0;  ///< weights of all edges, where they have some
  /// Where weights are real numbers: what `max_weight` and `weight_sum` count, and what self loops
  /// weigh.
  std::optional<WeightUnit> weight_unit;
  std::vector<FileEntry> shards;
  std::vector<FileEntry> feature_files;
  std::optional<FileEntry> labels;
  std::optional<FileEntry> train, valid, test;
  std::optional<GraphFiles> graphs;  ///< absent where nodes belong to no whole graphs
  std::optional<FileEntry> changes;  ///< what differs from shards, features, labels and splits
  /// While a purge goes through the shards: those of so many spans, the first ones, have the edges
  /// of `changes` in them, and the others have not. Else 0.
  std::size_t folded_spans = 0;
  std::optional<PairFiles> pairs;     ///< edges that are held out of the graph; absent where no links are predicted
  std::optional<FileEntry> expiries;  ///< what is to be removed when (Expiry); absent where nothing is

  std::optional<PropagationSpec> propagation;
  std::vector<LevelFiles> levels;  ///< 0 .. L
  bool lazy = false;               ///< the last batch had a threshold: rows may be stale, whether any is or not

  std::uint64_t sequence = 0;  ///< requests that this generation contains
  std::optional<FileEntry>
      journal;  ///< the requests after `sequence`: at least these bytes of it; none while there is none
  std::vector<FileEntry> releases;  ///< models, and at least these bytes of their logs of certificates, sorted by path

  /// What is recorded of a model or a log; none where nothing is.
  [[nodiscard]] const FileEntry* release(std::string_view path) const;

  /// Nodes that users know.
  [[nodiscard]] NodeId user_nodes() const noexcept { return nodes / layers.copies(); }
  /// Makes room for more of them, which come last and are of the last type.
  void take_users(NodeId users) noexcept;
  /// Whether the copies of a node share its row of features: so where its copies lie as they are
  /// numbered. Under an order each has one of its own, near its neighbours'.
  [[nodiscard]] bool shares_features() const noexcept { return features > 0 && layers.copies() > 1 && !order_file; }
  /// Bytes of features that are read for all nodes once: where copies share rows, these are read
  /// for each of them.
  [[nodiscard]] std::uint64_t feature_pass_bytes() const noexcept {
    return bytes_of(feature_files) * (shares_features() ? layers.copies() : 1);
  }
  /// Rows of the feature files.
  [[nodiscard]] NodeId feature_rows() const noexcept { return shares_features() ? user_nodes() : nodes; }
  /// Arcs of the graph: an edge is two for each unit of its weight.
  [[nodiscard]] std::uint64_t arcs() const noexcept { return 2 * (max_weight > 1 ? weight_sum : edges); }
  /// Columns of a kept row, or of the features where sums are kept.
  [[nodiscard]] std::uint32_t row_width() const noexcept;
  /// How lists of neighbours hold what edges weigh.
  [[nodiscard]] ListForm list_form() const noexcept { return {max_weight, weight_unit.has_value()}; }
  /// What a program must know of to read this store, of "names", "ids-are", "expiries", "weights",
  /// "rows", "layers", "arcs-of-relations", "types", "ends", "packed-features", "shared-features",
  /// "pairs", "graphs", "real-weights" and "folded-spans", in this order: one that has never heard
  /// of a word would lose what it stands for.
  [[nodiscard]] std::vector<std::string> needs() const;
  /// A level with its files, 0 .. L; there must be an embedding.
  [[nodiscard]] LevelPlace place(std::uint32_t level) const;
  /// The manifest of the graph that the edges held out of this one make. There must be pairs.
  [[nodiscard]] Manifest of_held() const;
  /// Every file that this generation names; what is recorded of others, which change after it, is
  /// not among them.
  [[nodiscard]] std::vector<FileEntry> files() const;
  /// Forgets embedding, requests and models: what is left is a store of these contents that nothing
  /// has happened to.
  void forget_history();
};

inline constexpr std::string_view kManifestName = "manifest.json";

/// The version of a store's manifest, whichever program wrote it. Throws as read_manifest() where
/// there is no store, and FormatError where the text is no manifest of any version.
[[nodiscard]] std::int64_t manifest_version(const std::filesystem::path& store);

/// Reads and checks manifest.json; every path stays inside the store. Throws DataError naming
/// `unweave import` when there is no store, and for one of another version or that needs what this
/// program does not know; FormatError when it is damaged.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& store);

/// Reads and checks bytes of a manifest.json that came from `path`.
[[nodiscard]] Manifest parse_manifest(const std::string& text, const std::filesystem::path& path);

/// The name of the journal that this manifest is the first to name. Another store's journal has
/// another name, and a journal holds its own.
[[nodiscard]] std::string journal_name(Manifest manifest);

/// The bytes of manifest.json.
[[nodiscard]] std::string manifest_text(const Manifest& manifest);

/// Replaces manifest.json; durable on return. The files it names must be durable already.
void write_manifest(const std::filesystem::path& store, const Manifest& manifest);

}  // namespace unweave
