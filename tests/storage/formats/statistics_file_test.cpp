// tests/storage/formats/statistics_file_test.cpp - records: encodings and their errors, exact sums,
// erasure, damage.
#include "storage/formats/statistics_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::read_all;
using testing::TempDir;

std::vector<std::vector<double>> random_vectors(std::size_t count, std::size_t size, double scale) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, scale);
  std::vector<std::vector<double>> vectors(count, std::vector<double>(size));
  for (auto& vector : vectors)
    for (double& x : vector) x = normal(random);
  return vectors;
}

StatisticsShape shape_of(std::uint32_t bits) {
  return {bits, 0xABCDEF, 3, 12, 257, 2};
}

void write(const std::filesystem::path& path, const StatisticsShape& shape,
           const std::vector<std::vector<double>>& vectors) {
  StatisticsWriter writer(path, shape);
  for (std::size_t i = 0; i < vectors.size(); ++i)
    writer.append(vectors[i], std::vector<double>{0.1, -1}, 0.1 * static_cast<double>(i));
  writer.finish();
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

TEST_SUITE("unit") {
  TEST_CASE("what is read is as near to what was written as the record says, and as its bits allow") {
    const TempDir folder;
    for (const double scale : {1e-5, 1e-2, 3.0}) {
      for (const auto& [bits, relative] : {std::pair{8U, 8e-3}, {16U, 4e-4}, {32U, 1e-6}}) {
        const auto& shown = bits;
        CAPTURE(shown);
        CAPTURE(scale);
        const auto vectors = random_vectors(12, 257, scale);
        const std::filesystem::path path = folder / ("s" + std::to_string(bits) + std::to_string(scale));
        write(path, shape_of(bits), vectors);
        const StatisticsFile file(path, shape_of(bits), false);
        for (std::size_t i = 0; i < vectors.size(); ++i) {
          const auto record = file.read(i);
          REQUIRE(record.has_value());
          const double off = distance(record->values, vectors[i]);
          CHECK(off <= static_cast<double>(record->error));
          CHECK(off > 0);
          CHECK(static_cast<double>(record->error) < 1.01 * off + 1e-12);
          CHECK(off < relative * 16 * 3 * scale);
          CHECK(static_cast<double>(record->bound) >= 0.1 * static_cast<double>(i));
          CHECK(record->bound == doctest::Approx(0.1 * static_cast<double>(i)).epsilon(1e-6));
          CHECK(static_cast<double>(record->visits[0]) >= 0.1);
          CHECK(record->visits[1] == -1);
        }
      }
    }
  }

  TEST_CASE("sums of records have the same bits in any order") {
    const TempDir folder;
    for (const std::uint32_t bits : {8U, 16U, 32U}) {
      const std::filesystem::path path = folder / ("s" + std::to_string(bits));
      write(path, shape_of(bits), random_vectors(12, 257, 3e-3));
      const StatisticsFile file(path, shape_of(bits), false);
      std::vector<double> forward(257, 0.7), backward = forward;
      for (double& x : forward) x = std::nearbyint(x / kStatisticsGrid) * kStatisticsGrid;
      backward = forward;
      for (std::size_t i = 0; i < 12; ++i)
        for (std::size_t j = 0; j < 257; ++j) {
          forward[j] += file.read(i)->values[j];
          backward[j] += file.read(11 - i)->values[j];
        }
      CHECK(forward == backward);
    }
  }

  TEST_CASE("zeros, tiny numbers and one large number") {
    const TempDir folder;
    std::vector<std::vector<double>> vectors(12, std::vector<double>(257, 0.0));
    vectors[1][3] = 1e-9;
    vectors[2][0] = 400;
    vectors[2][1] = 1e-3;
    write(folder / "s", shape_of(16), vectors);
    const StatisticsFile file(folder / "s", shape_of(16), false);
    CHECK(file.read(0)->values == vectors[0]);
    CHECK(file.read(0)->error == 0);
    CHECK(file.read(1)->values[3] == doctest::Approx(1e-9).epsilon(1e-4));
    CHECK(file.read(2)->values[0] == doctest::Approx(400).epsilon(1e-3));
    CHECK(distance(file.read(2)->values, vectors[2]) <= static_cast<double>(file.read(2)->error));
    StatisticsWriter writer(folder / "t", shape_of(16));
    for (const double wrong : {1e3, std::nan(""), static_cast<double>(INFINITY)}) {
      vectors[0][7] = wrong;
      CHECK_THROWS_AS(writer.append(vectors[0], std::vector<double>{0, 0}, 0), UsageError);
    }
  }

  TEST_CASE("erased records are gone from the file, also when they are erased again") {
    const TempDir folder;
    const auto vectors = random_vectors(12, 257, 1e-2);
    write(folder / "s", shape_of(16), vectors);
    const std::string before = read_all(folder / "s");
    const StatisticsFile file(folder / "s", shape_of(16), true);
    const std::uint64_t erased[] = {4, 11};
    file.erase(erased);
    const std::string once = read_all(folder / "s");
    file.erase(erased);
    CHECK(read_all(folder / "s") == once);
    for (std::size_t i = 0; i < 12; ++i) CHECK(file.read(i).has_value() == (i != 4 && i != 11));
    const std::size_t bytes = (before.size() - 64) / 12;
    CHECK(once.substr(64 + 4 * bytes, bytes) == std::string(bytes, '\0'));
    CHECK(once.substr(0, 64 + 4 * bytes) == before.substr(0, 64 + 4 * bytes));
  }

  TEST_CASE("damage, another run and another shape are told") {
    const TempDir folder;
    write(folder / "s", shape_of(16), random_vectors(12, 257, 1e-2));
    const std::string good = read_all(folder / "s");
    for (std::size_t at = 64; at < good.size(); at += 97) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      testing::write_file(folder / "s", bad);
      const StatisticsFile file(folder / "s", shape_of(16), false);
      CHECK_THROWS_AS(static_cast<void>(file.read((at - 64) / ((good.size() - 64) / 12))), FormatError);
    }
    testing::write_file(folder / "s", good);
    StatisticsShape other = shape_of(16);
    other.run = 7;
    CHECK_THROWS_AS(StatisticsFile(folder / "s", other, false), FormatError);
    testing::write_file(folder / "s", good.substr(0, good.size() - 1));
    CHECK_THROWS_AS(StatisticsFile(folder / "s", shape_of(16), false), FormatError);
    CHECK_THROWS_AS(StatisticsWriter(folder / "u", shape_of(12)), UsageError);
  }
}

}  // namespace
}  // namespace unweave
