// tests/storage/io/file_test.cpp - files as such.
#include "storage/io/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "storage/io/error.h"
#include "storage/npy/id_writer.h"
#include "storage/npy/npy_writer.h"
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

  TEST_CASE("a regular file is replaced whole; a folder, a pipe and links stay, and nothing comes beside them") {
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
    for (const auto& [name, target] : {std::pair("link", "file"), {"nowhere", "missing"}}) {
      std::filesystem::create_symlink(target, dir / name);
      CHECK_THROWS_WITH_AS(replace_file(dir / name, "x"), doctest::Contains("name the file that it leads to"),
                           DataError);
      CHECK_THROWS_AS(TextWriter(NpyTarget(dir / name)), DataError);
      CHECK_THROWS_AS(NpyWriter(NpyTarget(dir / name), "<i8", 8, std::array<std::uint64_t, 1>{1}), DataError);
      CHECK(std::filesystem::read_symlink(dir / name) == target);
    }
    CHECK(read_text_file(dir / "file", 100) == "another");
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), std::filesystem::directory_iterator()) == 5);
  }
}

}  // namespace unweave
