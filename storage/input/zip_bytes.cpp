// storage/input/zip_bytes.cpp - reads members of zip archives through libarchive.
#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "storage/input/raw_bytes.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

/// An open archive, positioned before its first member.
class Zip {
 public:
  explicit Zip(const std::filesystem::path& path) : path_(path), archive_(archive_read_new(), archive_read_free) {
    if (archive_ == nullptr) throw ResourceError(path_.string() + ": no memory to read a zip archive");
    (void)open_plain_bytes(path);  // names a missing file or a directory better than libarchive does
    // Only by the central directory at the end: an archive without it was cut short.
    archive_read_support_format_zip_seekable(archive_.get());
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    if (archive_read_open_filename(archive_.get(), path_.c_str(), kBlock) != ARCHIVE_OK) fail();
  }

  /// Name of the next member that is a file, false at the end.
  bool next(std::string& name) {
    archive_entry* entry = nullptr;
    int result = archive_read_next_header(archive_.get(), &entry);
    while (result == ARCHIVE_OK && archive_entry_filetype(entry) != AE_IFREG) {
      result = archive_read_next_header(archive_.get(), &entry);
    }
    if (result == ARCHIVE_EOF) return false;
    if (result != ARCHIVE_OK) fail();
    const char* text = archive_entry_pathname(entry);
    if (text == nullptr) text = archive_entry_pathname_utf8(entry);
    name = text == nullptr ? "" : text;
    return true;
  }

  std::size_t read(std::span<char> out) {
    const la_ssize_t got = archive_read_data(archive_.get(), out.data(), out.size());
    if (got < 0) fail();
    return static_cast<std::size_t>(got);
  }

 private:
  [[noreturn]] void fail() const {
    const char* reason = archive_error_string(archive_.get());
    throw DataError(path_.string() + ": not a zip archive, cut short or corrupted (" +
                    (reason != nullptr ? reason : "unknown error") + "); fetch or write the file again");
  }

  std::filesystem::path path_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

class ZipMemberBytes final : public RawBytes {
 public:
  ZipMemberBytes(const std::filesystem::path& path, const std::string& member) : zip_(path) {
    std::string name;
    std::string present;
    while (zip_.next(name)) {
      if (name == member || name == member + ".npy") return;
      present += (present.empty() ? "" : ", ") + name;
    }
    throw DataError(path.string() + ": no member " + member + " in this archive; it holds: " + present);
  }
  std::size_t read(std::span<char> out) override { return zip_.read(out); }

 private:
  Zip zip_;
};

}  // namespace

std::unique_ptr<RawBytes> open_zip_bytes(const std::filesystem::path& path, const std::string& member) {
  return std::make_unique<ZipMemberBytes>(path, member);
}

std::vector<std::string> list_zip_members(const std::filesystem::path& path) {
  Zip zip(path);
  std::vector<std::string> names;
  for (std::string name; zip.next(name);) names.push_back(name);
  return names;
}

}  // namespace unweave
