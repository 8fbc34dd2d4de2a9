// tests/storage/input/linear_model_test.cpp - weights of other programs: every shape that is taken,
// and what is refused and how.
#include "storage/input/linear_model.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::check_message;
using testing::npy;
using testing::write_file;
using testing::write_zip;
using WeightValues = std::vector<double>;

constexpr std::uint64_t kWeightRows = 3, kWidth = 4;

/// Weight j of class c, and its intercept for j = kWidth; every one another number that float32
/// has.
double weight_at(std::uint64_t c, std::uint64_t j) {
  return static_cast<double>(c * 10 + j) + 0.25;
}

/// An array of `rows` classes in the order of NumPy's shape (rows, columns) or its transpose.
template <class T = double>
std::string weight_array(std::uint64_t rows, std::uint64_t columns, bool transposed = false, bool fortran = false) {
  std::vector<T> values;
  const std::uint64_t outer = transposed != fortran ? columns : rows, inner = rows * columns / outer;
  for (std::uint64_t a = 0; a < outer; ++a)
    for (std::uint64_t b = 0; b < inner; ++b)
      values.push_back(static_cast<T>(outer == rows && transposed == fortran ? weight_at(a, b) : weight_at(b, a)));
  const std::string shape = transposed ? "(" + std::to_string(columns) + ", " + std::to_string(rows) + ")"
                                       : "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
  return npy(sizeof(T) == 4 ? "<f4" : "<f8", shape, values, fortran);
}

std::string array_of(const WeightValues& values, const std::string& shape = "") {
  return npy("<f8", shape.empty() ? "(" + std::to_string(values.size()) + ",)" : shape, values);
}

WeightValues coefficients(std::initializer_list<std::uint64_t> classes) {
  WeightValues out;
  for (const std::uint64_t c : classes)
    for (std::uint64_t j = 0; j < kWidth; ++j) out.push_back(weight_at(c, j));
  return out;
}

const WeightValues kThreeIntercepts{weight_at(0, kWidth), weight_at(1, kWidth), weight_at(2, kWidth)};

struct WeightFiles {
  testing::TempDir dir;
  LinearShape shape{kWeightRows, kWidth};

  [[nodiscard]] LinearModel read(const std::string& bytes, const std::string& name = "W.npy") const {
    return read_linear_model(write_file(dir / name, bytes), shape);
  }
  [[nodiscard]] LinearModel read_zip(const std::vector<std::pair<std::string, std::string>>& members,
                                     bool deflate = false) const {
    return read_linear_model(write_zip(dir / "W.npz", members, deflate), shape);
  }
  /// Refused with a message of one line that names the file and these parts, and a remedy behind a
  /// semicolon.
  template <class Read>
  void refused(const Read& read, std::vector<std::string> parts) const {
    const std::string message = testing::message_of<DataError>(read);
    parts.insert(parts.end(), {"W.", "; "});
    check_message(message, parts);
  }
  void refused_bytes(const std::string& bytes, const std::vector<std::string>& parts,
                     const std::string& name = "W.npy") const {
    refused([&] { static_cast<void>(read(bytes, name)); }, parts);
  }
};

/// A .safetensors file with this header.
std::string tensor_file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

std::string raw_bytes_of(const WeightValues& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a .npy of weights is read in every shape, order and type that fits alone") {
    const WeightFiles files;
    for (const bool transposed : {false, true})
      for (const bool fortran : {false, true})
        for (const bool intercepts : {false, true}) {
          CAPTURE(transposed);
          CAPTURE(fortran);
          CAPTURE(intercepts);
          const std::uint64_t columns = kWidth + (intercepts ? 1 : 0);
          for (const std::string& bytes : {weight_array<double>(kWeightRows, columns, transposed, fortran),
                                           weight_array<float>(kWeightRows, columns, transposed, fortran)}) {
            const LinearModel read = files.read(bytes);
            CHECK(read.coefficients == coefficients({0, 1, 2}));
            CHECK(read.intercepts == (intercepts ? kThreeIntercepts : WeightValues()));
            CHECK(read.missing.empty());
            CHECK_FALSE(read.one_row);
            CHECK((read.form.find("transposed") != std::string::npos) == transposed);
          }
        }
    // Compressed as any file of a user's may be.
    CHECK(files.read(testing::gzipped(weight_array(3, 4)), "W.npy.gz").coefficients == coefficients({0, 1, 2}));
  }

  TEST_CASE("intercepts may lie in a file of their own") {
    const WeightFiles files;
    const fs::path weights = write_file(files.dir / "W.npy", weight_array(3, 4));
    for (const char* shape : {"(3,)", "(3, 1)", "(1, 3)"}) {
      const fs::path beside = write_file(files.dir / "W.b.npy", array_of(kThreeIntercepts, shape));
      CHECK(read_linear_model(weights, files.shape, beside).intercepts == kThreeIntercepts);
    }
    CHECK(read_linear_model(weights, files.shape, write_file(files.dir / "W.b.npy", array_of({0}, "()")))
              .intercepts.empty());
    const auto with = [&](const std::string& bytes) {
      return [&files, &weights, bytes] {
        static_cast<void>(read_linear_model(weights, files.shape, write_file(files.dir / "W.b.npy", bytes)));
      };
    };
    files.refused(with(array_of({1, 2})), {"W.b.npy", "shape (2,)", "3 intercepts"});
    files.refused(with(array_of({5})), {"W.b.npy", "one intercept that is not 0"});
    files.refused(with(array_of({1, 2, std::numeric_limits<double>::infinity()})), {"W.b.npy", "element 2"});
    // Beside weights that have them already, an array with a column more is another shape.
    write_file(weights, weight_array(3, 5));
    files.refused(with(array_of(kThreeIntercepts)), {"shape (3, 5)"});
  }

  TEST_CASE("an .npz is read by names, which also say which classes its rows are") {
    const WeightFiles files;
    for (const auto& [weights, intercepts] :
         {std::pair{"coef_", "intercept_"}, {"coef", "intercept"}, {"weight", "bias"}})
      for (const bool deflate : {false, true}) {
        const LinearModel read = files.read_zip({{weights + std::string(".npy"), weight_array(3, 4)},
                                                 {intercepts + std::string(".npy"), array_of(kThreeIntercepts)}},
                                                deflate);
        CHECK(read.coefficients == coefficients({0, 1, 2}));
        CHECK(read.intercepts == kThreeIntercepts);
      }
    CHECK(
        files.read_zip({{"coef.npy", weight_array(3, 4)}, {"intercept.npy", array_of({0}, "()")}}).intercepts.empty());

    const std::vector<std::int64_t> two{2, 0};
    const LinearModel some = files.read_zip({{"coef.npy", weight_array(2, 4)},
                                             {"intercept.npy", array_of({weight_at(0, kWidth), weight_at(1, kWidth)})},
                                             {"classes.npy", npy("<i8", "(2,)", two)}});
    CHECK(some.missing == std::vector<std::uint64_t>{1});
    WeightValues wanted = coefficients({1, 0, 0});
    std::fill(wanted.begin() + 4, wanted.begin() + 8, 0);
    CHECK(some.coefficients == wanted);
    CHECK(some.intercepts == WeightValues{weight_at(1, kWidth), 0, weight_at(0, kWidth)});
  }

  TEST_CASE("with two classes a single row speaks for class 1") {
    WeightFiles files;
    files.shape = {2, 4};
    WeightValues wanted(8);
    for (std::uint64_t j = 0; j < 4; ++j) wanted[4 + j] = weight_at(0, j);
    const std::vector<std::int64_t> both{0, 1};
    for (const LinearModel& read :
         {files.read(weight_array(1, 4)), files.read(weight_array(1, 4, true)),
          files.read_zip({{"coef_.npy", weight_array(1, 4)}, {"classes_.npy", npy("<i8", "(2,)", both)}}),
          files.read(tensor_file(R"({"weight":{"dtype":"F64","shape":[1,4],"data_offsets":[0,32]}})",
                                 raw_bytes_of(coefficients({0}))),
                     "W.safetensors")}) {
      CHECK(read.one_row);
      CHECK(read.coefficients == wanted);
      CHECK(read.missing.empty());
    }
    CHECK(files.read(weight_array(1, 5)).intercepts == WeightValues{0, weight_at(0, 4)});
    // A file that names one class alone has one row of it, and nothing of the other.
    const LinearModel one = files.read_zip(
        {{"coef.npy", weight_array(1, 4)}, {"classes.npy", npy("<i8", "(1,)", std::vector<std::int64_t>{0})}});
    CHECK_FALSE(one.one_row);
    CHECK(one.missing == std::vector<std::uint64_t>{1});
  }

  TEST_CASE("tensors are read by names, in any order and of two types") {
    const WeightFiles files;
    const std::string bias = raw_bytes_of(kThreeIntercepts), weights = raw_bytes_of(coefficients({0, 1, 2}));
    const LinearModel read = files.read(
        tensor_file(R"({"__metadata__":{"format":"pt"},"bias":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},)"
                    R"("weight":{"dtype":"F64","shape":[3,4],"data_offsets":[24,120]}}   )",
                    bias + weights),
        "W.safetensors");
    CHECK(read.coefficients == coefficients({0, 1, 2}));
    CHECK(read.intercepts == kThreeIntercepts);
    std::string singles;
    for (const double x : coefficients({0, 1, 2})) {
      const auto single = static_cast<float>(x);
      singles.append(reinterpret_cast<const char*>(&single), sizeof single);
    }
    const LinearModel narrow = files.read(
        tensor_file(R"({"weight":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}})", singles), "W.safetensors");
    CHECK(narrow.coefficients == coefficients({0, 1, 2}));
    CHECK(narrow.intercepts.empty());
  }

  TEST_CASE("weights of another number of classes are refused with both numbers") {
    const WeightFiles files;  // three classes
    const std::vector<std::string> two{"tells 2 classes apart, and the store has 3", "labels of all 3 classes"};
    for (const auto& [rows, columns] : {std::pair{1, 4}, {1, 5}, {4, 1}, {5, 1}})
      files.refused_bytes(weight_array(rows, columns), two);
    files.refused_bytes(npy("<f8", "(4,)", WeightValues(4)), two);
    files.refused_bytes(tensor_file(R"({"weight":{"dtype":"F64","shape":[1,4],"data_offsets":[0,32]}})",
                                    raw_bytes_of(coefficients({0}))),
                        two, "W.safetensors");
    const std::vector<std::int64_t> both{0, 2};
    files.refused([&] { static_cast<void>(files.read_zip({{"coef_.npy", weight_array(1, 4)}})); }, two);
    files.refused(
        [&] {
          static_cast<void>(
              files.read_zip({{"coef_.npy", weight_array(1, 4)}, {"classes_.npy", npy("<i8", "(2,)", both)}}));
        },
        two);
    // Two rows may say which classes they are; there are no classes for seven.
    for (const auto& [rows, columns] : {std::pair{2, 4}, {2, 5}, {5, 2}})
      files.refused_bytes(weight_array(rows, columns),
                          {"weights of 2 classes, and the store has 3", "classes=clf.classes_"});
    const std::string many = testing::message_of<DataError>([&] { static_cast<void>(files.read(weight_array(7, 4))); });
    CHECK(many.find("weights of 7 classes, and the store has 3") != std::string::npos);
    CHECK(many.find("savez") == std::string::npos);
  }

  TEST_CASE("a shape that may be read in two ways is refused, and names settle it") {
    WeightFiles files;
    files.shape = {4, 4};
    files.refused_bytes(weight_array(4, 4), {"shape (4, 4)", "or its transpose", "numpy.savez"});
    CHECK(files.read_zip({{"coef.npy", weight_array(4, 4)}}).coefficients == coefficients({0, 1, 2, 3}));
    files.shape = {5, 4};
    files.refused_bytes(weight_array(5, 5), {"shape (5, 5)", "or its transpose"});
    CHECK(files.read(weight_array(5, 4)).coefficients == coefficients({0, 1, 2, 3, 4}));
  }

  TEST_CASE("a wrong shape, type or number is refused with file, place and remedy") {
    const WeightFiles files;
    for (const std::string shape : {"(3, 3)", "(12,)", "(1, 3, 4)", "(2, 4)", "(3, 6)", "()"}) {
      CAPTURE(shape);
      files.refused_bytes(npy("<f8", shape, WeightValues(12)), {"shape " + shape, "3 x 4"});
    }
    files.refused_bytes(npy("<i8", "(3, 4)", std::vector<std::int64_t>(12)), {"float32 or float64"});
    files.refused_bytes(npy("<f2", "(3, 4)", std::vector<std::int16_t>(12)), {"float32 or float64"});
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(), 1.1e15}) {
      WeightValues values(12);
      values[7] = bad;
      files.refused_bytes(npy("<f8", "(3, 4)", values), {"row 1, column 3"});
      files.refused_bytes(npy("<f8", "(4, 3)", values), {"row 2, column 1"});
    }
    WeightValues largest(12, kLargestWeight);
    CHECK(files.read(npy("<f8", "(3, 4)", largest)).coefficients == largest);
  }

  TEST_CASE("damaged arrays are refused, and none is believed before its numbers are there") {
    const WeightFiles files;
    const std::string whole = weight_array(3, 4);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      CHECK_THROWS_AS(static_cast<void>(files.read(whole.substr(0, length))), DataError);
    }
    files.refused_bytes(whole.substr(0, whole.size() - 4), {"cut short", "element [2, 3]"});
    files.refused_bytes(whole + "x", {"goes on"});
    files.refused_bytes(npy("<f8", "(3000000000, 4000000000)", WeightValues(2)), {"too large"});
    files.refused_bytes(npy("<f8", "(30000000, 40000000)", WeightValues(2)), {"shape (30000000, 40000000)"});
    files.refused_bytes(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12) + whole, {"64 KiB"});
    files.refused_bytes("\x80\x04pickle", {"not a .npy array"});
    CHECK_THROWS_AS(static_cast<void>(read_linear_model(files.dir / "none.npy", files.shape)), DataError);
  }

  TEST_CASE("damaged and strange archives are refused") {
    const WeightFiles files;
    const auto zip = [&](const std::vector<std::pair<std::string, std::string>>& members,
                         const std::vector<std::string>& parts) {
      files.refused([&] { static_cast<void>(files.read_zip(members)); }, parts);
    };
    zip({{"w.npy", weight_array(3, 4)}, {"b.npy", weight_array(3, 4)}}, {"no array coef, but w, b", "scikit-learn"});
    zip({{"coef.npy", weight_array(3, 5)}}, {"W.npz[coef]", "shape (3, 5)", "3 x 4"});
    zip({{"coef.npy", weight_array(4, 3)}}, {"shape (4, 3)"});
    zip({{"coef.npy", weight_array(3, 4)}, {"intercept.npy", array_of({1, 2})}}, {"W.npz[intercept]", "shape (2,)"});
    zip({{"coef.npy", weight_array(3, 4)}, {"intercept.npy", array_of({3})}}, {"not 0"});
    zip({{"coef.npy", weight_array(2, 4)}}, {"classes=clf.classes_"});
    const auto classes = [](const std::vector<std::int64_t>& values, const std::string& shape) {
      return std::pair{std::string("classes.npy"), npy("<i8", shape, values)};
    };
    zip({{"coef.npy", weight_array(2, 4)}, classes({1, 1}, "(2,)")}, {"W.npz[classes]", "element 1", "twice"});
    zip({{"coef.npy", weight_array(2, 4)}, classes({0, 3}, "(2,)")}, {"element 1", "0 to 2"});
    zip({{"coef.npy", weight_array(2, 4)}, classes({-1, 1}, "(2,)")}, {"element 0"});
    zip({{"coef.npy", weight_array(2, 4)}, classes({0}, "(1,)")}, {"shape (2, 4)", "1 x 4"});
    zip({{"coef.npy", weight_array(2, 4)}, classes({0, 1, 2, 3}, "(4,)")}, {"at most 3 classes"});
    zip({{"coef.npy", weight_array(2, 4)}, {"classes.npy", array_of({0, 1})}}, {"classes must be integers"});
    zip({{"coef.npy", weight_array(2, 4)}, {"classes.npy", npy("<U1", "(2,)", std::vector<std::uint32_t>{'a', 'b'})}},
        {"names of classes", "names.index(name) for name in clf.classes_", "in the order"});
    zip({{"coef.npy", "text"}}, {"W.npz[coef]"});
    // What another program may read in the place of what was checked here.
    zip({{"coef_.npy", weight_array(3, 4)}, {"coef_.npy", weight_array(3, 4)}}, {"two entries of the name coef_"});
    zip({{"coef_.npy", weight_array(3, 4)}, {"coef_", weight_array(3, 4)}}, {"two entries of the name coef_"});
    zip({{"coef_.npy", weight_array(3, 4)}, {"coef.npy", weight_array(3, 4)}}, {"array coef", "with coef_ alone"});
    zip({{"coef_.npy", weight_array(3, 4)}, {"bias.npy", array_of(kThreeIntercepts)}, {"n_iter_.npy", array_of({1})}},
        {"array n_iter_", "with coef_, bias alone"});
    const std::string whole =
        testing::read_all(write_zip(files.dir / "W.npz", {{"coef.npy", weight_array(3, 4)}}, false));
    for (const std::size_t length : {5, 60, 200})
      files.refused_bytes(whole.substr(0, length), {"zip archive"}, "W.npz");
    const fs::path beside = write_file(files.dir / "b.npy", array_of(kThreeIntercepts));
    write_file(files.dir / "W.npz", whole);
    CHECK_THROWS_AS(static_cast<void>(read_linear_model(files.dir / "W.npz", files.shape, beside)), UsageError);
  }

  TEST_CASE("damaged and strange tensors are refused") {
    const WeightFiles files;
    const std::string data = raw_bytes_of(coefficients({0, 1, 2}));
    const auto refused = [&](const std::string& bytes, const std::vector<std::string>& parts) {
      files.refused_bytes(bytes, parts, "W.safetensors");
    };
    const auto weight_of = [&](const std::string& tensor) { return tensor_file("{\"weight\":" + tensor + "}", data); };
    const std::string whole = weight_of(R"({"dtype":"F64","shape":[3,4],"data_offsets":[0,96]})");
    CHECK(files.read(whole, "W.safetensors").coefficients == coefficients({0, 1, 2}));
    for (std::size_t length = 0; length < whole.size(); ++length)
      CHECK_THROWS_AS(static_cast<void>(files.read(whole.substr(0, length), "W.safetensors")), DataError);
    refused(std::string(8, '\xff') + whole, {"byte 0", "64 KiB"});
    refused(tensor_file(std::string(60000, '['), ""), {"header", "too deeply"});
    refused(tensor_file("{", ""), {"header", "JSON"});
    refused(tensor_file("[1]", ""), {"header"});
    refused(tensor_file("{}", ""), {"no tensor weight"});
    refused(weight_of("3"), {"tensor weight"});
    refused(weight_of(R"({"dtype":"F16","shape":[3,4],"data_offsets":[0,96]})"), {"F16", "F32 or F64"});
    refused(weight_of(R"({"dtype":"F64","shape":[4,3],"data_offsets":[0,96]})"), {"its shape", "3 x 4"});
    refused(weight_of(R"({"dtype":"F64","shape":[3,-4],"data_offsets":[0,96]})"), {"tensor weight", "-4"});
    refused(weight_of(R"({"dtype":"F64","shape":[3,4],"data_offsets":[0,95]})"), {"data_offsets"});
    refused(weight_of(R"({"dtype":"F64","shape":[3,4],"data_offsets":[96,0]})"), {"data_offsets"});
    refused(weight_of(R"({"dtype":"F64","shape":[3,4],"data_offsets":[4611686018427387904,4611686018427388000]})"),
            {"data_offsets"});
    refused(weight_of(R"({"dtype":"F64","shape":[3,4],"data_offsets":[1000000,1000096]})"), {"data_offsets"});
    refused(whole.substr(0, whole.size() - 1), {"cut short"});
    refused(tensor_file(R"({"bias":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},)"
                        R"("weight":{"dtype":"F64","shape":[3,4],"data_offsets":[16,112]}})",
                        data + data),
            {"tensor weight", "data_offsets"});
    // What another program may read in the place of what was checked here.
    const std::string weight = R"("weight":{"dtype":"F64","shape":[3,4],"data_offsets":[0,96]})";
    refused(
        tensor_file("{" + weight + R"(,"weight":{"dtype":"F64","shape":[3,4],"data_offsets":[96,192]}})", data + data),
        {"header", "stands there twice"});
    refused(
        tensor_file("{" + weight + R"(,"coef":{"dtype":"F64","shape":[3,4],"data_offsets":[96,192]}})", data + data),
        {"tensor coef", "another program"});
    refused(whole + "x", {"byte 96", "no tensor"});
    refused(tensor_file(R"({"bias":{"dtype":"F64","shape":[4],"data_offsets":[96,128]},)"
                        R"("weight":{"dtype":"F64","shape":[3,4],"data_offsets":[0,96]}})",
                        data + data),
            {"tensor bias", "(3,)"});
  }
}

}  // namespace unweave
