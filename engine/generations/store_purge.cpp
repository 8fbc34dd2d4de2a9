// engine/generations/store_purge.cpp - marks a purge, swaps the manifest, and removes what the new
// one does not name.
#include "engine/generations/store_purge.h"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/store.h"
#include "storage/formats/manifest.h"
#include "storage/formats/request_log.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/line_log.h"
#include "storage/io/store_folders.h"
#include "storage/io/waiting_items.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkName = "purge";
constexpr const char* kBegun = "A purge of this store has begun.\n";
constexpr std::uint64_t kMarkLimit = 1024;
constexpr std::uint64_t kManifestLimit = std::uint64_t{64} << 20;
/// What the mark says once the manifest with these bytes is to be the present one.
std::string decided_mark(const std::string& manifest) {
  return kBegun + to_hex(checksum128(std::as_bytes(std::span(manifest)), {})) + "\n";
}

std::uint64_t bytes_below(const fs::path& path) {
  const EntryStatus status = status_of(path);
  if (status.kind != EntryKind::folder) return status.kind == EntryKind::file ? status.bytes : 0;
  std::uint64_t bytes = 0;
  walk_folder(path, [&](const Entry& entry) {
    if (entry.kind == EntryKind::file) bytes += status_of(entry.path).bytes;
  });
  return bytes;
}

/// Whether a file of certificates/ stays: the key, and logs that hold nothing but public lines. A
/// line that a crash left incomplete is the beginning of one.
bool is_public(const fs::path& file) {
  for (const char* const name : {kSigningKeyName, kRequestLogName, kFeedListName})  // these name no node
    if (file.filename() == name) return true;
  if (file.extension() != ".jsonl" || file.stem().extension() == ".private") return false;
  try {
    bool all = true;
    const LogEnd end =
        read_lines(file, [&](std::string_view line, std::uint64_t) { all = all && line.starts_with(kPublicLine); });
    return all && end.bytes > 0;
  } catch (const FormatError&) {
    return false;
  }
}

std::vector<fs::path> logs_of_certificates(const fs::path& store) {
  std::vector<fs::path> logs;
  for (const Entry& entry : list_folder(store / kCertificatesFolder))
    if (entry.path.extension() == ".jsonl") logs.push_back(entry.path);
  return logs;
}

/// How long the logs of certificates are that a purge leaves: what comes later covers all that it
/// forgot.
PurgedLogs lines_of_logs(const fs::path& store) {
  PurgedLogs logs;
  for (const fs::path& log : logs_of_certificates(store)) {
    std::uint64_t& lines = logs[log.stem().string()];
    static_cast<void>(read_lines(log, [&](std::string_view, std::uint64_t number) { lines = number; }));
  }
  return logs;
}

/// The files and folders of a purged store, its own folder among them, whether or not they are
/// there.
std::set<fs::path> places_of(const fs::path& store) {
  const Manifest manifest = read_manifest(store);
  std::set<fs::path> places{store, store / kManifestName, store / kLockName};
  for (const FileEntry& file : manifest.files()) places.insert(store / file.path);
  for (const FileEntry& file : manifest.releases) {
    places.insert(store / file.path);
    places.insert((store / kCertificatesFolder / fs::path(file.path).stem()) += ".release");
  }
  for (const fs::path& log : logs_of_certificates(store)) places.insert(log);
  for (const char* const name : {kSigningKeyName, kRequestLogName, kFeedListName})
    places.insert(store / kCertificatesFolder / name);
  for (const char* const folder : kStoreFolders) places.insert(store / folder);
  for (const char* const folder : kReleaseFolders) places.insert(store / folder);
  return places;
}

/// What lies in models/ beside those that the manifest names.
std::vector<fs::path> forgotten_models(const fs::path& store, const Manifest& manifest) {
  const fs::path folder = store / kModelsFolder;
  if (!is_folder(folder)) return {folder};
  std::vector<fs::path> doomed;
  for (const Entry& entry : list_folder(folder))
    if (entry.kind == EntryKind::link || manifest.release(entry.path.lexically_relative(store).string()) == nullptr)
      doomed.push_back(entry.path);
  return doomed;
}

std::vector<fs::path> private_certificates(const fs::path& store) {
  std::vector<fs::path> doomed;
  if (!is_folder(store / kCertificatesFolder)) return {store / kCertificatesFolder};
  for (const Entry& entry : list_folder(store / kCertificatesFolder))
    if (entry.kind != EntryKind::file || !is_public(entry.path)) doomed.push_back(entry.path);
  return doomed;
}

/// Removes the mark, and one that was about to replace it.
void remove_purge_mark(const fs::path& store) {
  for (const std::string& name : {std::string(kMarkName) + ".new", std::string(kMarkName)}) remove_entry(store / name);
  sync_directory(store);
}

}  // namespace

PurgeState purge_state(const fs::path& store) {
  if (!has_entry(store / kMarkName)) return PurgeState::none;
  const std::string mark = read_text_file(store / kMarkName, kMarkLimit);
  if (mark == kBegun) return PurgeState::begun;
  return mark == decided_mark(read_text_file(store / kManifestName, kManifestLimit)) ? PurgeState::decided
                                                                                     : PurgeState::begun;
}

void begin_purge(const fs::path& store) {
  replace_file(store / kMarkName, kBegun);
}

void abandon_purge(const fs::path& store) {
  if (purge_state(store) == PurgeState::decided) return;
  // The one on the disk: after the last step fails it is the new one, without a mark to say so.
  remove_strays(store, read_manifest(store));
  remove_purge_mark(store);
}

std::uint64_t commit_purge(const fs::path& store, const Manifest& before, const Manifest& after) {
  sync_generation(store, before, after);
  replace_file(store / kMarkName, decided_mark(manifest_text(after)));
  write_manifest(store, after);
  return finish_purge(store, after);
}

std::uint64_t level_times(const fs::path& store) {
  const std::int64_t now = present_time() / 1000;
  std::vector<fs::path> level;
  std::uint64_t left = 0;
  for (const fs::path& place : places_of(store)) {
    if (!has_entry(place)) continue;
    if (set_times(place, now))
      level.push_back(place);
    else
      ++left;
  }
  wait_together(level.size(), [&](std::size_t i) { sync_times(level[i]); });
  return left;
}

std::uint64_t finish_purge(const fs::path& store, const Manifest& manifest) {
  std::vector<fs::path> doomed = strays_of(store, manifest);
  doomed.push_back(store / kTilesFolder);
  doomed.push_back(store / kJournalFolder);  // a purged manifest names none
  for (const fs::path& file : forgotten_models(store, manifest)) doomed.push_back(file);
  for (const fs::path& file : private_certificates(store)) doomed.push_back(file);
  std::uint64_t bytes = 0;
  for (const fs::path& path : doomed) {
    const std::uint64_t freed = bytes_below(path);
    remove_tree(path);
    bytes += freed;
  }
  for (const char* folder : kReleaseFolders) drop_entry(store / folder);  // where nothing is left in it
  for (const Entry& entry : list_folder(store))
    if (entry.kind == EntryKind::folder) sync_directory(entry.path);
  sync_directory(store);
  log_purge(store, present_time(), lines_of_logs(store));
  static_cast<void>(level_times(store));  // here, so that whoever finishes a purge that was cut does it, too
  remove_purge_mark(store);
  return bytes;
}

}  // namespace unweave
