// tools/temporary_folder.h - where benchmarks and audits keep what they make.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "storage/error.h"

namespace unweave {

/// A new folder where this machine keeps temporary files (TMPDIR) or in another one, removed with all it holds.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& in = std::filesystem::temp_directory_path(),
                           const std::string& prefix = "unweave-bench-") {
    std::string name = (in / (prefix + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) throw_system_error("create a folder", name, errno);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace unweave
