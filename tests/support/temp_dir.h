// tests/support/temp_dir.h - a fresh folder for one test, removed with everything in it afterwards.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace unweave::testing {

enum class Where { memory, disk };

class TempDir {
 public:
  explicit TempDir(Where where = Where::memory) {
    // A folder in memory, where there is one: tests sync thousands of times, and nobody pulls the
    // plug on them.
    const std::filesystem::path memory = "/dev/shm";
    const bool usable = where == Where::memory && access(memory.c_str(), W_OK) == 0 && has_room(memory);
    std::string name = ((usable ? memory : std::filesystem::temp_directory_path()) / "unweave-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path_ = std::filesystem::canonical(name);  // stores lie at paths without links
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  /// That of containers often holds 64 MiB.
  static bool has_room(const std::filesystem::path& folder) {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    return !error && space.available > std::uintmax_t{2} << 30;
  }

  std::filesystem::path path_;
};

}  // namespace unweave::testing
