// tests/storage/input/edges/edge_weights_test.cpp - weights of edges in every format, and every way
// in which one can be wrong.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "storage/input/edges/edge_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using Weights = std::vector<std::uint32_t>;

struct Weighted {
  std::vector<Edge> edges;
  Weights weights;
  friend bool operator==(const Weighted&, const Weighted&) = default;
};

Weighted read_weighted(const InputFile& file, std::uint32_t most = 9, const std::optional<InputFile>& beside = {},
                       std::size_t piece = 3) {
  EdgeOptions options;
  options.max_weight = most;
  options.weights = beside;
  const auto reader = open_edges(file, options);
  Weighted all;
  std::vector<Edge> edges(piece);
  Weights weights(piece);
  while (const std::size_t count = reader->read(edges, weights)) {
    all.edges.insert(all.edges.end(), edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(count));
    all.weights.insert(all.weights.end(), weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

const Weighted kThree{{{0, 1}, {7, 2}, {1, 5}}, {3, 1, 9}};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("weights in text: a third number, or NetworkX's attribute") {
    const TempDir dir;
    for (const char* const text :
         {"0 1 3\n7 2 1\n1 5 9\n", "0\t1\t3\r\n7,2,1\n# 1\n\n 1 5 9.0\n", "0 1 3.0\n7 2 1e0\n1 5 9",
          "0 1 {'weight': 3}\n7 2 {'weight': 1.0}\n1 5 {'weight': 9} \n", "0 1 {'weight': 3}\n7 2 1\n1 5 9\n"})
      for (const std::size_t piece : {1, 2, 100}) {
        CAPTURE(text);
        CHECK(read_weighted({write_file(dir / "e.txt", text), ""}, 9, {}, piece) == kThree);
      }
    // Through the buffers, plain lines between others.
    std::string text;
    Weighted many;
    for (std::uint32_t i = 0; i < 200'000; ++i) {
      many.edges.push_back({i * 7 % 100'000, i});
      many.weights.push_back(1 + i % 60'000);
      text += std::to_string(many.edges.back().u) + (i % 11 == 0 ? ", " : " ") + std::to_string(i) + " " +
              std::to_string(many.weights.back()) + (i % 13 == 0 ? " \n" : "\n");
    }
    CHECK(read_weighted({write_file(dir / "many.txt", text), ""}, 65535, {}, 1000) == many);
    const auto wrong = [&](const std::string& last, const std::vector<std::string>& parts) {
      CAPTURE(last);
      write_file(dir / "w.txt", "0 1 3\n" + last + "\n");
      const std::string message = message_of<InputError>([&] { read_weighted({dir / "w.txt", ""}); });
      check_message(message, {"w.txt", "line 2"});
      check_message(message, parts);
    };
    wrong("0 1", {"no weight", "third number"});
    wrong("0 1 {}", {"no weight", "{'weight': W}"});
    wrong("0 1 {'weight': x, 'b': 1}", {"no weight"});
    wrong("0 1 10", {"weight 10", "declare a larger"});
    wrong("0 1 -3", {"weight -3", "negative", "w.txt[0,1]"});
    wrong("0 1 2.5", {"weight 2.5", "ignore-weights"});
    wrong("0 1 nan", {"weight nan", "finite"});
    wrong("0 1 inf", {"weight inf", "finite"});
    wrong("0 1 99999999999", {"weight 99999999999"});
    wrong("0 1 x", {"0 1 x"});
    wrong("0 1 2 3", {"wrong column count", "instead of 3"});
  }

  TEST_CASE("weights of matrices and of METIS") {
    const TempDir dir;
    const std::string banner = "%%MatrixMarket matrix coordinate integer general\n";
    const std::string entries = "8 8 3\n1 2 3\n8 3 1\n2 6 9\n";
    CHECK(read_weighted({write_file(dir / "a.mtx", banner + entries), ""}) == kThree);
    CHECK(read_weighted({write_file(dir / "r.mtx", "%%MatrixMarket matrix coordinate real symmetric\n" + entries),
                         ""}) == kThree);
    const auto wrong = [&](const std::string& name, const std::string& text, const std::vector<std::string>& parts) {
      write_file(dir / name, text);
      check_message(message_of<InputError>([&] { read_weighted({dir / name, ""}); }), parts);
    };
    wrong("b.mtx", banner + "8 8 1\n1 2 10\n", {"line 3", "weight 10"});
    wrong("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n8 8 1\n1 2\n", {"no weight"});
    const Weighted path{{{0, 1}, {1, 0}, {1, 2}, {2, 1}}, {9, 9, 4, 4}};
    CHECK(read_weighted({write_file(dir / "w.metis", "3 2 1\n2 9\n1 9 3 4\n2 4\n"), ""}) == path);
    wrong("w.metis", "3 2\n2\n1 3\n2\n", {"line 1", "no weight"});
    wrong("w.metis", "3 2 11\n1 2 9\n1 1 9 3 4\n1 2 4\n", {"line 1", "weights of nodes"});
    wrong("w.metis", "3 2 1\n2 10\n1 10 3 4\n2 4\n", {"line 2", "weight 10"});
  }

  TEST_CASE(
      "a weight of 0 is no edge, whatever the format and the option; NaN, infinities and negative ones are errors") {
    const TempDir dir;
    using Ids = std::vector<std::int64_t>;
    const auto weights = [&](double value) {
      return InputFile{write_file(dir / "w.npy", npy("<f8", "(3,)", std::vector<double>{1, value, 1})), {}};
    };
    const auto file = [&](const char* name, const std::string& text) {
      return InputFile{write_file(dir / name, text), {}};
    };
    const auto inputs = [&](const std::string& value) {
      return std::vector<InputFile>{
          file("e.txt", "5 1 1\n7 2 " + value + "\n1 5 1\n"),
          file("a.txt", "5 1 {'weight': 1}\n7 2 {'since': 2, 'weight': " + value + "}\n1 5 {'weight': 1}\n"),
          file("m.mtx", "%%MatrixMarket matrix coordinate real general\n8 8 3\n6 2 1\n8 3 " + value + "\n2 6 1\n"),
          file("p.npy", npy("<i8", "(3, 2)", Ids{5, 1, 7, 2, 1, 5}))};
    };
    const auto read = [&](const InputFile& input, double value, bool ignore, std::uint32_t most, std::size_t piece) {
      EdgeOptions options;
      options.ignore_weights = ignore;
      options.max_weight = most;
      if (input.path.extension() == ".npy") options.weights = weights(value);
      const auto reader = open_edges(input, options);
      std::vector<Edge> edges(piece), all;
      std::vector<std::uint32_t> some(most > 1 ? piece : 0);
      while (const std::size_t count = reader->read(edges, some))
        all.insert(all.end(), edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(count));
      CHECK(reader->left_out().zeros == 1);
      CHECK(reader->left_out().ignored == 0);
      return all;
    };
    const std::vector<Edge> two{{5, 1}, {1, 5}};
    for (const InputFile& input : inputs("0"))
      for (const std::size_t piece : {1, 9}) {
        CAPTURE(input.path);
        CHECK(read(input, 0, true, 1, piece) == two);
        CHECK(read(input, 0, false, 9, piece) == two);
      }
    CHECK(read(inputs("0.0")[2], 0, false, 1, 1) == two);  // a matrix whose other values are 1 has no weights
    for (const double value : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (const InputFile& input : inputs(value < 0 ? "-1" : value > 1 ? "inf" : "nan"))
        for (const bool ignore : {true, false}) {
          CAPTURE(input.path);
          check_message(message_of<InputError>([&] { read(input, value, ignore, ignore ? 1 : 9, 9); }), {"weight"});
        }
    const InputFile metis{write_file(dir / "z.metis", "3 2 1\n2 0\n1 0 3 4\n2 4\n"), {}};
    for (const bool ignore : {true, false}) {
      EdgeOptions options;
      options.ignore_weights = ignore;
      options.max_weight = ignore ? 1 : 9;
      const auto reader = open_edges(metis, options);
      std::vector<Edge> edges(9);
      std::vector<std::uint32_t> some(ignore ? 0 : 9);
      CHECK(reader->read(edges, some) == 2);
      CHECK(reader->left_out().zeros == 2);
      CHECK(reader->read(edges, some) == 0);
    }
  }

  TEST_CASE("weights of arrays and archives") {
    const TempDir dir;
    using Ids = std::vector<std::int64_t>;
    const std::string pairs = npy("<i8", "(3, 2)", Ids{0, 1, 7, 2, 1, 5}),
                      rows = npy("<i8", "(2, 3)", Ids{0, 7, 1, 1, 2, 5});
    const InputFile beside{write_file(dir / "w.npy", npy("<u2", "(3,)", std::vector<std::uint16_t>{3, 1, 9})), ""};
    const InputFile reals{write_file(dir / "f.npy", npy("<f4", "(3,)", std::vector<float>{3, 1, 9})), ""};
    const InputFile edges{write_file(dir / "e.npy", pairs), ""};
    for (const InputFile& weights : {beside, reals})
      for (const std::size_t piece : {1, 2, 100}) {
        CHECK(read_weighted(edges, 9, weights, piece) == kThree);
        CHECK(read_weighted({write_file(dir / "r.npy", rows), ""}, 9, weights, piece) == kThree);
      }
    const std::string column = npy("<i4", "(3,)", std::vector<std::int32_t>{3, 1, 9});
    CHECK(read_weighted(
              {write_zip(dir / "g.npz", {{"edge_index.npy", rows}, {"edge_weight.npy", column}}, true), ""}) == kThree);
    const auto ids = [](const std::vector<std::int32_t>& values) {
      return npy("<i4", "(" + std::to_string(values.size()) + ",)", values);
    };
    const InputFile matrix{write_zip(dir / "m.npz",
                                     {{"row.npy", ids({0, 7, 1})},
                                      {"col.npy", ids({1, 2, 5})},
                                      {"data.npy", column},
                                      {"shape.npy", ids({8, 8})}},
                                     true),
                           ""};
    CHECK(read_weighted(matrix) == kThree);
    CHECK_THROWS_AS(read_weighted(matrix, 9, beside), UsageError);
    CHECK_THROWS_AS(read_weighted({write_file(dir / "e.txt", "0 1 3\n"), ""}, 9, beside), UsageError);
    check_message(message_of<InputError>([&] { read_weighted(matrix, 8); }), {"data", "element [2]", "weight 9"});
    check_message(message_of<InputError>([&] { read_weighted(edges); }), {"e.npy", "no weight", "edge-weights"});
    check_message(message_of<InputError>([&] { read_weighted(edges, 8, beside); }),
                  {"w.npy", "element [2]", "weight 9"});
    const InputFile two{write_file(dir / "two.npy", npy("<i8", "(2,)", Ids{3, 1})), ""};
    check_message(message_of<InputError>([&] { read_weighted(edges, 9, two); }), {"two.npy", "(2,)", "3 edges"});
  }
}
