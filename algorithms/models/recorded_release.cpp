// algorithms/models/recorded_release.cpp - records models and logs in the manifest, and holds what
// is there against the record.
#include "algorithms/models/recorded_release.h"

#include <algorithm>
#include <cstdint>
#include <optional>
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

/// `bytes`: how many of them a log has filled with whole lines; none for a model, which is whole. A
/// sync of what is durable already costs nothing.
void record_one(const fs::path& store, const fs::path& file, std::optional<std::uint64_t> bytes, Manifest& manifest) {
  const std::string path = entry_path(store, file);
  const auto at = std::lower_bound(manifest.releases.begin(), manifest.releases.end(), path,
                                   [](const FileEntry& entry, const std::string& name) { return entry.path < name; });
  const bool known = at != manifest.releases.end() && at->path == path;
  if (!has_entry(file)) {
    if (known) manifest.releases.erase(at);
    return;
  }
  const File open = File::open_stored(file);
  open.sync();
  if (!known) sync_directory(file.parent_path());
  FileEntry entry = record_file(store, path, bytes.value_or(open.size()));
  if (known)
    *at = std::move(entry);
  else
    manifest.releases.insert(at, std::move(entry));
}

std::string training(const fs::path& store, std::string_view name) {
  return "run " + train_command(store, name);
}

class FolderLedger final : public ReleaseLedger {
 public:
  [[nodiscard]] AbsorbedRequest furthest_absorbed(const fs::path& store) const override {
    AbsorbedRequest furthest;
    for (const ModelSummary& model : list_models(store))
      if (model.damage.empty() && model.sequence > furthest.sequence) furthest = {model.name, model.sequence};
    return furthest;
  }
  void record(const fs::path& store, std::string_view name, Manifest& manifest) const override {
    record_release(store, name, manifest);
  }
  bool forget(const fs::path& store, std::string_view name, Manifest& manifest) const override {
    return forget_release(store, name, manifest);
  }
};

}  // namespace

void record_release(const fs::path& store, std::string_view name, Manifest& manifest) {
  // The manifest of a store without requests is that of any history, and says nothing of logs; the
  // release file does.
  if (manifest.sequence == 0 && !manifest.journal && has_entry(release_file(store, name))) {
    forget_release(store, name, manifest);
    record_one(store, model_file(store, name), {}, manifest);
    return;
  }
  for (const fs::path& log : {private_log(store, name), public_log(store, name)})
    record_one(store, log, read_lines(log, [](std::string_view, std::uint64_t) {}).bytes, manifest);
  record_one(store, model_file(store, name), {}, manifest);
}

bool forget_release(const fs::path& store, std::string_view name, Manifest& manifest) {
  return std::erase_if(manifest.releases, [&](const FileEntry& entry) {
           const fs::path file = store / entry.path;
           return file == public_log(store, name) || file == private_log(store, name) ||
                  file == model_file(store, name);
         }) > 0;
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

const ReleaseLedger& release_ledger() noexcept {
  static const FolderLedger ledger;
  return ledger;
}

}  // namespace unweave
