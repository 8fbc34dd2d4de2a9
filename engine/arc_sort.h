// engine/arc_sort.h - from edges in any order to unique arcs in (u, v) order, within a budget of bytes.
//
// An arc is a 64-bit key u << 32 | v, so the order of keys is the order of arcs. Keys that do not fit the budget are
// written as sorted runs to a nameless temporary file and merged when read back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "storage/types.h"

namespace unweave {

/// Counts of edges as they came. duplicates = edges_read - self_loops - arcs / 2: a repeated edge, in either direction.
struct ArcCounts {
  std::uint64_t edges_read = 0;
  std::uint64_t self_loops = 0;        ///< edges u-u, dropped
  std::uint64_t duplicates = 0;        ///< final at the end of the stream
  ArcIndex arcs = 0;                   ///< unique arcs given by read() so far
  std::optional<NodeId> largest_node;  ///< of all ids seen, self loops included; empty without edges
};

/// Unique arcs in increasing (u, v) order; with an arc its reverse is there too. Not thread-safe.
class ArcStream {
 public:
  ArcStream() = default;
  virtual ~ArcStream() = default;
  ArcStream(const ArcStream&) = delete;
  ArcStream& operator=(const ArcStream&) = delete;

  /// Fills `out` as far as arcs remain and returns how many; 0 at the end. Throws ResourceError, DataError.
  virtual std::size_t read(std::span<Edge> out) = 0;
  [[nodiscard]] virtual ArcCounts counts() const = 0;
};

/// Collects edges. Not thread-safe; sorts with the threads that parallel verbs may use.
class ArcSorter {
 public:
  static constexpr std::size_t kMinBudget = std::size_t{1} << 20;

  /// `budget_bytes` (at least kMinBudget, else raised to it) bounds own buffers, here and in the stream. Spilled runs
  /// go to the folder `temp_dir`: about 16 bytes an edge, twice that if runs must be merged in several passes.
  ArcSorter(std::filesystem::path temp_dir, std::size_t budget_bytes);
  ~ArcSorter();
  ArcSorter(const ArcSorter&) = delete;
  ArcSorter& operator=(const ArcSorter&) = delete;

  /// Takes each edge u-v as the arcs u -> v and v -> u; counts and drops self loops. Throws ResourceError, DataError
  /// when a run cannot be written; the sorter is then lost.
  void add(std::span<const Edge> edges);

  /// Ends the input. The stream owns all memory and files from here on. Call once.
  [[nodiscard]] std::unique_ptr<ArcStream> finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace unweave
