// tests/storage/npy/named_arrays_test.cpp - arrays with names, taken apart by readers that share no
// code with their writers.
#include "storage/npy/named_arrays.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/input/bytes/byte_source.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::Npy;
using testing::read_all;

const std::vector<double> kNamedNumbers{1, -2.5, 0.1, std::numeric_limits<double>::denorm_min(), -0.0, 1e300};
const std::vector<std::int64_t> kNamedClasses{0, 7};

std::vector<NamedArray> some_arrays() {
  return {named_array("weight", {2, 3}, kNamedNumbers), named_array("bias", {0}, std::vector<double>{}),
          named_array("classes_", {2}, kNamedClasses)};
}

std::string bytes_of_member(const fs::path& file, const std::string& name) {
  ByteSource source({file, name});
  return std::string(source.peek(1 << 16));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("an .npz holds each array as a member, bit for bit, and equal arrays give equal files") {
    const testing::TempDir dir;
    write_npz(dir / "a.npz", some_arrays());
    CHECK(npz_members(dir / "a.npz") == std::vector<std::string>{"weight", "bias", "classes_"});
    const auto weight = Npy<double>::of_bytes(bytes_of_member(dir / "a.npz", "weight"));
    CHECK(weight.header.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"));
    REQUIRE(weight.values.size() == kNamedNumbers.size());
    CHECK(std::memcmp(weight.values.data(), kNamedNumbers.data(), sizeof(double) * kNamedNumbers.size()) == 0);
    CHECK(Npy<double>::of_bytes(bytes_of_member(dir / "a.npz", "bias")).values.empty());
    const auto classes = Npy<std::int64_t>::of_bytes(bytes_of_member(dir / "a.npz", "classes_"));
    CHECK(classes.header.starts_with("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"));
    CHECK(classes.values == kNamedClasses);
    write_npz(dir / "b.npz", some_arrays());
    CHECK(read_all(dir / "a.npz") == read_all(dir / "b.npz"));
  }

  TEST_CASE("a .safetensors file is a length, a header in JSON, and the arrays at a multiple of eight bytes") {
    const testing::TempDir dir;
    write_safetensors(dir / "a.safetensors", some_arrays());
    const std::string bytes = read_all(dir / "a.safetensors");
    std::uint64_t length = 0;
    REQUIRE(bytes.size() > sizeof length);
    std::memcpy(&length, bytes.data(), sizeof length);
    REQUIRE(length % 8 == 0);
    const nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
    CHECK(header["weight"] == nlohmann::json{{"dtype", "F64"}, {"shape", {2, 3}}, {"data_offsets", {0, 48}}});
    CHECK(header["bias"] ==
          nlohmann::json{{"dtype", "F64"}, {"shape", nlohmann::json::array({0})}, {"data_offsets", {48, 48}}});
    CHECK(header["classes_"]["dtype"] == "I64");
    CHECK(header["classes_"]["data_offsets"] == nlohmann::json{48, 64});
    for (const auto& [key, value] : header["__metadata__"].items()) CHECK(value.is_string());  // as the format wants it
    REQUIRE(bytes.size() == 8 + length + 64);
    std::vector<double> numbers(6);
    std::memcpy(numbers.data(), bytes.data() + 8 + length, 48);
    CHECK(std::equal(numbers.begin(), numbers.end(), kNamedNumbers.begin()));
    CHECK(std::signbit(numbers[4]));
    CHECK(std::memcmp(bytes.data() + 8 + length + 48, kNamedClasses.data(), 16) == 0);
  }

  TEST_CASE("a file that cannot be written leaves what was there") {
    const testing::TempDir dir;
    fs::create_directory(dir / "folder.npz");
    CHECK_THROWS_AS(write_npz(dir / "folder.npz", some_arrays()), Error);
    CHECK_THROWS_AS(write_safetensors(dir / "none" / "a.safetensors", some_arrays()), Error);
    CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
  }
}

}  // namespace unweave
