// storage/formats/import_record.h - what is finished of an import that is not: STORE/import/record.json (FORMAT.md,
// "Unfinished imports").
//
// Whoever goes on with an import believes this file alone, and files that it names, whose bytes their roots tell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/formats/edge_place.h"
#include "storage/formats/name_file.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"

namespace unweave {

inline constexpr int kImportRecordVersion = 2;

/// A finished shard. An edge is two arcs for each unit of its weight, and two unique ones.
struct CountedShard {
  FileEntry file;
  std::uint64_t arcs = 0, unique = 0;

  friend bool operator==(const CountedShard&, const CountedShard&) = default;
};

/// Arcs that lie in a file, STORE/import/STEP.arcs, and where each chunk of them lies.
struct KeptArcs {
  EdgePlace place;     ///< edges before it are there; under an order, blocks of the graph by ids
  bool whole = false;  ///< all edges are
  std::uint64_t edges_read = 0, self_loops = 0, upward = 0;
  std::optional<NodeId> smallest_node, largest_node;
  std::uint64_t bytes = 0;        ///< length of the file
  std::vector<FileEntry> chunks;  ///< lists of chunks, relative to the import's folder

  friend bool operator==(const KeptArcs&, const KeptArcs&) = default;
};

/// A graph on its way from arcs to shards.
struct KeptGraph {
  std::optional<KeptArcs> arcs;      ///< until all shards are there
  std::vector<CountedShard> shards;  ///< the first ones
  bool whole = false;                ///< all are there; what was counted stays
  NodeId nodes = 0;                  ///< those of a whole graph
  KeptArcs counts;                   ///< those of a whole graph, without files

  friend bool operator==(const KeptGraph&, const KeptGraph&) = default;
};

/// A finished file of features, and how the rows of its span met the bound.
struct KeptFeatures {
  FileEntry file;
  std::uint64_t above = 0, first_above = 0;
  double norm_of_first_above = 0, largest = 0;

  friend bool operator==(const KeptFeatures&, const KeptFeatures&) = default;
};

struct KeptNames {
  NameEntries entries;
  NodeId nodes = 0;
  std::uint64_t named = 0;

  friend bool operator==(const KeptNames&, const KeptNames&) = default;
};

/// As engine/ingest/standardize.h measures it, in two passes over the rows. Before the end of the first one `deviation`
/// has the sums of squares around the means, before the end of the second one `largest_norm` the largest square.
struct KeptStatistics {
  std::vector<double> mean, deviation;
  double largest_norm = 1;
  std::uint64_t passes = 0;  ///< that are finished
  std::uint64_t rows = 0;    ///< looked at in the next one

  friend bool operator==(const KeptStatistics&, const KeptStatistics&) = default;
};

/// Rows of features on their way to their positions: they lie in STORE/import/rows.
struct WaitingRows {
  std::uint64_t rows = 0;  ///< the first ones
  std::uint64_t above = 0, first_above = 0;
  double norm_of_first_above = 0, largest = 0;
  std::uint64_t bytes = 0;        ///< length of the file
  std::uint64_t bucket_keys = 0;  ///< positions of a bucket
  std::vector<FileEntry> pieces;  ///< lists of pieces, relative to the import's folder

  friend bool operator==(const WaitingRows&, const WaitingRows&) = default;
};

struct ImportRecord {
  /// All that the bytes of the store follow from: options and what they are, input files and how they look.
  std::vector<std::pair<std::string, std::string>> options;
  std::optional<KeptNames> names;
  KeptGraph given, ordered;  ///< by the user's ids, and under an order
  std::optional<FileEntry> order;
  double seconds_order = 0;
  std::optional<KeptStatistics> statistics;
  std::optional<WaitingRows> rows;     ///< under an order
  std::vector<KeptFeatures> features;  ///< the first ones

  friend bool operator==(const ImportRecord&, const ImportRecord&) = default;
};

/// Nothing where there is no record. Throws FormatError for a damaged one, or one of another version.
[[nodiscard]] std::optional<ImportRecord> read_import_record(const std::filesystem::path& store);
/// Replaces the record; durable on return. What it names must be durable already.
void write_import_record(const std::filesystem::path& store, const ImportRecord& record);

/// As the record writes it, and the other way round. `path` is for messages.
[[nodiscard]] std::string import_record_text(const ImportRecord& record);
[[nodiscard]] ImportRecord parse_import_record(const std::string& text, const std::filesystem::path& path);

}  // namespace unweave
