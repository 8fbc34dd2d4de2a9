// algorithms/live/propagate_report.h - how a propagation is done, whole, in jobs or by ranks, and
// what it has taken or is going to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "algorithms/propagation/propagation_forecast.h"
#include "engine/ranks/ranks.h"
#include "storage/types/feature_layout.h"

namespace unweave {

/// How far the sums have come.
struct PropagateProgress {
  std::uint64_t done = 0;   ///< rows summed, each counted once a column tile
  std::uint64_t total = 0;  ///< rows in all, each counted once a column tile
};

/// Called from any thread, one call at a time; may be empty.
using PropagateMeter = std::function<void(const PropagateProgress&)>;

/// What a propagation does with parts of it that are finished.
struct PropagateHow {
  bool restart = false;   ///< drops all of them, those of other options too
  bool assemble = false;  ///< all tiles are there, and nothing is summed
  /// In a job of several ranks: each takes some partitions of the rows, and not some columns
  /// (rank_propagation.h).
  bool by_rows = false;
};

struct PropagateReport {
  std::uint64_t rows = 0;      ///< rows of sums kept, over all levels
  std::uint64_t targets = 0;   ///< nodes that have a row of the embedding
  std::uint64_t tiles = 1;     ///< column tiles
  std::size_t tile_width = 0;  ///< columns of a tile
  double sweep_seconds = 0;    ///< without the first reading of features and the last sync
  double sync_seconds = 0;     ///< the last sync: what was left to write, and making it durable
  double cone_seconds = 0;     ///< finding the rows that labelled ones read
  double fill_seconds = 0;     ///< norms of columns, room for tiles, and filling them
  /// What was predicted once the rows were known and before anything was summed; `cone` is that of
  /// before. Absent where the rates of the machine are not known.
  std::optional<PropagationSeconds> predicted;
  double arc_features_per_second = 0;  ///< (arcs + nodes) x columns x L / sweep_seconds; 0: parts were there already
};

/// Which jobs one call does: that of `index`, or, without one, one after another of those that
/// nobody has done or is at.
struct TileChoice {
  std::optional<std::uint64_t> index{};
  std::uint64_t jobs = 1;
};

struct TileReport {
  std::uint64_t done = 0;            ///< jobs that this call has done
  std::uint64_t there = 0;           ///< jobs asked for that were done before
  std::uint64_t busy = 0;            ///< that others are at
  std::uint64_t tiles = 0;           ///< column tiles written
  std::uint64_t rows = 0;            ///< rows of each of them, over all levels
  std::vector<TileColumns> columns;  ///< those of the jobs that this call has done
  std::vector<TileColumns> missing;  ///< columns that no tile has yet
  double sweep_seconds = 0, fill_seconds = 0, cone_seconds = 0;
};

struct RankPlan {
  std::uint64_t tiles = 1, tile_columns = 0;  ///< the rank with the most columns has them
  std::uint64_t memory_bytes = 0;             ///< what that rank takes, beside what an open store takes
  std::uint64_t graph_bytes = 0;              ///< what one rank reads of lists, each as often as it passes over them
  std::uint64_t disk_bytes = 0;               ///< at a time, on the storage that all share
  std::uint64_t disk_free_bytes = 0;          ///< there
  RankCalls calls;
};

}  // namespace unweave
