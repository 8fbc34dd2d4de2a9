// storage/formats/recorded_file.h - what a manifest says of files that change after it was written
// (FORMAT.md, "Clean close").
//
// A journal and a log only grow: what was recorded of one stays true of its first bytes, and who
// finds it otherwise knows that the file was cut, altered or replaced since.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/file.h"

namespace unweave {

/// The first `bytes` bytes of the file `store`/`path`, which must be durable. Throws DataError when
/// they are not there.
[[nodiscard]] FileEntry record_file(const std::filesystem::path& store, const std::string& path, std::uint64_t bytes);

/// Puts an entry among others, which are sorted by path, in the place of an earlier one of its
/// path.
void put_record(FileEntry record, std::vector<FileEntry>& records);

/// Whether the file begins with the bytes that were recorded. Throws DataError when it is
/// unreadable.
[[nodiscard]] bool begins_as_recorded(const File& file, const FileEntry& record);

/// Throws RecordError where the file is missing.
[[nodiscard]] File open_recorded(const std::filesystem::path& store, const FileEntry& record, std::string_view remedy);
/// Throws RecordError unless the file, which is open, begins with the bytes that were recorded.
void require_as_recorded(const File& file, const std::filesystem::path& store, const FileEntry& record,
                         std::string_view remedy);
/// Throws RecordError unless the file is there and begins with the bytes that were recorded.
void require_as_recorded(const std::filesystem::path& store, const FileEntry& record, std::string_view remedy);

}  // namespace unweave
