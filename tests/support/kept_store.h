// tests/support/kept_store.h - stores that keep rows in place of sums: their options, their rows,
// and one value that is falsified.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "algorithms/propagation/schemes.h"
#include "storage/formats/rows_image.h"
#include "storage/formats/store_layout.h"
#include "support/tiny_store.h"

namespace unweave::testing {

/// Options of a propagation under a scheme that keeps rows.
inline PropagationSpec kept_spec(std::uint32_t levels, const std::string& scheme, const KeptForm& kept,
                                 bool all_rows = true, double rho = 0.5) {
  PropagationSpec spec = tiny_spec(levels, all_rows, rho);
  spec.scheme = scheme;
  spec.weights = scheme_weights(scheme, levels, {});
  if (scheme == "chebyshev") spec.scale_bits = 28;
  spec.kept = kept;
  return spec;
}

/// Rows of all targets under these weights.
inline std::vector<float> rows_of(const std::filesystem::path& store, const std::vector<double>& weights) {
  const StoreReader live(store, ample_budget());
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < live.contents().num_nodes(); ++node)
    if (live.embedding().is_target(node)) nodes.push_back(node);
  std::vector<float> rows(nodes.size() * live.embedding().row_width(weights));
  live.embedding().rows(nodes, weights, rows.data());
  return rows;
}

/// Writes the first file of kept rows of a level anew, a whole and sound file, with `more` added to
/// a column of a node's row.
inline void falsify_row(const std::filesystem::path& store, std::uint32_t level, NodeId node, std::uint32_t column,
                        float more) {
  Manifest manifest = read_manifest(store);
  FileEntry& entry = manifest.levels[level].rows.at(0);
  const KeptForm kept = manifest.propagation->kept;
  const NodeRange range = span_range(manifest.nodes, 0);
  const std::uint32_t columns = manifest.row_width();
  std::vector<std::uint64_t> members((range.size() + 63) / 64);
  std::vector<std::vector<float>> rows;
  std::vector<NodeId> nodes;
  {
    const RowsFile before(store, entry, level, range, columns, kept);
    for (NodeId one = range.first; one < range.last; ++one) {
      std::vector<float> row(columns);
      if (!before.read(one, row.data())) continue;
      if (one == node) row[column] += more;
      members[one / 64] |= std::uint64_t{1} << one % 64;
      rows.push_back(row);
      nodes.push_back(one);
    }
  }
  RowsImage image(store, level, range, columns, kept, members, nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Half> halves(columns);
    if (kept.type == FeatureType::f16) REQUIRE(round_to_halves(rows[i], kept.exponent, halves.data()) == columns);
    image.put({&nodes[i], 1}, 0, columns,
              kept.type == FeatureType::f16 ? std::as_bytes(std::span(halves)).data()
                                            : std::as_bytes(std::span(rows[i])).data());
  }
  entry = image.publish();
  write_manifest(store, manifest);
}

}  // namespace unweave::testing
