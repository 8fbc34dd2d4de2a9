// storage/upgrades/upgrade.cpp - takes the steps that lead from a store's version to the present one.
#include "storage/upgrades/upgrade.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "storage/formats/journal.h"
#include "storage/formats/manifest.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/json_text.h"
#include "storage/io/store_folders.h"
#include "storage/upgrades/from_2.h"
#include "storage/upgrades/from_3.h"
#include "storage/upgrades/from_4.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

bool has_models(const fs::path& store) {
  return !list_folder(store / kModelsFolder).empty();
}

}  // namespace

UpgradeReport upgrade_store_files(const fs::path& store, const std::function<void(const Manifest&)>& check) {
  const fs::path path = store / kManifestName;
  const std::optional<OldManifest> old = read_old_manifest(store);
  if (!old) {
    const int present = read_manifest(store).version();
    return {present, present, 0, false};
  }
  UpgradeReport report{old->version, kManifestVersion, 0, has_models(store)};
  static_assert(kOldestManifest == 2 && kManifestVersion == 5, "each version has its step here");
  std::string name, text;  // the journal's name, the manifest's text
  try {
    nlohmann::ordered_json contents = parse_json(old->contents);
    if (old->version <= 2) contents = from_2::next_contents(std::move(contents));
    if (old->version <= 3) contents = from_3::next_contents(std::move(contents));
    if (old->version <= 4) contents = from_4::next_contents(std::move(contents), name);
    text = manifest_text_of(text_of_json(contents), kManifestVersion);
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(path, "manifest", fault_of(error));
  } catch (const std::runtime_error& error) {
    throw FormatError(path, "manifest", fault_of(error));
  }
  Manifest manifest = parse_manifest(text, path);
  check(manifest);
  if (!name.empty()) {
    Journal journal = Journal::create(store, journal_name(manifest), manifest.sequence);
    from_4::read_journal(store / "journal" / name, manifest.sequence, [&](const JournalBatch& batch) {
      journal.append(batch);
      report.requests += batch.requests.size();
    });
    manifest.journal = journal.entry();
  }
  write_manifest(store, manifest);
  // Nothing names it any more, and the next writer removes what is not named.
  if (!name.empty()) drop_entry(store / kJournalFolder / name);
  return report;
}

}  // namespace unweave
