// algorithms/propagation/propagation_forecast.h - how long a propagation will take, from the rates
// of the machine, what lies in the page cache, and a short sample of lists.
//
//   cone    one pass over the graph a level but the last, for labelled rows: who is read by whom
//   fill    making room for the tile, features to level 0; with the first tile the lists too, for
//           the check of the sums
//   sweep   one pass over the graph a level and tile: decoding, fetching rows, rounding, and what
//           is written meanwhile; after several tiles, putting them together
//   write   what is left to write after the last sum, making all of it durable
//
// A pass takes the longer of what the disk needs for the bytes that are not in memory and of what
// the threads need. The page cache has what the machine's memory leaves beside the tile: a pass
// over more than that finds next to nothing of the pass before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace unweave {

class Contents;
struct MachineProfile;
struct Manifest;
struct PropagationPlan;
struct PropagationSpec;

/// What the time of a propagation depends on.
struct PropagationWork {
  double nodes = 0, terms = 0;     ///< terms: arcs of the graph and self loops
  std::vector<double> rows, arcs;  ///< levels 1 .. L
  double columns = 0, tile_columns = 0, tiles = 1;
  double value_bytes = 4;  ///< a value in a tile
  double graph_bytes = 0, feature_bytes = 0, state_bytes = 0, spooled_bytes = 0, cone_bytes = 0;
  double refill_bytes = 0;  ///< sums that are read to fill tiles with the level above
  double write_buffer_bytes = 0;
  double files = 0;                                  ///< that are made durable
  double graph_resident = 1, features_resident = 1;  ///< shares of the bytes that lie in the page cache before it
  double free_memory = 0;  ///< bytes that the page cache may take, before the tile is there; 0: not known, hence ample
  double commit_byte_seconds = 0;  ///< room for a byte of a tile
  double large_pages = 0;          ///< bytes that are free in pages of 2 MiB
  double tile_bytes = 0;           ///< memory that a propagation takes away from it
  double decode_seconds = 0;       ///< an arc, on one thread
  /// Shares of the arcs whose rows are found in the first 1, 8 and 64 MiB of what was used last.
  std::vector<double> near = {0, 0, 0};
  double threads = 1;
  bool all_rows = true;
};

struct PropagationSeconds {
  double cone = 0, fill = 0, sweep = 0, write = 0;
  double sums = 0;              ///< what threads need of `sweep`, where they need not wait
  bool waits_for_disk = false;  ///< the disk needs longer for the sweep than the threads do
  [[nodiscard]] double total() const noexcept { return cone + fill + sweep + write; }
};

[[nodiscard]] PropagationSeconds predict_propagation(const PropagationWork& work, const MachineProfile& machine);

/// Seconds of fetching and adding one row of a tile on one thread: of `row_bytes` bytes, among
/// `rows` rows, where shares `near` (see PropagationWork) of them were used shortly before.
[[nodiscard]] double row_seconds(const MachineProfile& machine, double rows, double row_bytes,
                                 const std::vector<double>& near);

/// What of PropagationWork is the store's: sizes, shares in memory, and how lists are decoded and
/// where they point, by a sample of at most `most_arcs` arcs and a 256th of all. Rows, arcs and
/// tiles are the plan's, which add_plan() adds.
[[nodiscard]] PropagationWork survey_store(const std::filesystem::path& store, const Manifest& manifest,
                                           const Contents& contents, const PropagationSpec& spec,
                                           std::uint64_t most_arcs = std::uint64_t{1} << 20);
void add_plan(const PropagationPlan& plan, PropagationWork& work);

}  // namespace unweave
