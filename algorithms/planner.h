// algorithms/planner.h - push or recompute: the predicted cost of one level of an update.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unweave {

struct LevelCost {
  double push_seconds = 0;
  double recompute_seconds = 0;
};

/// Costs of bringing one level up to date by pushing rows with `pushed_arcs` arcs in sum, or by a sweep over a graph of
/// `graph_arcs` arcs (self loops included) that keeps `rows` of `nodes` rows. A pure function: the choice depends on
/// the contents alone.
[[nodiscard]] LevelCost predict_level(std::uint64_t graph_arcs, std::uint64_t rows, std::uint64_t nodes,
                                      std::uint64_t pushed_arcs, std::uint32_t columns, std::size_t threads);

/// The push alone, in seconds, when there is no choice.
[[nodiscard]] double predict_push(std::uint64_t pushed_arcs, std::uint64_t rows, std::uint32_t columns,
                                  std::size_t threads);

}  // namespace unweave
