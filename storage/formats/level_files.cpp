// storage/formats/level_files.cpp - goes through the table of kinds to list or drop the files of a
// level.
#include "storage/formats/level_files.h"

namespace unweave {
namespace {

/// A member of LevelFiles without a row would be in no manifest, and its file would be removed as a
/// stray. A member changes the size of the struct, and so it is noticed.
constexpr std::size_t bytes_of_kinds() {
  std::size_t bytes = 0;
  for (const LevelFileKind& kind : kLevelFileKinds) {
    if (kind.one != nullptr) bytes += sizeof(std::optional<FileEntry>);
    if (kind.list != nullptr) bytes += sizeof(std::vector<FileEntry>);
  }
  return bytes;
}
static_assert(bytes_of_kinds() == sizeof(LevelFiles), "each member of LevelFiles has one row in kLevelFileKinds");

}  // namespace

std::span<const FileEntry> files_of(const LevelFiles& files, const LevelFileKind& kind) {
  if (kind.list != nullptr) return files.*kind.list;
  const std::optional<FileEntry>& entry = files.*kind.one;
  return entry ? std::span(&*entry, 1) : std::span<const FileEntry>();
}

void drop_files(LevelFiles& files, FileRole role) {
  for (const LevelFileKind& kind : kLevelFileKinds) {
    if (kind.role != role) continue;
    if (kind.list != nullptr)
      (files.*kind.list).clear();
    else
      (files.*kind.one).reset();
  }
}

}  // namespace unweave
