// algorithms/updates/cone_update.h - how the receptive field follows a batch: rows that leave and
// rows that enter each level.
#pragma once

#include <vector>

#include "algorithms/updates/requests.h"
#include "engine/graph/contents.h"
#include "engine/state/cone.h"
#include "storage/io/types.h"

namespace unweave {

struct ConeChange {
  std::vector<std::vector<NodeId>> left;     ///< [level 0..L], sorted
  std::vector<std::vector<NodeId>> entered;  ///< [level 0..L], sorted
};

/// Nodes that stop being targets when the changes are applied, and nodes that become targets, both
/// sorted: their labels go and come.
struct MovedTargets {
  std::vector<NodeId> lost, gained;
};
/// Call it before the changes are applied.
[[nodiscard]] MovedTargets moved_targets(const Contents& contents, const BatchChanges& changes);

/// Brings the reference counts of all levels up to date after the contents changed.
[[nodiscard]] ConeChange update_cone(Cone& cone, const Contents& contents, const BatchChanges& changes,
                                     MovedTargets targets, std::uint32_t levels);

}  // namespace unweave
