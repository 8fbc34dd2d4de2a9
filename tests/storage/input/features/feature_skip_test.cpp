// tests/storage/input/features/feature_skip_test.cpp - readers of features that leave out rows give
// the others.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/input/features/feature_reader.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {

using testing::TempDir;

TEST_SUITE("unit") {
  TEST_CASE("features leave out any number of rows") {
    const TempDir dir;
    constexpr std::size_t kRows = 90, kColumns = 4;
    std::vector<double> dense(kRows * kColumns);
    std::string text;
    std::vector<std::int64_t> indptr{0}, indices;
    std::vector<double> stored;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      dense[i] = i % 3 == 0 ? static_cast<double>(i) : 0;
      text += std::to_string(dense[i]) + (i % kColumns == kColumns - 1 ? "\n" : " ");
      if (dense[i] != 0) {
        indices.push_back(static_cast<std::int64_t>(i % kColumns));
        stored.push_back(dense[i]);
      }
      if (i % kColumns == kColumns - 1) indptr.push_back(static_cast<std::int64_t>(stored.size()));
    }
    const auto file = [&](const char* name, const std::string& bytes) {
      return InputFile{testing::write_file(dir / name, bytes), {}};
    };
    const std::string entries = "(" + std::to_string(stored.size()) + ",)";
    const CsrFiles csr{file("p.npy", testing::npy("<i8", "(" + std::to_string(kRows + 1) + ",)", indptr)),
                       file("i.npy", testing::npy("<i8", entries, indices)),
                       file("v.npy", testing::npy("<f8", entries, stored))};
    const InputFile array = file("x.npy", testing::npy("<f8", "(90, 4)", dense));
    const InputFile lines = file("x.txt", text);
    const std::vector<std::function<std::unique_ptr<FeatureReader>()>> opens{
        [&] { return open_features(array); }, [&] { return open_features(lines, kRows); },
        [&] { return open_csr_features(csr, kColumns); }};
    for (std::size_t which = 0; which < opens.size(); ++which) {
      CAPTURE(which);
      for (const std::size_t skipped : {0U, 1U, 17U, 89U, 90U}) {
        CAPTURE(skipped);
        const auto reader = opens[which]();
        reader->skip(skipped);
        std::size_t row = skipped;
        for (FeatureBatch batch; reader->next(batch, 10);) {
          CHECK(batch.first_row == row);
          std::vector<double> values(batch.rows * kColumns);
          if (batch.sparse) {
            for (std::size_t r = 0; r < batch.rows; ++r)
              for (std::uint64_t i = batch.indptr[r]; i < batch.indptr[r + 1]; ++i)
                values[r * kColumns + batch.indices[i]] = batch.values[i];
          } else {
            values = batch.values;
          }
          CHECK(std::equal(values.begin(), values.end(), dense.begin() + static_cast<std::ptrdiff_t>(row * kColumns)));
          row += batch.rows;
        }
        CHECK(row == kRows);
      }
    }
  }
}

}  // namespace unweave
