// storage/io/private_file.cpp - creates files that only their owner may read, and takes rights from
// others.
#include "storage/io/private_file.h"

#include <sys/stat.h>

#include <string>

#include "storage/io/store_folders.h"

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

bool is_private(const std::filesystem::path& name) {
  const std::string file = name.filename().string();
  const std::filesystem::path folder = name.empty() ? name : *name.begin();
  if (folder == kModelsFolder || folder == kJournalFolder) return true;
  if (folder == "graph") return file.starts_with("changes-");
  return folder == kCertificatesFolder &&
         (file == kSigningKeyName || file == kRequestLogName || file == kFeedListName || file.ends_with(".release") ||
          file.ends_with(".private.jsonl"));
}

}  // namespace unweave
