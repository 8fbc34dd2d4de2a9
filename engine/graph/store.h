// engine/graph/store.h - a store as a folder: who may write it, and how one generation replaces
// another.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace unweave {

struct Manifest;

/// The right to write a store; it dies with its owner. Throws ResourceError when another process
/// holds it.
class WriterLock {
 public:
  explicit WriterLock(const std::filesystem::path& store);
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

  /// Another holder of the same right, which ends with the last of them. Throws ResourceError.
  [[nodiscard]] WriterLock share() const;
  /// Throws ResourceError where the file that is locked is not the store's lock any more: others
  /// can take that. A process that was forked has a copy of the right and of all that is in memory,
  /// and must not use it beside the other: UsageError.
  void require_held() const;

 private:
  void replace_lock();
  WriterLock(std::filesystem::path path, int descriptor, pid_t process) noexcept
      : path_(std::move(path)), descriptor_(descriptor), process_(process) {}

  std::filesystem::path path_;
  int descriptor_;
  pid_t process_;  ///< that took it
};

/// Makes an empty folder for a new store. Throws UsageError when `store` exists and is not an empty
/// folder.
void create_store_folder(const std::filesystem::path& store);

/// Makes an empty folder for a new store whose building takes a while. The folder carries a mark
/// until end_building(), so that what a killed process leaves there is recognised and removed by
/// the next start_building(). Throws UsageError when `store` exists and holds anything else,
/// ResourceError when another process builds it.
[[nodiscard]] WriterLock start_building(const std::filesystem::path& store);
/// Removes what was built so far; the caller still holds the lock, which nobody can take from now
/// on.
void abandon_building(const std::filesystem::path& store);
/// Removes the mark of a store whose manifest is durable.
void end_building(const std::filesystem::path& store);

/// Replaces generation `before` by `after`, whose files are complete: makes the new files durable,
/// swaps the manifest, then removes what only the old generation named. `before` may be empty.
void commit_generation(const std::filesystem::path& store, const Manifest& before, const Manifest& after);

/// The first half of that: makes the files of `after` durable that `before` does not name.
void sync_generation(const std::filesystem::path& store, const Manifest& before, const Manifest& after);

/// What lies in the store's folders, and of temporary files beside them, and is not named by the
/// manifest. Models and certificates are never named and not looked at.
[[nodiscard]] std::vector<std::filesystem::path> strays_of(const std::filesystem::path& store,
                                                           const Manifest& manifest);
/// Removes what a killed writer left behind: strays, and the mark of a store in the making.
void remove_strays(const std::filesystem::path& store, const Manifest& manifest);

}  // namespace unweave
