// tests/engine/ingest/column_survey_test.cpp - columns of ids, of counts and of next to nothing are
// told, ordinary ones are not.
#include "engine/ingest/column_survey.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "storage/input/features/left_out_column.h"

namespace unweave {
namespace {

std::vector<std::string> remarks_of(std::size_t rows, std::size_t columns,
                                    const std::function<double(std::size_t, std::size_t)>& value) {
  ColumnSurvey survey(columns, 1);
  for (std::size_t first = 0; first < rows; first += 100) {
    FeatureBatch batch;
    batch.first_row = first;
    batch.rows = std::min<std::size_t>(100, rows - first);
    for (std::size_t row = 0; row < batch.rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) batch.values.push_back(value(first + row, column));
    survey.add(batch);
  }
  return survey.remarks("x.csv", [&](std::size_t column) {
    return without_column(InputFile{"x.csv", {}}, column, columns);
  });
}

bool has(const std::vector<std::string>& remarks, const std::string& part) {
  for (const std::string& remark : remarks)
    if (remark.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a column of ids among the features is told, with the files without it") {
    std::mt19937 random(4);
    std::normal_distribution<double> normal;
    for (const std::size_t place : {0, 3, 7}) {
      const auto remarks = remarks_of(600, 8, [&](std::size_t row, std::size_t column) {
        return column == place ? 4e8 - 7919.0 * static_cast<double>(row) : normal(random);
      });
      CAPTURE(place);
      const std::string rest = place == 0 ? "x.csv[1:]" : place == 3 ? "x.csv[:3,4:]" : "x.csv[:7]";
      CHECK(has(remarks,
                "column " + std::to_string(place) + " of the features has whole numbers that are all different"));
      CHECK(has(remarks, "leave it out by " + rest));
      CHECK(has(remarks, "column " + std::to_string(place) + " has 1"));
      CHECK(has(remarks, "no value above 1e-6"));
    }
    // Times of which some repeat are no ids, and still have all of the norm.
    const auto times = remarks_of(600, 8, [&](std::size_t row, std::size_t column) {
      return column == 2 ? 1.6e9 + std::floor(static_cast<double>(row) / 2) : normal(random);
    });
    CHECK_FALSE(has(times, "all different"));
    CHECK(has(times, "column 2 has"));
  }

  TEST_CASE("raw counts beside small columns are told, plain columns and words of bags are not") {
    std::mt19937 random(4);
    std::normal_distribution<double> normal;
    const auto counts = remarks_of(600, 12, [&](std::size_t, std::size_t column) {
      return column < 2 ? std::floor(std::exp(5 + 2 * normal(random))) : normal(random);
    });
    CHECK(has(counts, "columns 0, 1 have 9"));
    CHECK(has(counts, "the other 10 hardly count"));
    CHECK(remarks_of(600, 12, [&](std::size_t, std::size_t) { return normal(random); }).empty());
    CHECK(remarks_of(600, 40, [&](std::size_t, std::size_t) { return random() % 10 == 0 ? 1.0 : 0.0; }).empty());
    CHECK(remarks_of(600, 2, [&](std::size_t, std::size_t column) {
            return column == 0 ? 1.0 : normal(random);
          }).empty());
    CHECK(remarks_of(600, 1, [](std::size_t row, std::size_t) { return static_cast<double>(row); }).empty());
    CHECK(remarks_of(9, 5, [](std::size_t row, std::size_t column) {
            return static_cast<double>(row + column);
          }).empty());
  }
}

}  // namespace unweave
