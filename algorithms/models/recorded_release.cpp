// algorithms/models/recorded_release.cpp - records models and logs in the manifest, and holds what
// is there against the record.
#include "algorithms/models/recorded_release.h"

#include <cstdint>
#include <string>

#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "storage/formats/manifest.h"
#include "storage/formats/recorded_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/line_log.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

/// As the manifest names it.
std::string entry_path(const fs::path& store, const fs::path& file) {
  return file.lexically_relative(store).string();
}

std::string training(const fs::path& store, std::string_view name) {
  return "run " + train_command(store, name);
}

}  // namespace

ReleasedFiles released_paths(const fs::path& store, std::string_view name) {
  const auto path = [&](const fs::path& file) { return entry_path(store, file); };
  return {path(model_file(store, name)), {{{path(private_log(store, name))}, {path(public_log(store, name))}}}};
}

ReleasedFiles released_files(const fs::path& store, std::string_view name) {
  ReleasedFiles files = released_paths(store, name);
  for (ReleasedLog& log : files.logs)
    log.bytes = read_lines(store / log.path, [](std::string_view, std::uint64_t) {}).bytes;
  files.canonical = has_entry(release_file(store, name));
  return files;
}

void require_recorded_log(const fs::path& store, const Manifest& manifest, std::string_view name, const fs::path& log) {
  if (const FileEntry* const entry = manifest.release(entry_path(store, log)))
    require_as_recorded(store, *entry,
                        "move model and certificates of " + std::string(name) + " away and " + training(store, name));
}

bool require_recorded_logs(const fs::path& store, const Manifest& manifest, std::string_view name, bool anew) {
  bool all = true;
  for (const fs::path& log : {public_log(store, name), private_log(store, name)}) {
    if (!anew || has_entry(log))
      require_recorded_log(store, manifest, name, log);
    else
      all = all && manifest.release(entry_path(store, log)) == nullptr;
  }
  return all;
}

void require_no_recorded_model(const fs::path& store, const Manifest& manifest, std::string_view name) {
  const FileEntry* const entry = manifest.release(entry_path(store, model_file(store, name)));
  if (entry != nullptr) require_as_recorded(store, *entry, training(store, name));
}

bool is_recorded_model(const fs::path& store, const Manifest& manifest, std::string_view name) {
  const fs::path file = model_file(store, name);
  const FileEntry* const entry = manifest.release(entry_path(store, file));
  if (entry == nullptr) return true;
  const File opened = File::open_stored(file);
  return opened.size() == entry->bytes && begins_as_recorded(opened, *entry);
}

void require_later(const fs::path& store, const Manifest& manifest, const ModelRecord& record) {
  const fs::path log = public_log(store, name_of(record)), file = model_file(store, name_of(record));
  std::uint64_t recorded = 0;  // certificates
  if (const FileEntry* const entry = manifest.release(entry_path(store, log)))
    static_cast<void>(
        read_lines(log, [&, bytes = std::uint64_t{0}](std::string_view line, std::uint64_t number) mutable {
          bytes += line.size() + 1;
          if (bytes <= entry->bytes) recorded = number;
        }));
  if (certificate_number(record.certificate) > recorded) return;
  throw RecordError(file, "it is another model than when the store was closed, and not a later one",
                    training(store, name_of(record)));
}

}  // namespace unweave
