// engine/graph/local_lists.h - copies of a store's lists on a disk of this machine, for stores on
// storage that is far.
//
// While such copies live, whoever in this process opens the store takes lists from them; all else
// stays where it is. Lists that a later generation has are not among them, and are read from the
// store. The copies go with the process; what a machine that fails, or a launcher that kills all of
// a job at once, has left there is removed by the next one that makes copies there.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/ranks/ranks.h"

namespace unweave {

struct FileEntry;

class LocalLists {
 public:
  /// Copies the lists of the store's present generation into the folder `in`, which is there, once
  /// on each machine of a job; all its ranks call it. Every byte is checked against the store's
  /// manifest. Throws DataError, FormatError, ResourceError.
  LocalLists(const std::filesystem::path& store, const std::filesystem::path& in, Ranks& job = Ranks::world());
  ~LocalLists();
  LocalLists(const LocalLists&) = delete;
  LocalLists& operator=(const LocalLists&) = delete;

  /// Where this process reads a shard of the store: the folder of its copies, or the store.
  [[nodiscard]] static std::filesystem::path folder_of(const std::filesystem::path& store, const FileEntry& shard);

 private:
  struct Copies;
  std::unique_ptr<Copies> copies_;
};

}  // namespace unweave
