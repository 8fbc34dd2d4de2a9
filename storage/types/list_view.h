// storage/types/list_view.h - a list of neighbours, and what their edges weigh.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

/// The neighbours of a node, sorted: each as often as its edge weighs, or, where weights lie beside
/// them, each once.
struct ListView {
  std::span<const NodeId> ids;
  const std::uint32_t* weights = nullptr;  ///< one an id, or null
};

/// Such a list in memory of its own.
struct NeighbourList {
  std::vector<NodeId> ids;
  std::vector<std::uint32_t> weights;  ///< one an id, or empty

  [[nodiscard]] ListView view() const noexcept { return {ids, weights.empty() ? nullptr : weights.data()}; }
  void clear() noexcept {
    ids.clear();
    weights.clear();
  }
};

/// Calls use(value, count) for each value of a sorted range, which stands there so often.
template <class Values, class Use>
void for_runs(const Values& values, const Use& use) {
  for (auto at = values.begin(); at != values.end();) {
    const auto first = at;
    while (at != values.end() && *at == *first) ++at;
    use(*first, static_cast<std::uint32_t>(at - first));
  }
}

/// Calls use(neighbour, weight) for each neighbour of a list once, in order.
template <class Use>
void for_neighbours(const ListView& list, const Use& use) {
  if (list.weights == nullptr) return for_runs(list.ids, use);
  for (std::size_t i = 0; i < list.ids.size(); ++i) use(list.ids[i], list.weights[i]);
}

}  // namespace unweave
