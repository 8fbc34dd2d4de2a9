// tests/storage/io/cold_read_test.cpp - a file that nobody has read yet is not fetched page by page
// where it is read in order, and no more than it needs where it is not.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "support/skip.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

constexpr std::uint64_t kPages = 2048;  // 8 MiB

/// Pages that had to be waited for one at a time, until now.
std::uint64_t major_faults() {
  rusage usage{};
  REQUIRE(::getrusage(RUSAGE_SELF, &usage) == 0);
  return static_cast<std::uint64_t>(usage.ru_majflt);
}

/// A file on the disk of this folder, and not in memory where the file system has both.
FileEntry cold_file(const std::filesystem::path& folder) {
  SealedWriter writer({folder, "folder", "stem", "ext", "kind"});
  std::vector<std::uint64_t> values(512);
  for (std::uint64_t page = 0; page < kPages; ++page) {
    std::fill(values.begin(), values.end(), page);
    writer.append_values(std::span<const std::uint64_t>(values));
  }
  FileEntry entry = writer.finish({});
  const File file = File::open_read(folder / entry.path);
  REQUIRE(::fsync(file.descriptor()) == 0);
  REQUIRE(::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED) == 0);
  return entry;
}

/// Pages of the file that are in memory.
std::uint64_t pages_in_memory(const std::filesystem::path& path) {
  const File file = File::open_read(path);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const map = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  REQUIRE(map != MAP_FAILED);
  std::vector<unsigned char> there((file.size() + page - 1) / page);
  REQUIRE(::mincore(map, file.size(), there.data()) == 0);
  ::munmap(map, file.size());
  return static_cast<std::uint64_t>(std::count_if(there.begin(), there.end(), [](unsigned char c) { return c & 1; }));
}

/// True, and the case is skipped, where a file system drops nothing, such as one in memory.
bool keeps_all(const std::filesystem::path& path) {
  const bool keeps = pages_in_memory(path) > 0;
  if (keeps) testing::skip("the file system of the temporary folder keeps all pages in memory");
  return keeps;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("pieces that are read in order, wherever they end within pages, are fetched many pages at a time") {
    for (const std::uint64_t piece : {1000U, 2300U, 4096U, 9000U, 70'000U}) {
      CAPTURE(piece);
      const testing::TempDir dir(testing::Where::disk);
      const FileEntry entry = cold_file(dir.path());
      if (keeps_all(dir / entry.path)) return;
      const SealedFile file(dir.path(), entry, "kind");
      const std::uint64_t before = major_faults();
      std::uint64_t sum = 0;
      for (std::uint64_t at = 0; at < file.size(); at += piece)
        for (const std::byte byte : file.bytes(at, std::min(piece, file.size() - at)))
          sum += static_cast<unsigned>(byte);
      CHECK(sum > 0);
      CHECK(major_faults() - before < kPages / 32);
    }
  }

  TEST_CASE("what is read past the page cache is what the map has, and none of it stays in memory") {
    const testing::TempDir dir(testing::Where::disk);
    const FileEntry entry = cold_file(dir.path());
    const SealedFile file(dir.path(), entry, "kind");
    const File direct = File::open_direct_to_read(file.path());
    if (!direct.is_open()) {
      testing::skip("the file system of the temporary folder reads through the page cache");
      return;
    }
    const std::uint64_t before = pages_in_memory(file.path());
    constexpr std::uint64_t kPiece = 70'000;
    DirectPiece memory(kPiece);
    std::vector<std::byte> read;
    for (std::uint64_t at = 0; at < file.size(); at += kPiece) {
      const auto bytes = file.read_past(direct, at, std::min(kPiece, file.size() - at), memory);
      read.insert(read.end(), bytes.begin(), bytes.end());
    }
    CHECK(pages_in_memory(file.path()) == before);
    const auto mapped = file.bytes(0, file.size());
    CHECK(std::equal(read.begin(), read.end(), mapped.begin(), mapped.end()));
    CHECK_THROWS_AS(static_cast<void>(file.read_past(direct, 1, file.size(), memory)), FormatError);
  }

  TEST_CASE("rows from random places take their own pages and no more") {
    const testing::TempDir dir(testing::Where::disk);
    const FileEntry entry = cold_file(dir.path());
    if (keeps_all(dir / entry.path)) return;
    const SealedFile file(dir.path(), entry, "kind");
    const std::uint64_t opened = pages_in_memory(file.path());
    for (std::uint64_t i = 0; i < 100; ++i) static_cast<void>(file.bytes(i * 37 % 100 * 80'000, 2300));
    CHECK(pages_in_memory(file.path()) - opened <= 300);
  }

  TEST_CASE("what is asked for in one go comes as a whole") {
    const testing::TempDir dir(testing::Where::disk);
    const FileEntry entry = cold_file(dir.path());
    if (keeps_all(dir / entry.path)) return;
    const SealedFile file(dir.path(), entry, "kind");
    file.read_ahead(0, file.size());
    const std::uint64_t before = major_faults();
    file.check(0, file.size());
    CHECK(major_faults() - before < kPages / 32);
  }
}

}  // namespace unweave
