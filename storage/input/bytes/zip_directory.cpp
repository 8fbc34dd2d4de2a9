// storage/input/bytes/zip_directory.cpp - reads the directory and holds it against the headers of
// the entries (PKWARE's APPNOTE 6.3).
#include "storage/input/bytes/zip_directory.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMostEntries = 65536, kMostDirectory = std::uint64_t{16} << 20;
constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kWideEndBytes = 56, kEntryBytes = 46, kHeaderBytes = 30;
constexpr std::uint64_t kMostDescriptor = 24;  // bytes behind the data of an entry that was written as a stream
constexpr std::uint64_t kShortMost = 0xFFFF, kLongMost = 0xFFFFFFFF;
constexpr std::uint64_t kEncrypted = 0x2041, kStreamed = 0x8;  // flags

/// Numbers of a zip archive, little endian.
std::uint64_t number_at(std::string_view bytes, std::uint64_t at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(at + i)])} << (8 * i);
  return value;
}

/// What a record of the directory, or the header of an entry, says of it.
struct ZipRecord {
  std::string name;
  std::uint64_t flags = 0, method = 0, crc = 0, packed = 0, size = 0, header = 0;
};

class ZipDirectory {
 public:
  explicit ZipDirectory(const File& file) : file_(file), size_(file.size()) {}

  std::vector<ZipEntry> read() {
    find();
    std::vector<ZipEntry> entries;
    std::set<std::string, std::less<>> names;
    for (std::uint64_t at = 0; at < directory_.size();) {
      const ZipRecord record = next_record(at);
      if (records_.size() == count_) damaged("its directory has more entries than it counts");
      records_.push_back(record);
      std::string_view name = record.name;
      if (name.ends_with('/') && record.size == 0) continue;
      if (name.ends_with(".npy")) name.remove_suffix(4);
      if (!names.emplace(name).second)
        refuse(
            "it has two entries of the name " + std::string(name) + ", and programs differ in which of them they read",
            "write it again with one entry of each name");
      entries.push_back({record.name, record.method == 8, static_cast<std::uint32_t>(record.crc), record.packed,
                         record.size, data_of(record)});
    }
    if (records_.size() != count_) damaged("its directory has fewer entries than it counts");
    require_filled();
    return entries;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw DataError(file_.path().string() + ": not a zip archive, cut short or corrupted (" + what +
                    "); fetch or write the file again");
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
    throw DataError(file_.path().string() + ": " + what + "; " + remedy);
  }

  [[nodiscard]] std::string bytes(std::uint64_t offset, std::uint64_t count) const {
    if (count > size_ || offset > size_ - count) damaged("it ends too early");
    std::string out(static_cast<std::size_t>(count), '\0');
    file_.read_at(offset, std::as_writable_bytes(std::span(out)));
    return out;
  }

  /// Loads the directory, which lies right before the end record, and that at the end of the file.
  void find() {
    if (size_ < kEndBytes) damaged("it ends too early");
    const std::string end = bytes(size_ - kEndBytes, kEndBytes);
    if (!end.starts_with("PK\5\6") || number_at(end, 20, 2) != 0) damaged("no directory, or a comment, at its end");
    std::uint64_t last = size_ - kEndBytes, length = number_at(end, 12, 4), first = number_at(end, 16, 4);
    count_ = number_at(end, 10, 2);
    std::uint64_t disks = number_at(end, 4, 2) | number_at(end, 6, 2);
    bool whole = number_at(end, 8, 2) == count_;
    const std::string locator =
        last >= kLocatorBytes + kWideEndBytes ? bytes(last - kLocatorBytes, kLocatorBytes) : std::string();
    if (locator.starts_with("PK\6\7")) {
      const std::uint64_t at = last - kLocatorBytes - kWideEndBytes;
      const std::string wide = bytes(at, kWideEndBytes);
      const auto agrees = [&](std::uint64_t narrow, std::uint64_t most, std::uint64_t value) {
        return narrow == value || narrow == most;
      };
      if (!wide.starts_with("PK\6\6") || number_at(locator, 8, 8) != at ||
          number_at(wide, 4, 8) != kWideEndBytes - 12 || !agrees(count_, kShortMost, number_at(wide, 32, 8)) ||
          !agrees(length, kLongMost, number_at(wide, 40, 8)) || !agrees(first, kLongMost, number_at(wide, 48, 8)))
        damaged("its two end records differ");
      whole = number_at(wide, 24, 8) == number_at(wide, 32, 8);
      disks |= number_at(wide, 16, 4) | number_at(wide, 20, 4) | number_at(locator, 4, 4);
      count_ = number_at(wide, 32, 8);
      length = number_at(wide, 40, 8);
      first = number_at(wide, 48, 8);
      last = at;
    }
    if (disks != 0 || !whole) refuse("a part of an archive in several files", "join them, or write one archive");
    if (count_ > kMostEntries || length > kMostDirectory)
      refuse("an archive of more than 65,536 entries, or with a directory above 16 MiB", "unpack it");
    if (length > last || first != last - length) damaged("its directory is not where the end record has it");
    directory_ = bytes(first, length);
    directory_at_ = first;
  }

  /// Takes sizes and place from the field of wide numbers, where the narrow ones are full. Refuses
  /// a second name.
  void take_extra(std::string_view extra, ZipRecord& record) const {
    constexpr std::uint64_t kWide = 1, kOtherName = 0x7075;
    std::optional<std::string_view> wide;
    while (extra.size() >= 4) {
      const std::uint64_t kind = number_at(extra, 0, 2), length = number_at(extra, 2, 2);
      if (length > extra.size() - 4) damaged("a field of an entry that ends behind it");
      if (kind == kOtherName)
        refuse("an entry with two names, one of them in a field of its own", "write it again without that field");
      if (kind == kWide && wide) damaged("an entry with its sizes twice");
      if (kind == kWide) wide = extra.substr(4, static_cast<std::size_t>(length));
      extra.remove_prefix(static_cast<std::size_t>(4 + length));
    }
    for (std::uint64_t* const number : {&record.size, &record.packed, &record.header}) {
      if (*number != kLongMost || !wide) continue;
      if (wide->size() < 8) damaged("an entry without its sizes");
      *number = number_at(*wide, 0, 8);
      wide->remove_prefix(8);
    }
  }

  ZipRecord next_record(std::uint64_t& at) const {
    const std::string_view rest = std::string_view(directory_).substr(static_cast<std::size_t>(at));
    if (rest.size() < kEntryBytes || !rest.starts_with("PK\1\2")) damaged("its directory ends within an entry");
    const std::uint64_t name = number_at(rest, 28, 2), extra = number_at(rest, 30, 2), comment = number_at(rest, 32, 2);
    if (rest.size() < kEntryBytes + name + extra + comment) damaged("its directory ends within an entry");
    ZipRecord record{std::string(rest.substr(kEntryBytes, name)),
                     number_at(rest, 8, 2),
                     number_at(rest, 10, 2),
                     number_at(rest, 16, 4),
                     number_at(rest, 20, 4),
                     number_at(rest, 24, 4),
                     number_at(rest, 42, 4)};
    take_extra(rest.substr(kEntryBytes + name, extra), record);
    at += kEntryBytes + name + extra + comment;
    require_readable(record);
    return record;
  }

  void require_readable(const ZipRecord& record) const {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
    if (record.name.empty() || std::any_of(record.name.begin(), record.name.end(), is_control))
      damaged("an entry without a name, or with a control character in it");
    if ((record.flags & kEncrypted) != 0)
      refuse("its entry " + record.name + " is encrypted", "decrypt it and write the archive again");
    if (record.method != 0 && record.method != 8)
      refuse("its entry " + record.name + " is packed by a method other than deflate",
             "write it again with numpy.savez or numpy.savez_compressed");
    if (record.method == 0 && record.packed != record.size) damaged("two sizes of the entry " + record.name);
  }

  /// Where the data of an entry begin, whose own header says of it what the directory says.
  [[nodiscard]] std::uint64_t data_of(const ZipRecord& record) const {
    const std::string head = header_bytes(record, 0, kHeaderBytes);
    const std::uint64_t name = number_at(head, 26, 2), extra = number_at(head, 28, 2);
    const std::string rest = header_bytes(record, kHeaderBytes, name + extra);
    ZipRecord own{rest.substr(0, static_cast<std::size_t>(name)),
                  number_at(head, 6, 2),
                  number_at(head, 8, 2),
                  number_at(head, 14, 4),
                  number_at(head, 18, 4),
                  number_at(head, 22, 4),
                  0};
    take_extra(std::string_view(rest).substr(static_cast<std::size_t>(name)), own);
    const bool streamed = (own.flags & kStreamed) != 0;  // then its numbers came behind it
    const auto fits = [&](std::uint64_t said, std::uint64_t listed) {
      return said == listed || (streamed && said == 0);
    };
    if (!head.starts_with("PK\3\4") || own.name != record.name || own.method != record.method ||
        (own.flags & kEncrypted) != 0 || !fits(own.crc, record.crc) || !fits(own.packed, record.packed) ||
        !fits(own.size, record.size))
      refuse("the header of its entry " + record.name +
                 " says something else than the directory at the end, and programs differ in which of them they read",
             "write it again, for example with numpy.savez");
    const std::uint64_t data = record.header + kHeaderBytes + name + extra;
    if (record.packed > directory_at_ - data) damaged("an entry that ends behind its directory");
    return data;
  }

  [[nodiscard]] std::string header_bytes(const ZipRecord& record, std::uint64_t at, std::uint64_t count) const {
    if (record.header > directory_at_ || at + count > directory_at_ - record.header)
      damaged("an entry that lies behind its directory");
    return bytes(record.header + at, count);
  }

  /// Entries that overlap, or bytes between them, are another archive for whoever reads headers one
  /// after the other.
  void require_filled() {
    std::sort(records_.begin(), records_.end(), [](const auto& a, const auto& b) { return a.header < b.header; });
    std::uint64_t end = 0, gap = 0;
    for (const ZipRecord& record : records_) {
      if (record.header < end || record.header > end + gap) damaged("entries that overlap, or bytes between them");
      end = data_of(record) + record.packed;
      gap = (record.flags & kStreamed) != 0 ? kMostDescriptor : 0;
    }
    if (directory_at_ < end || directory_at_ > end + gap) damaged("bytes that belong to no entry");
  }

  const File& file_;
  std::uint64_t size_;
  std::uint64_t count_ = 0, directory_at_ = 0;
  std::string directory_;
  std::vector<ZipRecord> records_;
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(const File& file) {
  return ZipDirectory(file).read();
}

}  // namespace unweave
