// engine/arc_merge.h - sorted runs of 64-bit keys in a spool file, and their merge; the outer half of arc_sort.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "storage/spool_file.h"

namespace unweave {

/// Strictly increasing keys, which lie as 8 bytes each at [begin, end) of a spool file.
struct KeyRun {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Appends `keys` (strictly increasing) to `spool` as a run.
[[nodiscard]] KeyRun write_run(SpoolFile& spool, std::span<const std::uint64_t> keys);

/// The union of runs in increasing order, each key once. Not thread-safe. Keys are below 2^64 - 1.
class KeyMerge {
 public:
  /// Reads `runs` of `spool`, which outlives this object, through buffers of at most `buffer_bytes` together, though
  /// at least 8 bytes a run.
  KeyMerge(const SpoolFile& spool, std::span<const KeyRun> runs, std::size_t buffer_bytes);

  /// Fills `out` as far as keys remain and returns how many.
  std::size_t read(std::span<std::uint64_t> out);

 private:
  struct Input {
    KeyRun rest;                      // not yet in the buffer
    std::vector<std::uint64_t> keys;  // buffered
    std::size_t at = 0;
  };

  [[nodiscard]] std::uint64_t head(std::size_t input) const;
  void refill(Input& input);
  void replay(std::size_t input);

  const SpoolFile& spool_;
  std::vector<Input> inputs_;
  // A tournament of the inputs' first keys: losers_[n] is the input that lost at inner node n, losers_[0] the winner;
  // input i enters at node (i + inputs) / 2.
  std::vector<std::size_t> losers_;
  std::uint64_t last_ = 0;
  bool any_ = false;  // whether last_ is the key given last
};

/// Merges groups of runs into longer ones, in as many passes as it takes, until at most `most_runs` (>= 2) remain.
/// `spool` and `runs` are replaced; `temp_dir` holds the new file, buffers take at most `budget_bytes`.
void merge_down(SpoolFile& spool, std::vector<KeyRun>& runs, std::size_t most_runs,
                const std::filesystem::path& temp_dir, std::size_t budget_bytes);

}  // namespace unweave
