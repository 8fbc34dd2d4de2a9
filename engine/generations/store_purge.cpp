// engine/generations/store_purge.cpp - marks a purge, swaps the manifest, and removes what the new one does not name.
#include "engine/generations/store_purge.h"

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "engine/graph/store.h"
#include "storage/formats/request_log.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/line_log.h"
#include "storage/io/store_folders.h"

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
  std::error_code ignored;
  if (fs::is_regular_file(fs::symlink_status(path, ignored))) return fs::file_size(path, ignored);
  std::uint64_t bytes = 0;
  for (const auto& item : fs::recursive_directory_iterator(path, ignored))
    if (item.is_regular_file(ignored) && !item.is_symlink(ignored)) bytes += item.file_size(ignored);
  return bytes;
}

/// Whether a file of certificates/ stays: the key, and logs that hold nothing but public lines. A line that a crash left
/// incomplete is the beginning of one.
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

/// How long the logs of certificates are that a purge leaves: what comes later covers all that it forgot.
PurgedLogs lines_of_logs(const fs::path& store) {
  PurgedLogs logs;
  std::error_code missing;
  for (const auto& item : fs::directory_iterator(store / kCertificatesFolder, missing)) {
    if (item.path().extension() != ".jsonl") continue;
    std::uint64_t& lines = logs[item.path().stem().string()];
    static_cast<void>(read_lines(item.path(), [&](std::string_view, std::uint64_t number) { lines = number; }));
  }
  return logs;
}

/// What lies in models/ beside those that the manifest names.
std::vector<fs::path> forgotten_models(const fs::path& store, const Manifest& manifest) {
  const fs::path folder = store / kModelsFolder;
  if (!fs::is_directory(fs::symlink_status(folder))) return {folder};
  std::vector<fs::path> doomed;
  for (const auto& item : fs::directory_iterator(folder))
    if (item.is_symlink() || manifest.release(item.path().lexically_relative(store).string()) == nullptr)
      doomed.push_back(item.path());
  return doomed;
}

std::vector<fs::path> private_certificates(const fs::path& store) {
  std::vector<fs::path> doomed;
  if (!fs::is_directory(fs::symlink_status(store / kCertificatesFolder))) return {store / kCertificatesFolder};
  for (const auto& item : fs::directory_iterator(store / kCertificatesFolder))
    if (!item.is_regular_file() || item.is_symlink() || !is_public(item.path())) doomed.push_back(item.path());
  return doomed;
}

/// Removes the mark, and one that was about to replace it.
void remove_purge_mark(const fs::path& store) {
  for (const std::string& name : {std::string(kMarkName) + ".new", std::string(kMarkName)}) {
    std::error_code error;
    fs::remove(store / name, error);
    if (error) throw_system_error("remove", store / name, error.value());
  }
  sync_directory(store);
}

}  // namespace

PurgeState purge_state(const fs::path& store) {
  std::error_code error;
  if (!fs::exists(store / kMarkName, error)) return PurgeState::none;
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

std::uint64_t finish_purge(const fs::path& store, const Manifest& manifest) {
  std::vector<fs::path> doomed = strays_of(store, manifest);
  doomed.push_back(store / kTilesFolder);
  doomed.push_back(store / kJournalFolder);  // a purged manifest names none
  for (const fs::path& file : forgotten_models(store, manifest)) doomed.push_back(file);
  for (const fs::path& file : private_certificates(store)) doomed.push_back(file);
  std::uint64_t bytes = 0;
  for (const fs::path& path : doomed) {
    const std::uint64_t freed = bytes_below(path);
    std::error_code error;
    fs::remove_all(path, error);
    if (error) throw_system_error("remove", path, error.value());
    bytes += freed;
  }
  std::error_code ignored;
  for (const char* folder : kReleaseFolders) fs::remove(store / folder, ignored);  // where nothing is left in it
  for (const auto& item : fs::directory_iterator(store))
    if (item.is_directory() && !item.is_symlink()) sync_directory(item.path());
  sync_directory(store);
  log_purge(store, present_time(), lines_of_logs(store));
  remove_purge_mark(store);
  return bytes;
}

}  // namespace unweave
