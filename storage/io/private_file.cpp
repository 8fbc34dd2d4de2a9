// storage/io/private_file.cpp - creates files that only their owner may read, and takes rights from others.
#include "storage/io/private_file.h"

#include <sys/stat.h>

namespace unweave {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

}  // namespace

File create_private(const std::filesystem::path& path) {
  return File::create(path, kOwnerAlone);
}

void make_private(const File& file) noexcept {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0 || (status.st_mode & kOthers) == 0) return;
  static_cast<void>(::fchmod(file.descriptor(), status.st_mode & S_IRWXU));
}

}  // namespace unweave
