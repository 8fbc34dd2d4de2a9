// storage/formats/pair_files.h - the files of edges that a store holds out of its graph.
//
// They are a graph of their own, in shards of the folder pairs/ that are those of the graph else:
// edges between the same positions, of weight 1 unless weights are real.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/types/file_entry.h"
#include "storage/types/pair_rules.h"

namespace unweave {

struct PairFiles {
  PairRules rules;
  std::uint64_t edges = 0;           ///< that are held, in this generation
  std::uint64_t weight_sum = 0;      ///< units that they weigh together, where weights are real; else 0
  std::vector<FileEntry> shards;     ///< one a span
  std::optional<FileEntry> changes;  ///< held edges that differ from these shards

  friend bool operator==(const PairFiles&, const PairFiles&) = default;
};

}  // namespace unweave
