// engine/resources/temporary_folder.h - a folder for what nobody needs afterwards.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace unweave {

/// Where this machine keeps temporary files: the folder that TMPDIR names, else /tmp. It may be
/// missing, which hinders those alone who make a file there, and their errors name it.
[[nodiscard]] std::filesystem::path temporary_path();

/// A new folder where this machine keeps temporary files (TMPDIR) or in another one, removed with
/// all it holds: by the destructor, or, when the process dies before, by a child process that waits
/// for that.
class TemporaryFolder {
 public:
  /// Throws ResourceError, DataError.
  explicit TemporaryFolder(const std::filesystem::path& in = temporary_path(),
                           const std::string& prefix = "unweave-bench-");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void watch() noexcept;
  std::filesystem::path path_;
  pid_t watcher_ = -1;
  int alive_ = -1;  ///< the end of a pipe that closes when this process ends, however it does
};

}  // namespace unweave
