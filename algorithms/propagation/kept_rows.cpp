// algorithms/propagation/kept_rows.cpp - reads kept rows, or sums of them under any weights.
#include "algorithms/propagation/kept_rows.h"

#include <algorithm>
#include <vector>

#include "algorithms/propagation/row_values.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kNear = 64;  // rows of a strip that a page holds: what lies between two of them comes with them

}  // namespace

KeptRows::KeptRows(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents)
    : spec_(*manifest.propagation),
      contents_(contents),
      first_level_(spec_.kept.keep == Keep::embedding ? spec_.levels : 1) {
  for (std::uint32_t l = first_level_; l <= spec_.levels; ++l) levels_.emplace_back(store, manifest, l);
}

void KeptRows::rows(std::span<const NodeId> nodes, std::span<const double> weights, float* out) const {
  const bool is_embedding = spec_.kept.keep == Keep::embedding;
  if (is_embedding && !std::ranges::equal(weights, spec_.weights))
    throw UsageError("weights: this store keeps the embedding alone, under the weights of its propagation; run " +
                     operation("propagate") + " with " + option("keep", "hops") + " or " + option("keep", "state"));
  const std::uint32_t columns = contents_.features().columns();
  const std::size_t levels = spec_.levels + std::size_t{1}, blocks = weights.size() / levels, width = blocks * columns;
  const std::vector<bool> used = used_levels(weights, spec_.levels);
  parallel_ranges(0, nodes.size(), 256, [&](std::size_t first, std::size_t last) {
    std::vector<float> x(columns);
    std::vector<double> sum(width);
    NodesAhead ahead(nodes.subspan(first, last - first), kNear, [&](NodeRange range) {
      if (is_embedding) return levels_.front().read_ahead(range);
      for (std::uint32_t l = 0; l <= spec_.levels; ++l) {
        if (used[l] && l == 0) contents_.features().read_ahead(range, 0, columns);
        if (used[l] && l > 0) level(l).read_ahead(range);
      }
    });
    for (std::size_t i = first; i < last; ++i) {
      ahead.at(i - first);
      if (is_embedding) {
        levels_.front().read(nodes[i], out + i * width);
        continue;
      }
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::uint32_t l = 0; l <= spec_.levels; ++l) {
        if (!used[l]) continue;
        if (l == 0)
          contents_.features().read({nodes[i], nodes[i] + 1}, 0, columns, x.data());
        else
          level(l).read(nodes[i], x.data());
        for (std::size_t b = 0; b < blocks; ++b)
          if (const double weight = weights[b * levels + l]; weight != 0)
            add_level(weight, std::span<const float>(x), sum.data() + b * columns);
      }
      finish_row(1, sum, out + i * width);
    }
  });
}

}  // namespace unweave
