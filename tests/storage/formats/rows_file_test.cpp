// tests/storage/formats/rows_file_test.cpp - kept rows at rest: every shape, both ways of writing,
// rounding to 16 bits, forgeries.
#include "storage/formats/rows_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/formats/rows_image.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

/// The value of a finite half, by the definition.
double value_of(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10U & 31U);
  const double fraction = bits & 1023U;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

/// The half next to a number, found by a search among all of them, ties to the even one; nothing
/// where none is finite.
std::optional<std::uint32_t> nearest_half(double value) {
  static constexpr double kLimit = 65520;  // half way from the largest half to what would be the next one
  if (!(std::fabs(value) < kLimit)) return std::nullopt;
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t bits = 0; bits < 0x7C00U; ++bits) {
    const double distance = std::fabs(value_of(bits) - std::fabs(value));
    if (distance < least || (distance == least && bits % 2 == 0)) {
      best = bits;
      least = distance;
    }
  }
  return best | (std::signbit(value) ? 0x8000U : 0U);
}

/// Rows whose values tell node and column.
float value_at(NodeId node, std::uint32_t column) {
  return static_cast<float>(node % 1024) + static_cast<float>(column) / 64;
}

struct Shape {
  NodeRange range;
  std::uint32_t columns;
  KeptForm kept;
  std::vector<NodeId> nodes;  ///< who has a row
};

std::vector<std::uint64_t> members_of(const Shape& shape) {
  std::vector<std::uint64_t> members((shape.range.size() + 63) / 64);
  for (const NodeId node : shape.nodes) {
    const NodeId local = node - shape.range.first;
    members[local / 64] |= std::uint64_t{1} << local % 64;
  }
  return members;
}

/// Writes the rows in pieces of consecutive members and of columns, in a random order within a tile
/// of columns, by two threads.
FileEntry write_shape(const std::filesystem::path& store, const Shape& shape, WriteBehind* queue, std::uint32_t tile,
                      std::uint32_t seed) {
  RowsImage image(store, 3, shape.range, shape.columns, shape.kept, members_of(shape), queue);
  std::mt19937 random(seed);
  for (std::uint32_t first = 0; first < shape.columns; first += tile) {
    const std::uint32_t width = std::min(tile, shape.columns - first);
    std::vector<std::pair<std::size_t, std::size_t>> pieces;
    for (std::size_t at = 0; at < shape.nodes.size();) {
      const std::size_t last = std::min<std::size_t>(shape.nodes.size(), at + 1 + random() % 900);
      pieces.emplace_back(at, last);
      at = last;
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    const auto put = [&](std::size_t parity) {
      for (std::size_t i = parity; i < pieces.size(); i += 2) {
        const auto [begin, end] = pieces[i];
        std::vector<float> values;
        for (std::size_t k = begin; k < end; ++k)
          for (std::uint32_t c = first; c < first + width; ++c) values.push_back(value_at(shape.nodes[k], c));
        std::vector<Half> halves(values.size());
        const bool is_half = shape.kept.type == FeatureType::f16;
        if (is_half) REQUIRE(round_to_halves(values, shape.kept.exponent, halves.data()) == values.size());
        image.put(std::span(shape.nodes).subspan(begin, end - begin), first, width,
                  is_half ? std::as_bytes(std::span(halves)).data() : std::as_bytes(std::span(values)).data());
      }
    };
    {
      std::jthread other([&] { put(1); });
      put(0);
    }
    image.rest();
  }
  if (queue != nullptr) queue->drain();
  return image.publish();
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("values are rounded once to the nearest half, ties to even, as a search among all halves finds") {
    std::mt19937 random(5);
    std::vector<float> values{0.0F,         -0.0F,          65504,         65519.996F,   2049,
                              2051,         -2050,          0x1p-24F,      0x1p-25F,     0x1.8p-25F,
                              0x1.004p-14F, 1.00048828125F, 1.0009765625F, 0x1.ffcp-15F, 0x1.ffep-15F};
    for (int i = 0; i < 150; ++i) {
      const auto bits = static_cast<std::uint32_t>(random());
      if (const auto value = std::bit_cast<float>(bits); std::isfinite(value)) values.push_back(value);
      values.push_back(std::ldexp(static_cast<float>(random() % 4096) + 0.5F, static_cast<int>(random() % 24) - 26));
    }
    std::size_t refused = 0;
    for (const float value : values)
      for (const int exponent : {0, 3, -9, 64, -64}) {
        CAPTURE(value);
        CAPTURE(exponent);
        Half half = 0;
        const std::size_t done = round_to_halves({&value, 1}, exponent, &half);
        const auto wanted = nearest_half(std::ldexp(static_cast<double>(value), exponent));
        CHECK(done == (wanted ? 1 : 0));
        if (wanted) CHECK(half == *wanted);
        refused += wanted ? 0 : 1;
      }
    CHECK(refused > 50);
    for (const float value :
         {65520.0F, -65520.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      const std::vector<float> three{1, value, 2};
      std::vector<Half> halves(3);
      CHECK(round_to_halves(three, 0, halves.data()) == 1);
    }
  }

  TEST_CASE("every shape, written past the page cache or through it, in tiles that cut strips or not, has one file") {
    const auto every = [](NodeRange range, NodeId step) {
      std::vector<NodeId> nodes;
      for (NodeId node = range.first; node < range.last; node += step) nodes.push_back(node);
      return nodes;
    };
    const NodeRange large{65536, 65536 + 9001}, small{0, 70}, exact{0, 4096};
    const KeptForm wide{Keep::hops, FeatureType::f32, 0}, half{Keep::hops, FeatureType::f16, -3};
    const std::vector<Shape> shapes{{large, 40, wide, every(large, 1)},
                                    {large, 33, half, every(large, 3)},
                                    {large, 16, half, every(large, 1)},
                                    {small, 5, wide, every(small, 1)},
                                    {small, 17, half, every(small, 69)},
                                    {exact, 32, wide, every(exact, 1)},
                                    {small, 3, wide, {}},
                                    {large, 1, half, every(large, 2)}};
    for (const Shape& shape : shapes) {
      CAPTURE(shape.columns);
      CAPTURE(shape.nodes.size());
      const TempDir folder;
      const std::size_t segment = RowsImage::segment_bytes(shape.kept.type);
      const std::size_t bytes = 32 * segment;
      std::unique_ptr<std::byte, decltype(&std::free)> memory(
          static_cast<std::byte*>(std::aligned_alloc(WriteBehind::kAlignment, bytes)), &std::free);
      FileEntry entry;
      {
        WriteBehind queue({memory.get(), bytes}, segment);
        entry = write_shape(folder / "s", shape, &queue, 16, 1);
        CHECK(write_shape(folder / "s", shape, &queue, 48, 2) == entry);
      }
      const std::string file = testing::read_all(folder / "s" / entry.path);
      for (const std::uint32_t tile : {1U, 5U, 16U, 24U, 64U})
        CHECK(write_shape(folder / "s", shape, nullptr, tile, tile) == entry);
      CHECK(testing::read_all(folder / "s" / entry.path) == file);
      const RowsFile rows(folder / "s", entry, 3, shape.range, shape.columns, shape.kept);
      rows.verify();
      rows.read_ahead(shape.range);
      CHECK(rows.rows() == shape.nodes.size());
      std::vector<float> row(shape.columns);
      for (NodeId node = shape.range.first; node < shape.range.last; ++node) {
        const bool has = std::binary_search(shape.nodes.begin(), shape.nodes.end(), node);
        REQUIRE(rows.contains(node) == has);
        REQUIRE(rows.read(node, row.data()) == has);
        for (std::uint32_t c = 0; has && c < shape.columns; ++c) {
          const float value = value_at(node, c);
          if (shape.kept.type == FeatureType::f32) REQUIRE(row[c] == value);
          if (shape.kept.type == FeatureType::f16 && node % 997 == 0)
            REQUIRE(row[c] ==
                    static_cast<float>(std::ldexp(value_of(*nearest_half(std::ldexp(double{value}, -3))), 3)));
        }
      }
      // A chunk of rows lies on whole pages of the file.
      CHECK((file.size() == entry.bytes));
      const RowsLayout layout{shape.range, shape.columns, shape.nodes.size(), value_bytes(shape.kept.type)};
      for (std::uint64_t chunk = 0; chunk < layout.chunks(); ++chunk)
        CHECK((layout.piece_at(chunk, 0) + kSealedHeaderBytes) % kPieceAlignment == 0);
    }
  }

  TEST_CASE("files of other rows, and values that are not finite, are refused") {
    const TempDir folder;
    const Shape shape{{0, 70}, 5, {Keep::hops, FeatureType::f16, 2}, {1, 2, 69}};
    const FileEntry entry = write_shape(folder / "s", shape, nullptr, 5, 1);
    const auto open = [&](std::uint32_t level, NodeRange range, std::uint32_t columns, KeptForm kept) {
      return RowsFile(folder / "s", entry, level, range, columns, kept);
    };
    CHECK_NOTHROW(open(3, shape.range, 5, shape.kept).verify());
    CHECK_THROWS_AS(open(2, shape.range, 5, shape.kept), FormatError);
    CHECK_THROWS_AS(open(3, {0, 71}, 5, shape.kept), FormatError);
    CHECK_THROWS_AS(open(3, shape.range, 6, shape.kept), FormatError);
    CHECK_THROWS_AS(open(3, shape.range, 5, {Keep::hops, FeatureType::f16, 3}), FormatError);
    CHECK_THROWS_AS(open(3, shape.range, 5, {Keep::hops, FeatureType::f32, 0}), FormatError);
    const auto forge = [&](const SealedParameters& parameters, std::size_t payload, std::size_t at,
                           std::uint16_t bits) {
      SealedWriter writer(rows_name(folder / "s", 3, 0, FeatureType::f16));
      std::vector<std::byte> bytes(payload);
      const std::vector<std::uint64_t> members = members_of(shape);
      std::memcpy(bytes.data(), members.data(), 8 * members.size());
      if (at > 0) std::memcpy(bytes.data() + at, &bits, sizeof bits);
      writer.append(bytes);
      const FileEntry forged = writer.finish(parameters);
      RowsFile(folder / "s", forged, 3, shape.range, 5, shape.kept).verify();
    };
    const RowsLayout layout{shape.range, 5, 3, 2};
    const std::uint64_t bytes = layout.bytes();
    CHECK_NOTHROW(forge({3, 0, 70, 3, 5, 2}, bytes, 0, 0));
    CHECK_THROWS_AS(forge({3, 0, 70, 2, 5, 2}, bytes, 0, 0), FormatError);   // another number of members
    CHECK_THROWS_AS(forge({3, 0, 70, 71, 5, 2}, bytes, 0, 0), FormatError);  // more rows than nodes
    CHECK_THROWS_AS(forge({3, 0, 70, ~0ULL, 5, 2}, bytes, 0, 0), FormatError);
    CHECK_THROWS_AS(forge({3, 0, 70, 3, 5, 2}, bytes - 1, 0, 0), FormatError);
    CHECK_THROWS_AS(forge({3, 0, 70, 3, 5, 2}, bytes, 9, 0x8000), FormatError);  // a member past the range
    for (const std::uint16_t bits : std::vector<std::uint16_t>{0x7C00, 0xFC00, 0x7E00})
      CHECK_THROWS_AS(forge({3, 0, 70, 3, 5, 2}, bytes, layout.rows_at() + 4, bits), FormatError);
  }
}

}  // namespace unweave
