// tests/storage/input/bytes/memory_array_test.cpp - arrays in memory are read as their .npy files
// are.
#include "storage/input/bytes/memory_array.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "storage/input/bytes/npy.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

template <class T>
std::span<const char> bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::vector<Edge> edges_in(const InputFile& file, const EdgeOptions& options = {}) {
  const auto reader = open_edges(file, options);
  std::vector<Edge> edges, some(7);
  while (const std::size_t count = reader->read(some))
    edges.insert(edges.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  return edges;
}

TEST_SUITE("unit") {
  TEST_CASE("pieces of any length make one array, which may be opened again and skipped through") {
    std::vector<std::int32_t> values(1000);
    std::iota(values.begin(), values.end(), -500);
    const std::span<const std::int32_t> all(values);
    const std::vector<std::span<const char>> pieces{
        bytes_of(all.first(1)), {}, bytes_of(all.subspan(1, 700)), bytes_of(all.subspan(701)), {}};
    const std::vector<std::uint64_t> shape{1000};
    const InputFile file = memory_input("numbers", "<i4", shape, false, pieces);
    for (const std::uint64_t skipped : {0, 1, 2, 700, 999}) {
      NpyReader reader(file);
      CHECK(reader.reopenable());
      CHECK(reader.name() == "numbers");
      reader.skip(skipped);
      std::vector<std::int64_t> read(1000 - skipped);
      REQUIRE(reader.read(read) == read.size());
      CHECK(std::equal(read.begin(), read.end(), values.begin() + static_cast<std::ptrdiff_t>(skipped)));
      CHECK(reader.remaining() == 0);
    }
  }

  TEST_CASE("edges in two columns, in rows and in pairs, and either order") {
    const std::vector<std::int64_t> u{1, 2, 3}, v{4, 5, 6}, pairs{1, 4, 2, 5, 3, 6};
    const std::vector<std::uint64_t> wide{2, 3}, tall{3, 2};
    const auto columns = memory_input("graph", "<i8", wide, false, {bytes_of(std::span(u)), bytes_of(std::span(v))});
    const auto fortran = memory_input("graph", "<i8", wide, true, {bytes_of(std::span(pairs))});
    const auto rows = memory_input("graph", "<i8", tall, false, {bytes_of(std::span(pairs))});
    EdgeOptions two_rows;
    two_rows.two_rows = true;
    const std::vector<Edge> wanted{{1, 4}, {2, 5}, {3, 6}};
    CHECK(edges_in(columns, two_rows) == wanted);
    CHECK(edges_in(fortran, two_rows) == wanted);
    CHECK(edges_in(rows) == wanted);
  }

  TEST_CASE("elements that are not those of the shape are refused, and faults name the array") {
    const std::vector<std::int64_t> ids{1, -1};
    const std::vector<std::uint64_t> wrong{3, 2}, right{1, 2}, huge{std::uint64_t{1} << 63, 1 << 20};
    const std::vector<std::span<const char>> pieces{bytes_of(std::span(ids))};
    for (const auto& shape : {wrong, huge})
      check_message(message_of<UsageError>([&] { (void)memory_input("graph", "<i8", shape, false, pieces); }),
                    {"graph", "shape"});
    check_message(message_of<InputError>([&] { (void)edges_in(memory_input("graph", "<i8", right, false, pieces)); }),
                  {"graph", "[0, 1]", "-1"});
  }
}

}  // namespace
