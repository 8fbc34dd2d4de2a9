// tests/support/faults/disk.h - what a disk may hold after its power failed, from the operations
// that went before.
//
// What was written to a file before its last sync is there. Any sectors of later writes may be
// there, and the length may have grown without the bytes. Names in a folder are those before the
// folder's last sync, with any of the later changes, or the first few of these. After a sync that
// failed, what it should have written is lost, and no later sync brings it back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/faults/shared_log.h"

namespace unweave::testing {

/// Relative path to content; a folder's path ends with '/'.
using Tree = std::map<std::string, std::string>;

[[nodiscard]] Tree read_tree(const std::filesystem::path& folder);
/// Replaces what lies in the folder.
void write_tree(const Tree& tree, const std::filesystem::path& folder);

/// What survives of all that was not synced.
enum class Survival { everything, nothing, names, bytes, chance };

class Disk {
 public:
  /// All of `tree` is durable.
  explicit Disk(const Tree& tree);
  void apply(const Operation& operation);
  /// The contents after a power cut at this moment; `seed` is for chance.
  [[nodiscard]] Tree after_cut(Survival survival, std::uint64_t seed = 0) const;

 private:
  struct Write {
    std::uint64_t offset = 0;  ///< where it goes, or the new length
    std::string bytes;
    bool sets_length = false;
  };
  struct File {
    bool folder = false;
    std::string durable;
    std::vector<Write> pending;
    std::uint64_t length = 0;  ///< as the program sees it
  };
  /// A name comes (from empty), goes (to empty), or another takes its place.
  struct Change {
    std::string from, to;
    std::size_t file = 0;
  };
  using Names = std::map<std::string, std::size_t>;

  static void change(Names& names, const Change& change);
  void add(const std::string& path, bool folder);
  [[nodiscard]] std::size_t known(const std::string& path) const;
  void sync(const std::string& path, bool lost);

  std::vector<File> files_;
  Names durable_, present_;
  std::vector<Change> changes_;
};

}  // namespace unweave::testing
