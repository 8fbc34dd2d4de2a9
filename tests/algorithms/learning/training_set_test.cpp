// tests/algorithms/learning/training_set_test.cpp - clipping, order, and batches on training rows.
#include "algorithms/learning/training_set.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

double norm_of(std::span<const float> row) {
  long double sum = 0;
  for (const float x : row) sum += static_cast<long double>(x) * static_cast<long double>(x);
  return static_cast<double>(std::sqrt(sum));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a clipped row has norm at most the clip in float64, and shorter rows keep their bits") {
    for (unsigned seed = 0; seed < 200; ++seed) {
      const Matrix values = random_matrix(1, 1 + seed % 40, seed, 2);
      std::vector<float> row(values.data(), values.data() + values.size());
      const std::vector<float> before = row;
      const double bound = clip_row(row, 0.75);
      CHECK(norm_of(row) <= 0.75);
      CHECK(norm_of(row) <= bound);
      if (norm_of(before) < 0.74999) CHECK(row == before);
      if (norm_of(before) > 0.75) CHECK(norm_of(row) > 0.7499);
    }
  }

  TEST_CASE("with an intercept a row ends in 1 after the clip, its norm is at most sqrt 2, and its form is kept") {
    const RowForm form(0.75, true);
    CHECK(form.norm_bound() == 1.25);
    CHECK(RowForm(1, true).norm_bound() >= std::sqrt(2.0L));
    CHECK(form.features(4) == 5);
    CHECK(form.width(5) == 4);
    for (unsigned seed = 0; seed < 100; ++seed) {
      const Matrix values = random_matrix(3, 1 + seed % 20, seed, 2);
      const auto width = static_cast<std::size_t>(values.cols());
      std::vector<float> rows(values.data(), values.data() + values.size());
      std::vector<float> clipped = rows;
      for (std::size_t i = 0; i < 3; ++i) clip_row(std::span(clipped).subspan(i * width, width), 0.75);
      rows.resize(3 * (width + 1), -7);
      form_rows(rows.data(), 3, width + 1, form);
      TrainingSet set(width + 1, 1, form);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::span<float> row = std::span(rows).subspan(i * (width + 1), width + 1);
        CHECK(std::equal(row.begin(), row.end() - 1, clipped.begin() + static_cast<std::ptrdiff_t>(i * width)));
        CHECK(row.back() == 1);
        CHECK(norm_of(row) <= 1.25);
        const std::vector<float> before(row.begin(), row.end());
        CHECK(norm_of(row) <= form_row(row, form));
        CHECK(std::equal(row.begin(), row.end(), before.begin()));
        row.back() = 0.3F;  // whatever stands there
        set.append(static_cast<NodeId>(i), row, 0);
        CHECK(std::equal(set.row(i).begin(), set.row(i).end(), before.begin()));
      }
    }
    CHECK_THROWS_AS(TrainingSet(1, 1, form), UsageError);  // nothing but the intercept
  }

  TEST_CASE("rows in a file change as rows in memory do") {
    const testing::TempDir folder;
    for (unsigned seed = 0; seed < 40; ++seed) {
      TrainingSet memory = random_rows(20 + seed % 30, 1 + seed % 7, 3, seed);
      TrainingSet file(memory.features(), memory.classes(), memory.form(), folder.path(), memory.size());
      for (std::size_t i = 0; i < memory.size(); ++i) file.append(memory.nodes()[i], memory.row(i), memory.labels()[i]);
      const auto same = [&] {
        REQUIRE(file.size() == memory.size());
        CHECK(std::equal(file.nodes().begin(), file.nodes().end(), memory.nodes().begin()));
        CHECK(std::equal(file.labels().begin(), file.labels().end(), memory.labels().begin()));
        for (std::size_t i = 0; i < memory.size(); ++i) {
          CHECK(std::equal(file.row(i).begin(), file.row(i).end(), memory.row(i).begin()));
          CHECK(file.rows().norms[i] == memory.rows().norms[i]);
        }
      };
      same();
      for (unsigned step = 0; step < 3 && memory.size() > 4; ++step) {
        const BatchChange change =
            random_change(memory, step % 3, 1 + step, 1 + seed % memory.size() / 2, 3, 0.1, seed);
        memory.apply(change);
        file.apply(change);
        same();
      }
      if (memory.size() == 0) continue;
      std::vector<float> row(memory.features(), 0.125F);
      CHECK(memory.replace(0, row) == file.replace(0, row));
      CHECK_FALSE(file.replace(0, row));
      same();
    }
  }

  TEST_CASE("rows out of order, outside the classes or not finite are refused") {
    TrainingSet set(2, 3);
    const std::vector<float> row{0.5F, 0.5F}, bad{0.5F, std::numeric_limits<float>::quiet_NaN()};
    set.append(7, row, 2);
    CHECK_THROWS_AS(set.append(7, row, 0), UsageError);
    CHECK_THROWS_AS(set.append(8, row, 3), UsageError);
    CHECK_THROWS_AS(set.append(8, std::vector<float>{1.0F}, 0), UsageError);
    CHECK_THROWS_AS(set.append(8, bad, 0), DataError);
    CHECK(set.size() == 1);
    CHECK_THROWS_AS(TrainingSet(0, 1), UsageError);
    CHECK_THROWS_AS(TrainingSet(1, 0), UsageError);
    CHECK_THROWS_AS(TrainingSet(1, 1, 0), UsageError);
  }

  TEST_CASE("a batch removes and replaces exactly its rows") {
    const TrainingSet before = random_rows(50, 4, 3, 1);
    TrainingSet after = before;
    const BatchChange change = random_change(before, 2, 9, 4, 12, 0.1, 5);
    after.apply(change);
    CHECK(after.size() == 46);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const NodeId node = before.nodes()[i];
      const auto at = after.find(node);
      CHECK(at.has_value() == !change.removed.find(node).has_value());
      if (!at) continue;
      const auto moved = change.moved_to.find(node);
      const auto expected = moved ? change.moved_to.row(*moved) : before.row(i);
      CHECK(std::equal(expected.begin(), expected.end(), after.row(*at).begin()));
      CHECK(after.labels()[*at] == before.labels()[i]);
      CHECK(norm_of(expected) <= after.rows().norms[*at]);
    }
    BatchChange stranger(4, 3);
    stranger.removed.append(4, before.row(0), 0);
    CHECK_THROWS_AS(after.apply(stranger), UsageError);
  }
}
