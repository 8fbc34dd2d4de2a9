// storage/types/changes.h - what requests have changed of a store's edges, features, labels and
// splits, in absolute values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/io/time_text.h"
#include "storage/io/types.h"

namespace unweave {

/// A row of features that was set. Its words are the number k of values whose bits are not all 0,
/// then, if 2 k is below the number of columns, their k columns and k values as float32 bits, else
/// all values. Copies share them.
struct SetRow {
  NodeId node = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> words;

  friend bool operator==(const SetRow& a, const SetRow& b) { return a.node == b.node && *a.words == *b.words; }
};

struct SetLabel {
  NodeId node = 0;
  std::int32_t label = 0;  ///< kNoLabel for none

  friend bool operator==(const SetLabel&, const SetLabel&) = default;
};

enum class SplitName : std::uint32_t { none = 0, train = 1, valid = 2, test = 3 };

struct SetSplit {
  NodeId node = 0;
  SplitName split = SplitName::none;

  friend bool operator==(const SetSplit&, const SetSplit&) = default;
};

/// What is set comes after what is cleared: a cleared node may have a row, a label and a split that
/// were set later.
struct Changes {
  /// u < v, sorted; edges of the shards that are gone, and such as the shards lack. Where edges
  /// have weights, an edge stands there once for each unit that it has lost or gained, in one of
  /// both alone.
  std::vector<Edge> removed, inserted;
  std::vector<NodeId> cleared;   ///< sorted; nodes without features, label and split
  std::vector<SetLabel> labels;  ///< sorted by node, as the next two
  std::vector<SetSplit> splits;
  std::vector<SetRow> rows;
  std::vector<NodeId>
      lost_names;  ///< sorted; nodes that were removed, and had a name, which the files have until a purge

  friend bool operator==(const Changes&, const Changes&) = default;
};

/// When an item is to go, and the id of the request that said so.
struct ExpiryNote {
  Millis time = 0;
  std::string id{};

  friend bool operator==(const ExpiryNote&, const ExpiryNote&) = default;
};

}  // namespace unweave
