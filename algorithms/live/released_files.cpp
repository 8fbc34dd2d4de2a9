// algorithms/live/released_files.cpp - records models and their logs in the manifest.
#include "algorithms/live/released_files.h"

#include <algorithm>
#include <optional>

#include "storage/formats/manifest.h"
#include "storage/formats/recorded_file.h"
#include "storage/io/entry.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

/// `bytes`: how many of them are recorded; none for all. A sync of what is durable already costs
/// nothing.
void record_one(const std::filesystem::path& store, const std::string& path, std::optional<std::uint64_t> bytes,
                Manifest& manifest) {
  const std::filesystem::path file = store / path;
  if (!has_entry(file)) {
    std::erase_if(manifest.releases, [&](const FileEntry& entry) { return entry.path == path; });
    return;
  }
  const File open = File::open_stored(file);
  open.sync();
  if (manifest.release(path) == nullptr) sync_directory(file.parent_path());
  put_record(record_file(store, path, bytes.value_or(open.size())), manifest.releases);
}

}  // namespace

void record_release(const std::filesystem::path& store, const ReleasedFiles& files, Manifest& manifest) {
  // The manifest of a store without requests is that of any history, and says nothing of logs; what
  // lies beside a canonical model does.
  if (files.canonical && manifest.sequence == 0 && !manifest.journal)
    forget_release(files, manifest);
  else
    for (const ReleasedLog& log : files.logs) record_one(store, log.path, log.bytes, manifest);
  record_one(store, files.model, {}, manifest);
}

bool forget_release(const ReleasedFiles& files, Manifest& manifest) {
  return std::erase_if(manifest.releases, [&](const FileEntry& entry) {
           return entry.path == files.model || entry.path == files.logs[0].path || entry.path == files.logs[1].path;
         }) > 0;
}

}  // namespace unweave
