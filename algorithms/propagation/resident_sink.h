// algorithms/propagation/resident_sink.h - sums of levels that a stream keeps in memory.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/propagation/level_sink.h"
#include "engine/graph/resident_rows.h"

namespace unweave {

class ResidentSink final : public LevelSink {
 public:
  /// rows[i] takes level first_level + i.
  ResidentSink(std::span<ResidentRows* const> rows, std::uint32_t first_level)
      : rows_(rows), first_level_(first_level) {}

  void put(std::uint32_t level, TileColumns columns, const SumRows& sums) override {
    ResidentRows& out = *rows_[level - first_level_];
    std::size_t wide = 0;
    for (std::size_t i = 0; i < sums.nodes.size(); ++i) {
      if (wide < sums.wide_nodes.size() && sums.wide_nodes[wide] == i)
        out.put_wide(sums.nodes[i], columns.first, columns.count, sums.wide_sums + wide++ * columns.count);
      else
        out.put(sums.nodes[i], columns.first, columns.count, sums.sums + i * columns.count);
    }
  }
  void finish() override {
    for (ResidentRows* one : rows_) one->finish();
  }

 private:
  std::span<ResidentRows* const> rows_;
  std::uint32_t first_level_;
};

}  // namespace unweave
