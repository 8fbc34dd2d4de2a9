// storage/input/bytes/zip_bytes.cpp - the contents of members of zip archives, stored or deflated.
#include <zlib.h>

#include <algorithm>

#include "storage/input/bytes/raw_bytes.h"
#include "storage/input/bytes/zip_directory.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kPackedBuffer = std::size_t{256} << 10;

/// Opens an archive; names a missing file or a directory as for all files of users.
File open_archive(const std::filesystem::path& path) {
  (void)open_plain_bytes(path);
  return File::open_read(path);
}

ZipEntry find_entry(const File& file, const std::string& member) {
  std::string present;
  for (ZipEntry& entry : read_zip_directory(file)) {
    if (entry.name == member || entry.name == member + ".npy") return std::move(entry);
    present += (present.empty() ? "" : ", ") + entry.name;
  }
  throw DataError(file.path().string() + ": no member " + member + " in this archive; it holds: " + present);
}

class ZipMemberBytes final : public RawBytes {
 public:
  ZipMemberBytes(const std::filesystem::path& path, const std::string& member)
      : file_(open_archive(path)), entry_(find_entry(file_, member)), packed_(entry_.deflated ? kPackedBuffer : 0) {
    constexpr int kNoWrapper = -15;  // largest window
    if (entry_.deflated && inflateInit2(&stream_, kNoWrapper) != Z_OK)
      throw ResourceError(file_.path().string() + ": no memory to unpack a zip archive");
  }
  ~ZipMemberBytes() override {
    if (entry_.deflated) inflateEnd(&stream_);
  }

  std::size_t read(std::span<char> out) override {
    const std::size_t wanted = std::min<std::size_t>(out.size(), std::size_t{1} << 30);
    const std::size_t got = entry_.deflated ? unpack(out.first(wanted)) : fetch(out.first(wanted));
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), got));
    given_ += got;
    if (given_ > entry_.bytes) fail("it is longer than the directory says");
    if (ended_ && (given_ != entry_.bytes || taken_ != entry_.packed_bytes || stream_.avail_in != 0))
      fail("its length is not that of the directory");
    if (ended_ && crc_ != entry_.crc) fail("its checksum is another");
    return got;
  }

 private:
  /// The next packed bytes, as many as there are.
  std::size_t fetch(std::span<char> out) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), entry_.packed_bytes - taken_));
    file_.read_at(entry_.offset + taken_, std::as_writable_bytes(out.first(count)));
    taken_ += count;
    ended_ = !entry_.deflated && taken_ == entry_.packed_bytes;
    return count;
  }

  std::size_t unpack(std::span<char> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (!ended_ && stream_.avail_out == out.size()) {
      if (stream_.avail_in == 0) {
        stream_.avail_in = static_cast<uInt>(fetch(packed_));
        stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        if (stream_.avail_in == 0) fail("it is cut short");
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        fail(stream_.msg != nullptr ? stream_.msg : "error");
    }
    return out.size() - stream_.avail_out;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(file_.path().string() + ": not a zip archive, cut short or corrupted (entry " + entry_.name + ": " +
                    what + "); fetch or write the file again");
  }

  File file_;
  ZipEntry entry_;
  std::vector<char> packed_;
  z_stream stream_ = {};
  std::uint64_t taken_ = 0, given_ = 0;  // packed bytes that were read, bytes that were given
  std::uint32_t crc_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RawBytes> open_zip_bytes(const std::filesystem::path& path, const std::string& member) {
  return std::make_unique<ZipMemberBytes>(path, member);
}

std::vector<std::string> list_zip_members(const std::filesystem::path& path) {
  std::vector<std::string> names;
  for (const ZipEntry& entry : read_zip_directory(open_archive(path))) names.push_back(entry.name);
  return names;
}

}  // namespace unweave
