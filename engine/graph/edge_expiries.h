// engine/graph/edge_expiries.h - which edges of a store are to be removed when.
//
// Nothing here reads a clock or removes an edge: whoever does asks which ones are due and sends the removals as requests,
// so that the journal has them and a replay needs no time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "storage/formats/expiry_file.h"
#include "storage/formats/manifest.h"

namespace unweave {

/// Edges are pairs of users' ids, the smaller one first.
class EdgeExpiries {
 public:
  /// Throws DataError, FormatError.
  EdgeExpiries(const std::filesystem::path& store, const Manifest& manifest);
  /// Memory of so many of them.
  [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t edges) noexcept { return edges * 160; }

  [[nodiscard]] std::uint64_t size() const noexcept { return times_.size(); }
  [[nodiscard]] std::optional<Millis> find(Edge edge) const;
  /// Without a time the edge is to stay.
  void set(Edge edge, std::optional<Millis> time);
  /// When the first edge is to go.
  [[nodiscard]] std::optional<Millis> next() const;
  /// Edges whose time has come at `now`, the oldest first; `most` of them.
  [[nodiscard]] std::vector<EdgeExpiry> due(Millis now, std::size_t most) const;
  /// All of them, sorted by edge.
  [[nodiscard]] std::vector<EdgeExpiry> sorted() const;

 private:
  std::map<Edge, Millis> times_;
  std::set<std::pair<Millis, Edge>> by_time_;
};

}  // namespace unweave
