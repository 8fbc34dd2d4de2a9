// engine/graph/expiries.h - which edges, nodes, features and whole graphs of a store are to be
// removed when.
//
// Nothing here reads a clock or removes anything: whoever does asks what is due and sends the
// removals as requests, so that the journal has them and a replay needs no time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/formats/expiry_file.h"
#include "storage/types/changes.h"

namespace unweave {

struct Manifest;

class Expiries {
 public:
  /// Throws DataError, FormatError.
  Expiries(const std::filesystem::path& store, const Manifest& manifest);
  /// Memory of so many of them, with so many bytes of ids.
  [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t items, std::uint64_t ids) noexcept {
    return items * 192 + ids;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes(size(), id_bytes_); }

  [[nodiscard]] std::uint64_t size() const noexcept { return notes_.size(); }
  /// Null where the item is to stay. Valid until the next change.
  [[nodiscard]] const ExpiryNote* find(Edge item) const;
  /// Without a note the item is to stay.
  void set(Edge item, std::optional<ExpiryNote> note);
  /// When the first one is to go.
  [[nodiscard]] std::optional<Millis> next() const;
  /// Those whose time has come at `now`, the oldest first; `most` of them.
  [[nodiscard]] std::vector<Expiry> due(Millis now, std::size_t most) const;
  /// All of them, sorted by item.
  [[nodiscard]] std::vector<Expiry> sorted() const;

 private:
  std::map<Edge, ExpiryNote> notes_;
  std::set<std::pair<Millis, Edge>> by_time_;
  std::uint64_t id_bytes_ = 0;
};

}  // namespace unweave
