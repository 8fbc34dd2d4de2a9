// algorithms/updates/planner.h - push or recompute: the predicted cost of one level of an update.
//
// Pure functions: the choice depends on the contents, on what earlier batches have left in memory
// and on what the page cache has of the files, as LevelWork says, not on the load of the machine.
// The costs are those of engine/resources/cost.h; only their ratios count, but where files have to
// be read from a disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace unweave {

/// What reads cost that the page cache cannot serve. By default it serves all of them.
struct ColdReads {
  double byte_seconds = 0;  ///< a byte of a file that is read in order
  double page_seconds = 0;  ///< a page of 4 KiB anywhere, many asked for at a time
  double room_seconds = 0;  ///< a byte of memory that was never touched, where that costs more than mostly
  /// Shares of the bytes that are not in memory: of the shards, of the lists of the targets, of the
  /// level's sums, and of the features or sums of the level below.
  double graph = 0, lists = 0, level = 0, below = 0;
  double graph_bytes = 0, list_bytes = 0, below_bytes = 0;  ///< sizes of these files
};

/// What there is to do at one level. Arcs include self loops.
struct LevelWork {
  std::uint64_t changed = 0;          ///< nodes of the batch, if it is one: to be captured and mended by a push
  std::uint64_t arcs = 0;             ///< arcs of the rows to push, in sum
  std::uint64_t scan_arcs = 0;        ///< arcs of the lists in which their receivers are looked up, if not in their own
  std::uint64_t slices = 1;           ///< slices of the nodes: receivers wait in a file where there are several
  std::uint64_t least_receivers = 0;  ///< rows that certainly receive something
  std::uint64_t rows = 0;             ///< rows that the level keeps
  std::uint64_t rows_in_memory = 0;   ///< how many of these, at least, earlier batches left in memory
  bool is_resident = false;           ///< a recomputation has made room in memory for all of them
  bool is_below_resident = false;     ///< whether that is so at the level below
  std::uint64_t nodes = 0;
  std::uint64_t graph_arcs = 0;
  std::uint64_t changed_arcs = 0;  ///< arcs of the graph that changed since its shards were written
  std::uint32_t columns = 0;
  std::size_t threads = 1;
  std::uint64_t sources = 0;  ///< rows to push
  ColdReads cold;
};

/// Distinct rows that receive something.
struct Receivers {
  double in_files = 0;
  double in_memory = 0;
};

/// As many receivers as there can be, where they cost most.
[[nodiscard]] Receivers most_receivers(const LevelWork& work);

/// `count` receivers, of which as large a part lies in memory as of all rows.
[[nodiscard]] Receivers any_receivers(const LevelWork& work, double count);

/// As many receivers as if arcs ended anywhere, among the rows that are kept as often as these are
/// thought to.
[[nodiscard]] Receivers scattered_receivers(const LevelWork& work);

/// The stride at which `sources` lists may be read to count receivers, so that it costs little
/// beside either way.
[[nodiscard]] std::size_t count_stride(const LevelWork& work, std::size_t sources);

/// Distinct nodes at the ends of all arcs to push when `some` arcs, more than none, have `found`:
/// if all end in the same set of nodes, in each as likely as in any other.
[[nodiscard]] double extrapolate_receivers(const LevelWork& work, double found, double some);

/// Seconds for pushing to these receivers.
[[nodiscard]] double forecast_push(const LevelWork& work, const Receivers& receivers);

/// Seconds for a sweep over the whole graph that keeps the rows of the level.
[[nodiscard]] double forecast_recompute(const LevelWork& work);

/// Whether the receivers of a push are found sooner in the lists of all rows that may receive,
/// which have `list_arcs` in sum and lie side by side, than in those of the sources, which lie
/// anywhere.
[[nodiscard]] bool list_scan_pays(std::uint64_t list_arcs, std::uint64_t sources, std::uint64_t pushed_arcs);

struct LevelChoice {
  bool recompute = false;
  double seconds = 0;  ///< predicted
};

/// The cheaper way. Calls count_receivers(), which takes time, only where its result decides; else
/// a push is predicted for scattered_receivers().
[[nodiscard]] LevelChoice choose(const LevelWork& work, const std::function<Receivers()>& count_receivers);

}  // namespace unweave
