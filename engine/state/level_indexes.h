// engine/state/level_indexes.h - the indexes of an embedding (FileRole::index): how each is
// written, opened, charged.
//
// An index is a view of the shards and labels that finds faster what they say too. It is written
// when the levels are computed and by a purge; streams leave it as it is, so whoever looks into one
// adds what has changed since. A node that gets a label and has no list there ends the index:
// nothing that changes adds a list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/state/target_list_writer.h"
#include "storage/formats/manifest.h"
#include "storage/formats/target_lists.h"
#include "storage/io/types.h"

namespace unweave {

/// Const members may run on any number of threads at once.
class LevelIndexes {
 public:
  /// Opens what the manifest of a propagated store names. Throws DataError, FormatError.
  LevelIndexes(const std::filesystem::path& store, const Manifest& manifest) {
    const LevelFiles& last = manifest.levels.back();
    if (last.targets) target_lists_.emplace(store, last, manifest.nodes, manifest.list_form());
  }
  /// Bytes of memory that they take when they are opened.
  [[nodiscard]] static std::uint64_t map_bytes(const Manifest& manifest) noexcept {
    const LevelFiles& last = manifest.levels.back();
    return last.targets ? last.targets->bytes : 0;
  }

  /// Writes the indexes of the levels 0 .. L, which have none yet, not yet durable, and names them
  /// in `levels`. Throws DataError, and ResourceError for a full disk.
  static void write(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                    std::vector<LevelFiles>& levels) {
    if (has_lists(spec)) write_target_lists(store, contents, levels.back());
  }
  /// The most bytes that write() writes, where the last level has so many targets, whose lists have
  /// `arcs` arcs in sum.
  [[nodiscard]] static std::uint64_t most_bytes(const Contents& contents, const PropagationSpec& spec, NodeId targets,
                                                std::uint64_t arcs) noexcept {
    return has_lists(spec) ? most_target_list_bytes(contents.graph(), targets, arcs) : 0;
  }

  /// To be called when these nodes, sorted, have become targets. Where one of them has no list,
  /// there is no index any more.
  void add_targets(std::span<const NodeId> nodes) {
    if (!target_lists_ ||
        std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return target_lists_->has(node); }))
      return;
    target_lists_.reset();
    ended_ = true;
  }
  /// Whether there was an index that has ended: a checkpoint names its files no more.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  /// The lists of the last level's rows, where they are few; else null.
  [[nodiscard]] const TargetLists* target_lists() const noexcept { return target_lists_ ? &*target_lists_ : nullptr; }

 private:
  /// Lists of the targets are for requests, which need sums.
  static bool has_lists(const PropagationSpec& spec) noexcept {
    return spec.levels > 0 && !spec.all_rows && spec.kept.has_sums();
  }
  std::optional<TargetLists> target_lists_;
  bool ended_ = false;
};

}  // namespace unweave
