// tests/storage/io/stream_writer_test.cpp - files of all sizes, whether their bytes pass by the
// page cache or not.
#include "storage/io/stream_writer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "storage/io/file.h"
#include "support/temp_dir.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a file has the bytes that were appended, at the edges of sectors, direct writes and buffers") {
    constexpr std::size_t kDirect = std::size_t{256} << 10, kBuffer = std::size_t{2} << 20;
    std::vector<std::byte> bytes(2 * kBuffer + kDirect + 4097);
    std::mt19937_64 random(5);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random());
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kDirect - 1, kDirect, kDirect + 1, kDirect + 4095,
          kBuffer / 2, kBuffer - 1, kBuffer, kBuffer + 1, kBuffer + kDirect, kBuffer + kDirect + 511, bytes.size()}) {
      CAPTURE(size);
      const testing::TempDir dir;
      StreamWriter writer(File::create(dir / "file"));
      for (std::size_t at = 0, piece = 1; at < size; at += piece, piece = std::min(3 * piece + 1, size - at))
        writer.append(std::span(bytes).subspan(at, std::min(piece, size - at)));
      const File file = writer.finish();
      CHECK(file.size() == size);
      std::vector<std::byte> found(size);
      file.read_at(0, found);
      CHECK(std::equal(found.begin(), found.end(), bytes.begin()));
    }
  }
}

}  // namespace unweave
