// tests/storage/formats/feature_writer_test.cpp - rows in pieces, in memory or spilled, give the
// files that whole spans give.
#include "storage/formats/feature_writer.h"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <random>
#include <utility>

#include "storage/io/error.h"
#include "support/feature_files.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::SparseRows;
using testing::write_dense_features;
using testing::write_sparse_features;

constexpr NodeRange kRange{65536, 65536 + 301};
const std::vector<std::pair<std::uint32_t, FeatureType>> kShapes{
    {1, FeatureType::f32},   {31, FeatureType::f32}, {32, FeatureType::f32}, {33, FeatureType::f32},
    {100, FeatureType::f32}, {1, FeatureType::f16},  {33, FeatureType::f16}, {100, FeatureType::f16}};

std::vector<float> random_rows(std::uint32_t columns) {
  std::mt19937 random(columns);
  std::vector<float> rows(std::size_t{kRange.size()} * columns);
  for (float& value : rows) value = random() % 3 == 0 ? static_cast<float>(random() % 1000) * 1e-6F : 0.0F;
  return rows;
}

/// The non-zeros of the rows.
SparseRows non_zeros(const std::vector<float>& rows, std::uint32_t columns) {
  SparseRows sparse;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != 0) {
      sparse.columns.push_back(static_cast<std::uint32_t>(i % columns));
      sparse.values.push_back(rows[i]);
    }
    if ((i + 1) % columns == 0) sparse.offsets.push_back(sparse.columns.size());
  }
  return sparse;
}

/// Rows of which one in `every` has values.
std::vector<float> rows_with_gaps(std::uint32_t columns, std::size_t every) {
  std::vector<float> rows = random_rows(columns);
  for (std::size_t row = 0; row < kRange.size(); ++row)
    for (std::uint32_t c = 0; c < columns; ++c) {
      float& value = rows[row * columns + c];
      if (row / 3 % every != 1 % every)
        value = 0;
      else if (c == 0)
        value = 0.125F;
    }
  return rows;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("dense files without their rows of zeros say the same, and are written where they are smaller") {
    for (const auto& shape : kShapes)
      for (const std::size_t every : {std::size_t{1}, std::size_t{2}, std::size_t{40}, std::size_t{1000}}) {
        const auto columns = shape.first;
        const auto type = shape.second;
        CAPTURE(columns);
        CAPTURE(every);
        const auto rows = rows_with_gaps(columns, every);
        const testing::TempDir whole(testing::Where::disk);
        const FileEntry dense = write_dense_features(whole.path(), kRange, columns, rows, type);
        std::optional<FileEntry> first;
        for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1} << 30})
          for (const std::size_t piece : {1U, 64U, 301U}) {
            DenseFeatureWriter writer(whole.path(), kRange, columns, {false, type, true}, limit);
            for (std::size_t row = 0; row < kRange.size(); row += piece)
              writer.add(
                  std::span(rows).subspan(row * columns, std::min<std::size_t>(piece, kRange.size() - row) * columns));
            const FileEntry entry = writer.finish();
            if (!first) first = entry;
            CHECK(entry == *first);
          }
        const std::uint64_t stored = static_cast<std::uint64_t>(every == 1      ? kRange.size()
                                                                : every == 1000 ? 3
                                                                : every == 2    ? 150
                                                                                : 9);
        const std::uint64_t saved = (kRange.size() - stored) * columns * value_bytes(type);
        CHECK(is_packed(*first) == (saved > packed_index_bytes(kRange.size())));
        CHECK((*first == dense) == !is_packed(*first));
        const FeatureFile file(whole.path(), *first, kRange, columns, {false, type, true});
        const FeatureFile plain(whole.path(), dense, kRange, columns, {false, type, true});
        CHECK(file.has_halves() == (type == FeatureType::f16));
        if (file.has_halves()) {
          const NodeRange some{kRange.first + 3, kRange.last - 70};
          std::vector<Half> halves(std::size_t{some.size()} * columns), of_plain(halves.size());
          std::vector<float> widened(halves.size()), values(halves.size());
          file.read_halves(some, halves.data());
          plain.read_halves(some, of_plain.data());
          widen_halves(halves, widened.data());
          file.read(some, 0, columns, values.data());
          CHECK(halves == of_plain);
          CHECK(widened == values);
        }
        file.verify();
        std::mt19937 random(4);
        for (int draw = 0; draw < 100; ++draw) {
          const auto from = static_cast<NodeId>(random() % kRange.size());
          const auto last = static_cast<NodeId>(from + random() % (kRange.size() - from) + 1);
          const auto column = static_cast<std::uint32_t>(random() % columns);
          const auto width = static_cast<std::uint32_t>(random() % (columns - column) + 1);
          const NodeRange range{kRange.first + from, kRange.first + last};
          file.read_ahead(range, column, width);
          std::vector<float> out(std::size_t{last - from} * width, -1), expected(out.size(), -2);
          file.read(range, column, width, out.data(), draw % 2 == 0 ? PageCache::used : PageCache::passed);
          plain.read(range, column, width, expected.data());
          CHECK(out == expected);
          file.forget(range, column, width);
        }
      }
  }

  TEST_CASE("bits and counts of rows that do not agree, under checksums that do, are refused") {
    const testing::TempDir store;
    const auto file_of = [&](std::uint64_t bits, std::uint32_t first, std::uint32_t all, std::uint64_t stored) {
      SealedWriter writer = start_feature_file(store.path(), {0, 3}, {}, true);
      writer.append_values(std::span<const std::uint64_t>({bits}));
      const std::vector<std::uint32_t> before{first, all};
      writer.append_values(std::span<const std::uint32_t>(before));
      const std::vector<float> values(stored, 0.5F);
      writer.append_values(std::span<const float>(values));
      return FeatureFile(store.path(), writer.finish({0, 3, 1, stored}), {0, 3}, 1, {});
    };
    std::vector<float> out(3);
    const FeatureFile good = file_of(0b101, 0, 2, 2);
    good.verify();
    good.read({0, 3}, 0, 1, out.data());
    CHECK(out == std::vector<float>{0.5F, 0, 0.5F});
    for (const FeatureFile& bad : {file_of(0b111, 0, 2, 2), file_of(0b101, 1, 2, 2)}) {
      CHECK_THROWS_AS(bad.verify(), FormatError);
      CHECK_THROWS_AS(bad.read({0, 3}, 0, 1, out.data()), FormatError);
    }
    CHECK_THROWS_AS(file_of(0b101, 0, 9, 2).verify(), FormatError);  // nobody reads the last number
    CHECK_THROWS_AS(file_of(0b1101, 0, 3, 3).verify(), FormatError);
    CHECK_THROWS_AS(file_of(0b101, 0, 2, 4), FormatError);
  }

  TEST_CASE("dense pieces of any size, spilled or not, give the bytes of one span") {
    for (const auto& [columns, type] : kShapes) {
      const auto rows = random_rows(columns);
      const testing::TempDir whole;
      const FileEntry expected = write_dense_features(whole.path(), kRange, columns, rows, type);
      for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{5000}, std::uint64_t{1} << 30}) {
        for (const std::size_t piece : {1U, 64U, 301U}) {
          const testing::TempDir store;
          DenseFeatureWriter writer(store.path(), kRange, columns, {false, type}, limit);
          for (std::size_t row = 0; row < kRange.size(); row += piece) {
            const std::size_t count = std::min<std::size_t>(piece, kRange.size() - row);
            writer.add(std::span(rows).subspan(row * columns, count * columns));
          }
          const FileEntry entry = writer.finish();
          CHECK(entry == expected);
          CHECK(testing::read_all(store / entry.path) == testing::read_all(whole / expected.path));
        }
      }
    }
  }

  TEST_CASE("sparse rows, spilled or not, give the bytes of one span") {
    constexpr std::uint32_t kColumns = 50;
    const auto rows = random_rows(kColumns);
    const SparseRows sparse = non_zeros(rows, kColumns);
    for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
      const testing::TempDir whole;
      const FileEntry expected = write_sparse_features(whole.path(), kRange, kColumns, sparse, type);
      for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{5000}, std::uint64_t{1} << 30}) {
        const testing::TempDir store;
        SparseFeatureWriter writer(store.path(), kRange, kColumns, {true, type}, limit);
        for (std::size_t row = 0; row < kRange.size(); ++row) {
          const std::size_t begin = sparse.offsets[row];
          const std::size_t count = sparse.offsets[row + 1] - begin;
          writer.add(std::span(sparse.columns).subspan(begin, count), std::span(sparse.values).subspan(begin, count));
        }
        CHECK(writer.finish() == expected);
      }
    }
  }

  TEST_CASE("any columns of any rows come back as they were, in 16 bits as rounded toward zero") {
    constexpr std::uint32_t kColumns = 300;  // a row has more non-zeros than are widened at a time
    const auto rows = random_rows(kColumns);
    auto halves = rows;
    truncate_to_halves(std::span(halves));
    const SparseRows sparse = non_zeros(rows, kColumns);
    for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
      const auto& expected = type == FeatureType::f32 ? rows : halves;
      const testing::TempDir store(testing::Where::disk);  // where O_DIRECT is more likely to be taken
      const FileEntry entries[] = {write_dense_features(store.path(), kRange, kColumns, rows, type),
                                   write_sparse_features(store.path(), kRange, kColumns, sparse, type)};
      for (const bool is_sparse : {false, true}) {
        const FeatureFile file(store.path(), entries[is_sparse ? 1 : 0], kRange, kColumns, {is_sparse, type});
        file.verify();
        std::mt19937 random(4);
        for (int draw = 0; draw < 300; ++draw) {
          const auto first = static_cast<NodeId>(random() % kRange.size());
          const auto last = static_cast<NodeId>(first + random() % (kRange.size() - first) + 1);
          const auto from = static_cast<std::uint32_t>(random() % kColumns);
          const auto width = static_cast<std::uint32_t>(random() % (kColumns - from) + 1);
          file.read_ahead({kRange.first + first, kRange.first + last}, from, width);
          std::vector<float> out(std::size_t{last - first} * width, -1);
          const PageCache cache = draw % 2 == 0 ? PageCache::used : PageCache::passed;
          file.read({kRange.first + first, kRange.first + last}, from, width, out.data(), cache);
          std::size_t wrong = 0;
          for (NodeId row = first; row < last; ++row)
            for (std::uint32_t c = 0; c < width; ++c)
              wrong += out[(row - first) * width + c] == expected[std::size_t{row} * kColumns + from + c] ? 0 : 1;
          CHECK(wrong == 0);
        }
        CHECK_THROWS_AS(FeatureFile(store.path(), entries[is_sparse ? 1 : 0], kRange, kColumns,
                                    {is_sparse, type == FeatureType::f32 ? FeatureType::f16 : FeatureType::f32}),
                        FormatError);
      }
    }
  }

  TEST_CASE("rows that come past the page cache are checked") {
    constexpr std::uint32_t kColumns = 100;
    const testing::TempDir store(testing::Where::disk);
    const auto rows = random_rows(kColumns);
    const FileEntry entry = write_dense_features(store.path(), kRange, kColumns, rows, FeatureType::f32);
    const FeatureFile file(store.path(), entry, kRange, kColumns, {});
    {
      const File out = File::open_write(store / entry.path);
      std::array<std::byte, 1> one{};
      out.read_at(50'000, one);
      one[0] ^= std::byte{1};
      out.write_at(50'000, one);
    }
    std::vector<float> out(rows.size());
    file.read({kRange.first, kRange.first + 301}, 64, 36, out.data(), PageCache::passed);
    CHECK(out[0] == rows[64]);
    CHECK_THROWS_WITH_AS(file.read({kRange.first, kRange.first + 301}, 0, 64, out.data(), PageCache::passed),
                         doctest::Contains("are damaged"), FormatError);
  }

  TEST_CASE("columns out of order, under checksums that agree, are refused where they are read") {
    const testing::TempDir store;
    SparseRows rows;
    rows.offsets = {0, 3};
    rows.columns = {20, 21, 3};
    rows.values = {0.1F, 0.2F, 0.3F};
    for (const FeatureType type : {FeatureType::f32, FeatureType::f16}) {
      const FileEntry entry = write_sparse_features(store.path(), {0, 1}, 40, rows, type);
      const FeatureFile file(store.path(), entry, {0, 1}, 40, {true, type});
      std::vector<float> out(16);
      CHECK_THROWS_AS(file.read({0, 1}, 16, 16, out.data()), FormatError);
      CHECK_THROWS_AS(file.verify(), FormatError);
    }
  }
}

}  // namespace unweave
