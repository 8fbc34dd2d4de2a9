// storage/formats/level_files.h - the files of one level of the embedding, and the table of their
// kinds.
//
// A kind of file is a member of LevelFiles and a row of kLevelFileKinds. Whatever treats all kinds
// alike goes through the table and names none of them: the manifest writes and reads them, `verify`
// reads their bytes, checkpoints, folds and purges keep or drop them, the plan of a purge counts
// them. Who makes a kind or looks into it names its member. `repair` has no column, since it
// computes all levels anew: every kind must follow from graph, features, labels and the
// propagation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "storage/io/types.h"
#include "storage/types/file_entry.h"
#include "storage/types/propagation_spec.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// The version of the manifest rises where one is laid out otherwise; what a store has beside is
/// told by Manifest::needs().
inline constexpr int kManifestVersion = 12;

/// These are the files of one level in a generation. Each member has its row in kLevelFileKinds.
struct LevelFiles {
  std::vector<FileEntry> partitions;  ///< sums S of the level, one file a span; empty at level 0
  std::optional<FileEntry> run;       ///< absolute rows that differ from the partitions
  std::optional<FileEntry> counts;    ///< references to each row from the level above, only with labelled rows
  std::optional<FileEntry> stale;     ///< rows whose published normalised sums lag behind
  std::optional<FileEntry> targets;   ///< the rows of level L when it was computed, where their lists are kept apart
  std::vector<FileEntry> lists;       ///< their neighbours in the shards, one file a span of targets
  std::vector<FileEntry> rows;        ///< rows of values that are kept in place of all sums, one file a span
};

/// What the presence and the contents of a level's files depend on.
struct LevelPlace {
  const LevelFiles& files;
  std::uint32_t level;          ///< 0 .. levels
  std::uint32_t levels;         ///< L
  bool all_rows;                ///< the targets are all nodes, else the labelled ones
  NodeId nodes;                 ///< nodes of the graph
  std::uint32_t columns;        ///< columns of the features
  ListForm lists;               ///< how lists of neighbours hold what edges weigh
  KeptForm kept{};              ///< what the levels keep
  std::uint32_t row_width = 0;  ///< columns of a kept row, where rows are kept
};

/// Whether a level keeps rows in place of sums.
[[nodiscard]] constexpr bool keeps_rows(const KeptForm& kept, std::uint32_t level, std::uint32_t levels) noexcept {
  return kept.keep == Keep::embedding ? level == levels : kept.keep == Keep::hops && level > 0;
}

/// What becomes of a file when the level changes. A checkpoint writes what a stream changed, a fold
/// of the rows leaves no overlay, a fold of the graph writes shards that contain all changes, a
/// purge leaves what `propagate` would write.
enum class FileRole {
  base,     ///< the level as it was computed: stays, or is written anew with what changed since
  overlay,  ///< what differs from the base: each checkpoint replaces it, and a fold of the rows or a purge leaves none
  index,  ///< a view of the shards and labels: checkpoints keep it, a fold of the graph drops it, a purge makes it anew
};

/// Whether a level has files of a kind.
enum class Presence { never, possible, always };

// Each of these reads every byte of a file at rest, and is defined beside the reader of its kind.
// They throw DataError and FormatError.

void verify_partition(const std::filesystem::path& store, const LevelPlace& place, std::size_t index);
void verify_run(const std::filesystem::path& store, const LevelPlace& place, std::size_t index);
void verify_counts(const std::filesystem::path& store, const LevelPlace& place, std::size_t index);
void verify_stale(const std::filesystem::path& store, const LevelPlace& place, std::size_t index);
/// It reads the lists of the targets, too.
void verify_targets(const std::filesystem::path& store, const LevelPlace& place, std::size_t index);
void verify_rows(const std::filesystem::path& store, const LevelPlace& place, std::size_t index);

struct LevelFileKind {
  const char* key = nullptr;                            ///< its field in the manifest
  std::optional<FileEntry> LevelFiles::*one = nullptr;  ///< the member, where a level has at most one file; else null
  std::vector<FileEntry> LevelFiles::*list = nullptr;   ///< the member, where a level may have several; else null
  bool one_a_span = false;                              ///< a list, with a file for each span of the nodes
  bool only_with_rows = false;                          ///< its field is there where the level has such files alone
  FileRole role = FileRole::base;
  Presence (*presence)(const LevelPlace& place) = nullptr;
  const char* fault = nullptr;  ///< what is wrong with a manifest whose files are not as `presence` has it
  /// Checks file `index` of the level; null where the check of another kind reads it.
  void (*verify)(const std::filesystem::path& store, const LevelPlace& place, std::size_t index) = nullptr;
};

/// The rows stand in the order of their fields in the manifest.
inline constexpr LevelFileKind kLevelFileKinds[] = {
    {.key = "partitions",
     .list = &LevelFiles::partitions,
     .one_a_span = true,
     .role = FileRole::base,
     .presence =
         [](const LevelPlace& at) { return at.level > 0 && at.kept.has_sums() ? Presence::always : Presence::never; },
     .fault = "levels: not one partition a span",
     .verify = verify_partition},
    {.key = "run",
     .one = &LevelFiles::run,
     .role = FileRole::overlay,
     .presence = [](const LevelPlace& at) { return at.kept.has_sums() ? Presence::possible : Presence::never; },
     .fault = "run: beside rows that are kept in place of sums",
     .verify = verify_run},
    {.key = "counts",
     .one = &LevelFiles::counts,
     .role = FileRole::base,
     .presence =
         [](const LevelPlace& at) {
           if (!at.kept.has_sums()) return Presence::never;
           const bool counted = !at.all_rows && at.level > 0 && at.level < at.levels;
           return counted ? Presence::always : Presence::possible;
         },
     .fault = "levels: reference counts are missing, or beside rows that are kept in place of sums",
     .verify = verify_counts},
    {.key = "stale",
     .one = &LevelFiles::stale,
     .role = FileRole::overlay,
     .presence = [](const LevelPlace& at) { return at.kept.has_sums() ? Presence::possible : Presence::never; },
     .fault = "stale: beside rows that are kept in place of sums",
     .verify = verify_stale},
    {.key = "targets",
     .one = &LevelFiles::targets,
     .role = FileRole::index,
     .presence =
         [](const LevelPlace& at) {
           const bool is_last = at.level > 0 && at.level == at.levels;
           return !at.all_rows && is_last && at.kept.has_sums() ? Presence::possible : Presence::never;
         },
     .fault = "lists: not of the last level's targets",
     .verify = verify_targets},
    {.key = "lists",
     .list = &LevelFiles::lists,
     .role = FileRole::index,
     .presence = [](const LevelPlace& at) { return at.files.targets ? Presence::possible : Presence::never; },
     .fault = "lists: not of the last level's targets"},
    {.key = "rows",
     .list = &LevelFiles::rows,
     .one_a_span = true,
     .only_with_rows = true,
     .role = FileRole::base,
     .presence =
         [](const LevelPlace& at) {
           return keeps_rows(at.kept, at.level, at.levels) ? Presence::always : Presence::never;
         },
     .fault = "levels: not one file of kept rows a span",
     .verify = verify_rows},
};

/// The files of one kind, which lie in `files`.
[[nodiscard]] std::span<const FileEntry> files_of(const LevelFiles& files, const LevelFileKind& kind);

/// Takes all files of a role out of the level.
void drop_files(LevelFiles& files, FileRole role);

}  // namespace unweave
