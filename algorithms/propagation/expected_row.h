// algorithms/propagation/expected_row.h - rows of sums that counts of readers or labels say are
// there.
#pragma once

#include <algorithm>
#include <string>

#include "engine/state/state_level.h"
#include "storage/io/error.h"

namespace unweave {

/// The row of a node of the receptive field. Files that contradict each other may lack it: throws
/// FormatError naming the partition, relative to the store.
[[nodiscard]] inline StateRow expected_row(const StateLevel& level, NodeId node) {
  const StateRow row = level.row(node);
  if (row.exists()) return row;
  const auto& partitions = level.partitions();
  const auto at =
      std::find_if(partitions.begin(), partitions.end(), [&](const auto& one) { return one->range().contains(node); });
  const std::string file =
      at == partitions.end() ? "state" : level.entries()[static_cast<std::size_t>(at - partitions.begin())].path;
  throw FormatError(file, "position " + std::to_string(node), "this row is missing, other files say that it is there");
}

}  // namespace unweave
