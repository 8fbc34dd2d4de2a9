// engine/ingest/hash_sorter.h - hashes of nodes, sorted within a bound of bytes.
//
// What fits is sorted in memory. Else sorted runs go to an unlinked temporary file and are merged:
// evenly spread hashes are no condition, since names may be made so that theirs are not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "storage/io/spool_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Not for concurrent use.
class HashSorter {
 public:
  /// Holds `memory_bytes`, of which it takes at least 64 KiB, and spills to the folder `temp_dir`.
  HashSorter(std::filesystem::path temp_dir, std::uint64_t memory_bytes);

  /// Throws ResourceError for a full disk.
  void add(std::uint64_t hash, NodeId id);
  /// Hands out all pairs, sorted by hash and then by id. Call once; no add() after it.
  void drain(const std::function<void(std::uint64_t hash, NodeId id)>& use);

 private:
  struct Pair {
    std::uint64_t hash = 0;
    std::uint64_t id = 0;
    friend constexpr auto operator<=>(const Pair&, const Pair&) = default;
  };
  struct Run {
    std::uint64_t offset = 0, pairs = 0;
  };
  void sort();
  void spill();
  void merge(const std::function<void(std::uint64_t hash, NodeId id)>& use);

  std::filesystem::path temp_dir_;
  std::size_t most_pairs_;
  std::vector<Pair> pairs_;
  std::vector<Run> runs_;
  std::optional<SpoolFile> spool_;
};

}  // namespace unweave
