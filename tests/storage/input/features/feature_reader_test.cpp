// tests/storage/input/features/feature_reader_test.cpp - dense and sparse feature matrices, good
// ones against plain arrays, bad ones with the place named.
#include "storage/input/features/feature_reader.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Table = std::vector<std::vector<double>>;

/// The whole matrix, densely, whatever the batches; checks the invariants of a batch.
Table read_matrix(FeatureReader& reader, std::size_t max_values) {
  Table matrix;
  FeatureBatch batch;
  while (reader.next(batch, max_values)) {
    REQUIRE(batch.first_row == matrix.size());
    REQUIRE(batch.rows >= 1);
    REQUIRE(batch.sparse == reader.sparse());
    if (batch.rows > 1) CHECK(batch.values.size() <= max_values);
    for (std::size_t r = 0; r < batch.rows; ++r) {
      std::vector<double> row(static_cast<std::size_t>(reader.columns()));
      if (!batch.sparse) {
        for (std::size_t c = 0; c < row.size(); ++c) row[c] = batch.values.at(r * row.size() + c);
      } else {
        for (std::size_t i = batch.indptr.at(r); i < batch.indptr.at(r + 1); ++i) {
          if (i > batch.indptr[r]) CHECK(batch.indices.at(i - 1) < batch.indices.at(i));
          row.at(batch.indices.at(i)) = batch.values.at(i);
        }
      }
      matrix.push_back(row);
    }
  }
  CHECK(matrix.size() == reader.rows());
  return matrix;
}

/// A CSR matrix as files: all three may be broken one by one.
struct Csr {
  std::vector<std::int64_t> indptr = {0, 2, 2, 5, 6};
  std::vector<std::int32_t> indices = {0, 3, 4, 1, 2, 4};  // row 2 unsorted
  std::vector<float> values = {1, -2, 3, 4, 5, 0.5F};

  static std::string shape_of(std::size_t size) { return "(" + std::to_string(size) + ",)"; }
  [[nodiscard]] std::string indptr_npy() const { return npy("<i8", shape_of(indptr.size()), indptr); }
  [[nodiscard]] std::string indices_npy() const { return npy("<i4", shape_of(indices.size()), indices); }
  [[nodiscard]] std::string values_npy() const { return npy("<f4", shape_of(values.size()), values); }
  [[nodiscard]] CsrFiles write(const TempDir& dir, bool with_values = true) const {
    CsrFiles files;
    files.indptr = {write_file(dir / "indptr.npy", indptr_npy()), ""};
    files.indices = {write_file(dir / "indices.npy", indices_npy()), ""};
    if (with_values) files.values = InputFile{write_file(dir / "values.npy", values_npy()), ""};
    return files;
  }
};

const Table kMatrix = {{1, 0, 0, -2, 0}, {0, 0, 0, 0, 0}, {0, 4, 5, 0, 3}, {0, 0, 0, 0, 0.5}};

std::string error_of(const Csr& csr, std::uint64_t columns = 5) {
  const TempDir dir;
  return message_of<InputError>([&] { read_matrix(*open_csr_features(csr.write(dir), columns), 3); });
}

std::string error_of_file(const std::filesystem::path& path) {
  return message_of<InputError>([&] { read_matrix(*open_features({path, ""}), 3); });
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("dense arrays of every number type, in batches of any size") {
    const TempDir dir;
    const Table expected = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
    const auto check = [&](const std::string& bytes) {
      for (const std::size_t max_values : {1, 3, 7, 1000}) {
        for (const bool gzip : {false, true}) {
          const auto path = write_file(dir / "x.npy", gzip ? gzipped(bytes) : bytes);
          const auto reader = open_features({path, ""});
          CHECK(reader->rows() == 4);
          CHECK(reader->columns() == 3);
          CHECK_FALSE(reader->sparse());
          CHECK(read_matrix(*reader, max_values) == expected);
        }
      }
    };
    check(npy<float>("<f4", "(4, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    check(npy<double>("<f8", "(4, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    check(npy<std::int16_t>("<i2", "(4, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    const std::string one = npy<float>("<f4", "(1, 2)", {5, 6});
    CHECK(read_matrix(*open_features({write_zip(dir / "x.npz", {{"anything.npy", one}}, true), ""}), 10) ==
          Table{{5, 6}});
    const auto two = write_zip(dir / "x.npz", {{"z.npy", "?"}, {"arr_0.npy", one}}, true);
    check_message(message_of<InputError>([&] {
                    (void)open_features({two, ""});
                  }),
                  {"x.npz", "z, arr_0", "name one array"});
    CHECK(read_matrix(*open_features({dir / "x.npz", "arr_0"}), 10) == Table{{5, 6}});
  }

  TEST_CASE("a dense batch larger than the pieces it is read in") {
    const TempDir dir;
    std::vector<float> values(300'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const auto path = write_file(dir / "x.npy", npy("<f4", "(1000, 300)", values));
    const Table matrix = read_matrix(*open_features({path, ""}), 250'000);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += matrix[i / 300][i % 300] == values[i] ? 0 : 1;
    CHECK(wrong == 0);
  }

  TEST_CASE("dense: what is wrong is named with row and column") {
    const TempDir dir;
    const auto path = dir / "x.npy";
    for (const double bad : {kNan, kInf, -kInf}) {
      write_file(path, npy<double>("<f8", "(3, 2)", {0, 1, 2, 3, 4, bad}));
      check_message(error_of_file(path), {"x.npy", "row 2, column 1", std::isnan(bad) ? "NaN" : "infinite"});
    }
    write_file(path, npy<float>("<f4", "(3, 2)", {0, 1, 2, static_cast<float>(kNan), 4, 5}));
    check_message(error_of_file(path), {"row 1, column 1", "NaN"});
    write_file(path, npy<float>("<f4", "(2, 2)", {0, 1, 2, 3}, true));
    check_message(error_of_file(path), {"Fortran", "ascontiguousarray"});
    write_file(path, npy<float>("<f4", "(4,)", {0, 1, 2, 3}));
    check_message(error_of_file(path), {"(4,)", "(N, F)"});
    write_file(path, npy<float>("<f4", "(0, 3)", {}));
    check_message(error_of_file(path), {"(0, 3)"});
    const std::string whole = npy<float>("<f4", "(3, 2)", {0, 1, 2, 3, 4, 5});
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write_file(path, whole.substr(0, length));
      check_message(error_of_file(path), {"x.npy"});
    }
    write_file(path, whole.substr(0, whole.size() - 5));
    check_message(error_of_file(path), {"element [2, 0]", "cut short"});
  }

  TEST_CASE("CSR in separate arrays: rows sorted, without values all ones, in batches of any size") {
    const TempDir dir;
    for (const std::size_t max_values : {1, 2, 3, 1000}) {
      const auto reader = open_csr_features(Csr().write(dir), 5);
      CHECK(reader->rows() == 4);
      CHECK(reader->columns() == 5);
      CHECK(reader->sparse());
      CHECK(read_matrix(*reader, max_values) == kMatrix);
      Table ones = kMatrix;
      for (auto& row : ones) {
        for (double& value : row) value = value != 0 ? 1 : 0;
      }
      CHECK(read_matrix(*open_csr_features(Csr().write(dir, false), 5), max_values) == ones);
    }
    Csr empty;
    empty.indptr = {0, 0, 0};
    empty.indices.clear();
    empty.values.clear();
    CHECK(read_matrix(*open_csr_features(empty.write(dir), 2), 10) == Table{{0, 0}, {0, 0}});
  }

  TEST_CASE("CSR in an archive: scipy's and Shchur's names, members in any order, stored or deflated") {
    const TempDir dir;
    const Csr csr;
    const std::string shape = npy<std::int64_t>("<i8", "(2,)", {4, 5});
    const std::string format = npy<char>("|S3", "()", {'c', 's', 'r'});
    for (const bool deflate : {false, true}) {
      auto path = write_zip(dir / "a.npz",
                            {{"format.npy", format},
                             {"shape.npy", shape},
                             {"data.npy", csr.values_npy()},
                             {"indptr.npy", csr.indptr_npy()},
                             {"indices.npy", csr.indices_npy()}},
                            deflate);
      CHECK(read_matrix(*open_features({path, ""}), 2) == kMatrix);
      path = write_zip(dir / "b.npz",
                       {{"adj_data.npy", "?"},
                        {"attr_indptr.npy", csr.indptr_npy()},
                        {"attr_data.npy", csr.values_npy()},
                        {"attr_indices.npy", csr.indices_npy()},
                        {"attr_shape.npy", shape},
                        {"labels.npy", "?"}},
                       deflate);
      CHECK(read_matrix(*open_features({path, ""}), 2) == kMatrix);
      path = write_zip(dir / "c.npz",
                       {{"format.npy", npy<char>("|S3", "()", {'c', 's', 'c'})},
                        {"shape.npy", shape},
                        {"data.npy", csr.values_npy()},
                        {"indptr.npy", csr.indptr_npy()},
                        {"indices.npy", csr.indices_npy()}},
                       deflate);
      check_message(error_of_file(path), {"c.npz", "'csc'", "tocsr"});
      path = write_zip(dir / "d.npz",
                       {{"shape.npy", npy<std::int64_t>("<i8", "(2,)", {7, 5})},
                        {"data.npy", csr.values_npy()},
                        {"indptr.npy", csr.indptr_npy()},
                        {"indices.npy", csr.indices_npy()}},
                       deflate);
      check_message(error_of_file(path), {"d.npz[shape]", "7 rows"});
    }
    const auto two = write_zip(dir / "e.npz", {{"a.npy", "?"}, {"b.npy", "?"}}, false);
    check_message(error_of_file(two), {"e.npz", "no CSR matrix", "name one array, as ", "e.npz[NAME]: it has a, b; "});
  }

  TEST_CASE("CSR: what is wrong is named with its place") {
    Csr csr;
    csr.indptr = {0, 2, 1, 5, 6};
    check_message(error_of(csr), {"indptr.npy", "element [2]", "runs backwards"});
    csr.indptr = {0, 2, -1, 5, 6};
    check_message(error_of(csr), {"indptr.npy", "element [2]", "-1", "runs backwards"});
    csr.indptr = {1, 2, 2, 5, 6};
    check_message(error_of(csr), {"indptr.npy", "element [0]", "not 0"});
    csr.indptr = {0, 2, 2, 5, 7};
    check_message(error_of(csr), {"indptr.npy", "element [4]", "past the last"});
    csr.indptr = {0, 2, 2, 5, 5};
    check_message(error_of(csr), {"indptr.npy", "element [4]", "5", "6 column indices"});
    csr = {};
    csr.indices[4] = 5;
    check_message(error_of(csr), {"indices.npy", "element [4]", "row 2", "column 5", "0..4"});
    csr.indices[4] = -1;
    check_message(error_of(csr), {"indices.npy", "element [4]", "row 2", "column -1"});
    csr.indices[4] = 4;
    check_message(error_of(csr), {"indices.npy", "row 2, column 4", "twice"});
    csr = {};
    for (const double bad : {kNan, kInf}) {
      csr.values[5] = static_cast<float>(bad);
      check_message(error_of(csr), {"values.npy", "row 3, column 4", "element [5]"});
    }
    csr = {};
    csr.values.push_back(1);
    check_message(error_of(csr), {"values.npy", "7 values for 6"});
    csr = {};
    csr.indptr = {0, 6};
    check_message(error_of(csr, 5), {"indptr.npy", "element [1]", "6 entries", "5 columns"});
    check_message(error_of(Csr(), 0), {"0 columns"});
    csr.indptr = {0};
    check_message(error_of(csr), {"0 rows"});
    csr.indptr = {};
    check_message(error_of(csr), {"indptr.npy", "(0,)"});
  }

  TEST_CASE("CSR: each file cut at any byte is an error") {
    const TempDir dir;
    const CsrFiles files = Csr().write(dir);
    for (const InputFile& file : {files.indptr, files.indices, *files.values}) {
      const std::string whole = read_all(file.path);
      for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        write_file(file.path, whole.substr(0, length));
        check_message(message_of<DataError>([&] { read_matrix(*open_csr_features(files, 5), 3); }),
                      {file.path.string()});
      }
      write_file(file.path, whole);
    }
  }

  TEST_CASE("text features: rows declared, columns of the first row, wrong lines named") {
    const TempDir dir;
    const auto path = dir / "x.csv.gz";
    const auto error = [&](const std::string& text, std::uint64_t rows) {
      write_file(path, gzipped(text));
      return message_of<InputError>([&] { read_matrix(*open_text_features({path, ""}, rows), 4); });
    };
    for (const std::size_t max_values : {1, 4, 100}) {
      write_file(path, gzipped("# head\n1,2.5\n-3e-2, 4\r\n5 6"));
      CHECK(read_matrix(*open_text_features({path, ""}, 3), max_values) == Table{{1, 2.5}, {-0.03F, 4}, {5, 6}});
      CHECK(read_matrix(*open_features({path, ""}, 3), max_values) == Table{{1, 2.5}, {-0.03F, 4}, {5, 6}});
    }
    check_message(message_of<InputError>([&] {
                    (void)open_features({path, ""});
                  }),
                  {"x.csv.gz", "not a .npy array", "give nodes=N"});
    std::vector<std::string> remarks;
    const InputFile headed{path, "", {}, [&](const std::string& sentence) { remarks.push_back(sentence); }};
    write_file(path, gzipped("\xef\xbb\xbfheight,\"width\"\n1,2\n3,4\n"));
    CHECK(read_matrix(*open_features(headed, 2), 4) == Table{{1, 2}, {3, 4}});
    REQUIRE(remarks.size() == 1);
    check_message(remarks[0], {"x.csv.gz", "line 1", "header", "height"});
    write_file(path, gzipped("PAR1\x15\x04"));
    for (const auto rows : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(3)})
      check_message(message_of<InputError>([&] {
                      (void)open_features({path, ""}, rows);
                    }),
                    {"Parquet", "to_numpy('float32')"});
    write_file(path, gzipped("3.4028234e38,1e-60\n"));
    CHECK(read_matrix(*open_text_features({path, ""}, 1), 4) == Table{{std::numeric_limits<float>::max(), 0}});
    check_message(error("1,2\n3\n", 2), {"x.csv.gz", "line 2", "wrong column count: 1 instead of 2"});
    check_message(error("1,2\n3,4,\n", 2), {"line 2", "wrong column count: 3 instead of 2"});
    check_message(error("1,2\n3,nan\n", 2), {"line 2, column 1", "NaN"});
    check_message(error("1,2\n3,inf\n", 2), {"line 2, column 1", "infinite"});
    check_message(error("1,2\n3,1e999\n", 2), {"line 2, column 1", "'1e999'"});
    check_message(error("1,2\n3,-1e39\n", 2), {"line 2, column 1", "'-1e39'", "float32"});
    check_message(error("1,2\n3,,4\n", 2), {"line 2, column 1", "''"});
    check_message(error("a,b\n1,2\n", 1), {"line 1, column 0", "'a'"});
    check_message(error("1,2\n", 2), {"after line 1", "1 of 2 rows"});
    check_message(error("1,2\n3,4\n", 1), {"line 2", "more than the 1 rows"});
    check_message(error("", 1), {"0 columns"});
  }
}
