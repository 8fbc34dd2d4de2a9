// tests/storage/io/file_test.cpp - files as such.
#include "storage/io/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>

#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a disk without room for what is to come is told with both sizes and two remedies") {
    const testing::TempDir dir;
    const auto require = [](const std::filesystem::path& folder, std::uint64_t bytes) {
      require_disk_room(folder, bytes, "the vectors", "keep none");
    };
    CHECK_NOTHROW(require(dir.path(), 0));
    CHECK_THROWS_WITH_AS(require(dir.path(), std::uint64_t{1} << 62),
                         doctest::Contains("the vectors need 4.0 EiB of disk, "), ResourceError);
    CHECK_THROWS_WITH_AS(require(dir.path(), std::uint64_t{1} << 62),
                         doctest::Contains("are free; free some, or keep none"), ResourceError);
    CHECK_NOTHROW(require(dir / "not-there", std::uint64_t{1} << 62));
  }

  TEST_CASE("a regular file is replaced whole; a folder and a pipe stay, and nothing comes beside them") {
    const testing::TempDir dir;
    replace_file(dir / "file", "one");
    replace_file(dir / "file", "another");
    CHECK(read_text_file(dir / "file", 100) == "another");
    REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
    std::filesystem::create_directory(dir / "folder");
    for (const char* name : {"pipe", "folder"})
      CHECK_THROWS_WITH_AS(replace_file(dir / name, "x"), doctest::Contains("not a regular file; name another file"),
                           DataError);
    CHECK(std::filesystem::is_fifo(dir / "pipe"));
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), std::filesystem::directory_iterator()) == 3);
  }
}

}  // namespace unweave
