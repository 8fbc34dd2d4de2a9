// tests/storage/io/file_test.cpp - files as such.
#include "storage/io/file.h"

#include <doctest/doctest.h>

#include <filesystem>

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
}

}  // namespace unweave
