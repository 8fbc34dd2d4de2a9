// storage/formats/recorded_file.cpp - records the first bytes of a file that grows, and compares
// them later.
#include "storage/formats/recorded_file.h"

#include <algorithm>
#include <span>
#include <utility>

#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"

namespace unweave {
namespace {

constexpr std::uint64_t kPart = std::uint64_t{1} << 18;

std::string root_of(const File& file, std::uint64_t bytes) {
  std::vector<std::byte> part(static_cast<std::size_t>(std::min(bytes, kPart)));
  std::uint64_t at = 0;
  return to_hex(checksum128([&]() -> std::span<const std::byte> {
    const auto next = std::span(part).first(static_cast<std::size_t>(std::min(bytes - at, kPart)));
    if (!next.empty()) file.read_at(at, next);
    at += next.size();
    return next;
  }));
}

}  // namespace

FileEntry record_file(const std::filesystem::path& store, const std::string& path, std::uint64_t bytes) {
  return {path, bytes, root_of(File::open_stored(store / path), bytes)};
}

void put_record(FileEntry record, std::vector<FileEntry>& records) {
  const auto at = std::lower_bound(records.begin(), records.end(), record,
                                   [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  if (at != records.end() && at->path == record.path)
    *at = std::move(record);
  else
    records.insert(at, std::move(record));
}

bool begins_as_recorded(const File& file, const FileEntry& record) {
  return file.size() >= record.bytes && root_of(file, record.bytes) == record.root;
}

File open_recorded(const std::filesystem::path& store, const FileEntry& record, std::string_view remedy) {
  const std::filesystem::path path = store / record.path;
  if (!has_entry(path)) throw RecordError(path, "it is missing, and was there when the store was closed", remedy);
  return File::open_stored(path);
}

void require_as_recorded(const File& file, const std::filesystem::path& store, const FileEntry& record,
                         std::string_view remedy) {
  const auto fail = [&](const std::string& what) { throw RecordError(store / record.path, what, remedy); };
  const std::uint64_t size = file.size();
  if (size < record.bytes)
    fail("byte " + std::to_string(size) + ": the file was cut: it had " + std::to_string(record.bytes) +
         " bytes when the store was closed");
  if (!begins_as_recorded(file, record))
    fail("its bytes 0 to " + std::to_string(record.bytes) + " are others than when the store was closed");
}

void require_as_recorded(const std::filesystem::path& store, const FileEntry& record, std::string_view remedy) {
  require_as_recorded(open_recorded(store, record, remedy), store, record, remedy);
}

}  // namespace unweave
