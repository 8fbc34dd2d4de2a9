// tests/storage/input/bytes/zip_directory_test.cpp - archives in which two readers can see
// different bytes, made by hand.
#include "storage/input/bytes/zip_directory.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <functional>
#include <string>
#include <vector>

#include "storage/input/bytes/byte_source.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

/// A number of so many bytes, little endian.
std::string word(std::uint64_t value, unsigned width) {
  std::string out;
  for (unsigned i = 0; i < width; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i) & 0xFF) : char{};
  return out;
}

/// What a header, or a record of the directory, says of one entry.
struct ZipWords {
  std::string name;
  std::uint64_t flags = 0, method = 0, crc = 0, packed = 0, size = 0;
  std::string extra{};
};

struct MadeEntry {
  ZipWords own, listed;
  std::string data;
  std::string behind{};  ///< bytes after the data
  bool is_listed = true;
};

MadeEntry made(const std::string& name, const std::string& data) {
  const auto crc = static_cast<std::uint64_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  const ZipWords words{name, 0, 0, crc, data.size(), data.size()};
  return {words, words, data};
}

std::string words_of(const ZipWords& words) {
  return word(words.flags, 2) + word(words.method, 2) + word(0, 4) + word(words.crc, 4) + word(words.packed, 4) +
         word(words.size, 4) + word(words.name.size(), 2) + word(words.extra.size(), 2);
}

struct MadeArchive {
  std::vector<MadeEntry> entries;
  std::string before{}, comment{}, end_64{};
  std::uint64_t more_counted = 0;

  [[nodiscard]] std::string bytes() const {
    std::string body = before, directory;
    std::uint64_t count = more_counted;
    for (const MadeEntry& one : entries) {
      if (one.is_listed) {
        ++count;
        directory += "PK\1\2" + word(20, 2) + word(20, 2) + words_of(one.listed) + word(0, 2) + word(0, 2) +
                     word(0, 2) + word(0, 4) + word(body.size(), 4) + one.listed.name + one.listed.extra;
      }
      body += "PK\3\4" + word(20, 2) + words_of(one.own) + one.own.name + one.own.extra + one.data + one.behind;
    }
    const std::uint64_t first = body.size();
    return body + directory + end_64 + "PK\5\6" + word(0, 4) + word(count, 2) + word(count, 2) +
           word(directory.size(), 4) + word(first, 4) + word(comment.size(), 2) + comment;
  }
};

std::string contents(const std::filesystem::path& file, const std::string& member) {
  ByteSource source(InputFile{file, member});
  std::string out(1000, '\0');
  out.resize(source.read(out));
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("an archive in which each entry is listed once, by the name and sizes of its header, is read") {
    const TempDir dir;
    MadeArchive plain{{made("a.npy", "first"), made("folder/", ""), made("b", "second")}};
    const auto file = write_file(dir / "x.npz", plain.bytes());
    CHECK(npz_members(file) == std::vector<std::string>{"a", "b"});
    CHECK(contents(file, "a") == "first");
    CHECK(contents(file, "b") == "second");

    // As numpy.savez writes it: sizes of 64 bits in a field of the header, and narrow ones in the
    // directory.
    MadeArchive wide = plain;
    ZipWords& own = wide.entries[0].own;
    own.extra = word(1, 2) + word(16, 2) + word(own.size, 8) + word(own.packed, 8);
    own.size = own.packed = 0xFFFFFFFF;
    CHECK(contents(write_file(dir / "x.npz", wide.bytes()), "a") == "first");

    // As a pipe gets it: sizes and checksum behind the data.
    MadeArchive streamed = plain;
    MadeEntry& entry = streamed.entries[0];
    entry.own.flags = entry.listed.flags = 8;
    entry.own.crc = entry.own.packed = entry.own.size = 0;
    entry.behind = "PK\7\10" + word(entry.listed.crc, 4) + word(5, 4) + word(5, 4);
    CHECK(contents(write_file(dir / "x.npz", streamed.bytes()), "a") == "first");
    CHECK(contents(dir / "x.npz", "b") == "second");
  }

  TEST_CASE("an archive in which readers may see different bytes is refused") {
    const TempDir dir;
    const auto refused = [&](const char* what, const std::function<void(MadeArchive&)>& forge,
                             const std::string& words) {
      CAPTURE(what);
      MadeArchive archive{{made("a.npy", "first"), made("b.npy", "other")}};
      forge(archive);
      const auto file = write_file(dir / "x.npz", archive.bytes());
      check_message(message_of<DataError>([&] { (void)read_zip_directory(File::open_read(file)); }),
                    {file.string(), words, "; "});
      CHECK_THROWS_AS((void)contents(file, "a"), DataError);
    };
    const std::string differs = "says something else than the directory";
    refused(
        "one name twice", [](auto& a) { a.entries[1] = made("a.npy", "other"); }, "two entries of the name a");
    refused(
        "one name with and without its end", [](auto& a) { a.entries[1] = made("a", "other"); }, "two entries");
    refused(
        "names exchanged",
        [](auto& a) {
          std::swap(a.entries[0].listed.name, a.entries[1].listed.name);
          std::swap(a.entries[0].listed.crc, a.entries[1].listed.crc);
        },
        differs);
    refused(
        "another checksum", [](auto& a) { a.entries[0].own.crc ^= 1; }, differs);
    refused(
        "another length", [](auto& a) { a.entries[0].own.packed = a.entries[0].own.size = 4; }, differs);
    refused(
        "another method", [](auto& a) { a.entries[0].own.method = 8; }, differs);
    refused(
        "a stream of another length",
        [](auto& a) {
          a.entries[0].own.flags = a.entries[0].listed.flags = 8;
          a.entries[0].own.size = 4;
        },
        differs);
    refused(
        "an entry that is not listed", [](auto& a) { a.entries[0].is_listed = false; }, "bytes between");
    refused(
        "one at the end", [](auto& a) { a.entries[1].is_listed = false; }, "bytes that belong to no entry");
    refused(
        "one behind a stream",
        [](auto& a) {
          a.entries[0].own.flags = a.entries[0].listed.flags = 8;
          a.entries[1].is_listed = false;
        },
        "bytes that belong to no entry");
    refused(
        "an entry within another",
        [](auto& a) {
          MadeArchive within{{made("c.npy", "inner")}};
          a.entries[0].listed.packed = a.entries[0].listed.size = 30 + 5 + 5 + 5;
          a.entries[0].own.packed = a.entries[0].own.size = 30 + 5 + 5 + 5;
        },
        "overlap");
    refused(
        "something in front", [](auto& a) { a.before = "MZ"; }, "bytes between");
    refused(
        "a comment", [](auto& a) { a.comment = "x"; }, "a comment");
    refused(
        "an archive in the comment of another",
        [](auto& a) { a.comment = MadeArchive{{made("a.npy", "shown")}}.bytes(); }, "not where the end record has it");
    refused(
        "more counted than listed", [](auto& a) { a.more_counted = 1; }, "fewer entries");
    refused(
        "more listed than counted", [](auto& a) { a.more_counted = 0xFFFF; }, "more entries");
    refused(
        "another end record of 64 bits",
        [](auto& a) {
          a.end_64 = "PK\6\6" + word(44, 8) + word(0, 12) + word(9, 8) + word(9, 8) + word(0, 8) + word(0, 8) +
                     "PK\6\7" + word(0, 4) + word(0, 8) + word(1, 4);
        },
        "end records differ");
    refused(
        "a second name", [](auto& a) { a.entries[0].listed.extra = word(0x7075, 2) + word(6, 2) + "123456"; },
        "two names");
    refused(
        "sizes twice", [](auto& a) { a.entries[0].own.extra = word(1, 2) + word(0, 2) + word(1, 2) + word(0, 2); },
        "sizes twice");
    refused(
        "encrypted", [](auto& a) { a.entries[0].own.flags = a.entries[0].listed.flags = 1; }, "encrypted");
    refused(
        "bzip2", [](auto& a) { a.entries[0].own.method = a.entries[0].listed.method = 12; }, "deflate");
    refused(
        "a control character", [](auto& a) { a.entries[0] = made("a\x1b.npy", "first"); }, "control character");
    refused(
        "a name that ends early", [](auto& a) { a.entries[0] = made(std::string("a\0b", 3), "first"); },
        "control character");
  }

  TEST_CASE("contents that are not what the directory says are refused") {
    const TempDir dir;
    MadeArchive archive{{made("a.npy", "first")}};
    archive.entries[0].data = "forst";
    CHECK_THROWS_AS((void)contents(write_file(dir / "x.npz", archive.bytes()), "a"), DataError);
    const auto zip = write_zip(dir / "d.npz", {{"a.npy", std::string(500, 'x')}}, true);
    const std::string whole = read_all(zip);
    const ZipEntry entry = read_zip_directory(File::open_read(zip)).at(0);
    REQUIRE(entry.deflated);
    std::uint64_t refused = 0;
    for (std::uint64_t at = entry.offset; at < entry.offset + entry.packed_bytes; ++at) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      write_file(dir / "d.npz", bad);
      try {
        CHECK(contents(dir / "d.npz", "a") == std::string(500, 'x'));  // bits behind the end of the stream say nothing
      } catch (const DataError&) {
        ++refused;
      }
    }
    CHECK(refused + 1 >= entry.packed_bytes);
  }
}

}  // namespace unweave::testing
