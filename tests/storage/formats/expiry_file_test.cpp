// tests/storage/formats/expiry_file_test.cpp - expiries of edges come back, and files of nonsense are refused.
#include "storage/formats/expiry_file.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

TEST_SUITE("unit") {
  TEST_CASE("expiries come back; edges out of order or of no nodes, and moments before 1970, are refused") {
    const testing::TempDir dir;
    const std::vector<EdgeExpiry> good{{{0, 3}, 0}, {{0, 4}, 1'800'000'000'000}, {{2, 3}, 5}};
    const FileEntry entry = write_expiries(dir.path(), good);
    CHECK(read_expiries(dir.path(), entry, 5) == good);
    CHECK(count_expiries(entry) >= 3);
    CHECK(write_expiries(dir.path(), good) == entry);
    CHECK_THROWS_AS(static_cast<void>(read_expiries(dir.path(), entry, 4)), FormatError);
    for (const std::vector<EdgeExpiry>& bad : std::vector<std::vector<EdgeExpiry>>{
             {{{0, 4}, 1}, {{0, 3}, 1}}, {{{0, 3}, 1}, {{0, 3}, 2}}, {{{3, 3}, 1}}, {{{3, 1}, 1}}, {{{0, 1}, -1}}}) {
      const FileEntry wrong = write_expiries(dir.path(), bad);
      CHECK_THROWS_AS(static_cast<void>(read_expiries(dir.path(), wrong, 5)), FormatError);
    }
  }

  TEST_CASE("a manifest with expiries has a version of its own, and both must agree") {
    Manifest manifest;
    CHECK(manifest.version() == 5);
    manifest.expiries = FileEntry{"graph/expiries-x.expiries", 1, "x"};
    CHECK(manifest.version() == 7);
    manifest.names = NameEntries{};
    CHECK(manifest.version() == 7);
    manifest.expiries.reset();
    CHECK(manifest.version() == 6);
  }
}

}  // namespace
}  // namespace unweave
