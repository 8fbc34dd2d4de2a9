// tests/storage/input/features/replay_features_test.cpp - marked rows against plain arrays, dense
// and sparse, in batches of any size; and the lines of requests.
#include "storage/input/features/replay_features.h"

#include <doctest/doctest.h>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kRows = 37, kColumns = 3;

double value(std::size_t row, std::size_t column) {
  return (row + column) % 2 == 0 ? 0 : static_cast<double>(1 + row * kColumns + column);
}

/// The matrix of value() as it lies in a file.
std::unique_ptr<FeatureReader> open(const TempDir& folder, bool sparse) {
  if (!sparse) {
    std::vector<double> values;
    for (std::size_t i = 0; i < kRows * kColumns; ++i) values.push_back(value(i / kColumns, i % kColumns));
    return open_features({write_file(folder / "x.npy", npy("<f8", "(37, 3)", values)), {}});
  }
  std::vector<std::int64_t> indptr{0}, indices;
  std::vector<double> values;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (value(r, c) == 0) continue;
      indices.push_back(static_cast<std::int64_t>(c));
      values.push_back(value(r, c));
    }
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const auto shape = [](std::size_t n) { return "(" + std::to_string(n) + ",)"; };
  return open_csr_features({{write_file(folder / "p.npy", npy("<i8", shape(indptr.size()), indptr)), {}},
                            {write_file(folder / "i.npy", npy("<i8", shape(indices.size()), indices)), {}},
                            InputFile{write_file(folder / "v.npy", npy("<f8", shape(values.size()), values)), {}}},
                           kColumns);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows get columns more, ones where they are marked") {
    const TempDir folder;
    const std::vector<NodeId> marked{0, 5, 6, 36};
    for (const bool sparse : {false, true})
      for (const std::size_t most : {std::size_t{1}, std::size_t{250}, std::size_t{100000}}) {
        CAPTURE(sparse);
        CAPTURE(most);
        const auto reader = mark_features(open(folder, sparse), marked);
        CHECK(reader->columns() == kColumns + kReplayColumns);
        CHECK(reader->rows() == kRows);
        CHECK(reader->sparse() == sparse);
        FeatureBatch batch;
        std::size_t row = 0;
        while (reader->next(batch, most)) {
          REQUIRE(batch.first_row == row);
          if (batch.rows > 1) CHECK(batch.values.size() <= most);
          for (std::size_t r = 0; r < batch.rows; ++r, ++row) {
            std::vector<double> found(kColumns + kReplayColumns, 0);
            if (sparse) {
              for (std::size_t i = batch.indptr[r]; i < batch.indptr[r + 1]; ++i)
                found.at(batch.indices[i]) = batch.values.at(i);
            } else {
              for (std::size_t c = 0; c < found.size(); ++c) found[c] = batch.values.at(r * found.size() + c);
            }
            const bool is_marked = std::find(marked.begin(), marked.end(), row) != marked.end();
            for (std::size_t c = 0; c < found.size(); ++c)
              CHECK(found[c] == (c < kColumns ? value(row, c) : is_marked ? 1 : 0));
          }
        }
        CHECK(row == kRows);
      }
  }

  TEST_CASE("columns that leave no room are refused") {
    const TempDir folder;
    const CsrFiles files{{write_file(folder / "p.npy", npy("<i8", "(2,)", std::vector<std::int64_t>{0, 0})), {}},
                         {write_file(folder / "i.npy", npy("<i8", "(0,)", std::vector<std::int64_t>{})), {}},
                         {}};
    CHECK(mark_features(open_csr_features(files, 4294967194), {0})->columns() == 4294967294);
    CHECK_THROWS_AS(mark_features(open_csr_features(files, 4294967195), {0}), UsageError);
  }

  TEST_CASE("a request's line reads as the request") {
    const TempDir folder;
    const std::vector<Request> requests{{RequestKind::remove_edge, 3, 4},
                                        {RequestKind::remove_node, 5, 0},
                                        {RequestKind::remove_feature, 6, 0},
                                        {RequestKind::insert_edge, 4294967295, 0}};
    std::string text;
    for (const Request& request : requests) text += text_of(request) + "\n";
    CHECK(text == "edge 3 4\nnode 5\nfeature 6\ninsert-edge 4294967295 0\n");
    RequestReader reader(write_file(folder / "r.txt", text));
    for (const Request& request : requests) {
      Request found;
      REQUIRE(reader.next(found));
      CHECK(found == request);
    }
  }

  TEST_CASE("a negative id and one above 64 bits are no requests, whose line is named") {
    const TempDir folder;
    Request found;
    for (const char* line : {"node -1", "edge 3 -4", "insert-edge -3 4", "feature -0", "node 18446744073709551616",
                             "edge 1 99999999999999999999"}) {
      CAPTURE(line);
      RequestReader reader(
          write_file(folder / "r.txt", "# a comment\nnode 18446744073709551615\n" + std::string(line)));
      REQUIRE(reader.next(found));
      CHECK(reader.number() == 2);
      CHECK_THROWS_WITH_AS(reader.next(found), doctest::Contains("r.txt: line 3: not a request: "), InputError);
    }
  }
}
