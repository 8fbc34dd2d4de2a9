// tests/storage/codec/weight_groups_test.cpp - weights beside arcs: bytes, damage, and what they
// take.
#include "storage/codec/weight_groups.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "storage/codec/gap_block.h"
#include "storage/io/types.h"

namespace unweave {
namespace {

std::vector<std::byte> encoded(const std::vector<std::uint32_t>& weights) {
  std::vector<std::byte> bytes;
  encode_weights(weights, bytes);
  return bytes;
}

/// Bytes an arc of many weights.
template <class Draw>
double bytes_an_arc(const Draw& draw) {
  std::vector<std::uint32_t> weights(1 << 16);
  for (std::uint32_t& weight : weights) weight = draw();
  return static_cast<double>(encoded(weights).size()) / static_cast<double>(weights.size());
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("weights of any number come back, and say how many bytes they took") {
    std::mt19937 random(3);
    for (std::size_t count = 0; count < 70; ++count)
      for (const std::uint32_t most : {1U, 2U, 300U, kMostWeight}) {
        std::vector<std::uint32_t> weights(count), read(count);
        for (std::uint32_t& weight : weights) weight = static_cast<std::uint32_t>(1 + random() % most);
        std::vector<std::byte> bytes = encoded(weights);
        const std::size_t size = bytes.size();
        bytes.resize(size + 7, std::byte{0x55});  // what follows is not looked at
        CHECK(decode_weights(bytes, most, read) == size);
        CHECK(read == weights);
      }
    CHECK(encoded({1, 2, 1}) == std::vector<std::byte>{std::byte{1}, std::byte{2}});
  }

  TEST_CASE("cut bytes, shapes that are none and weights above the largest are errors") {
    std::vector<std::uint32_t> weights(40, 1), read(40);
    weights[7] = 65535;
    weights[33] = 200;
    const std::vector<std::byte> bytes = encoded(weights);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      CHECK_THROWS_AS(static_cast<void>(decode_weights(std::span(bytes).first(size), kMostWeight, read)), BlockError);
    CHECK_THROWS_AS(static_cast<void>(decode_weights(bytes, 65534, read)), BlockError);
    std::vector<std::byte> wrong = bytes;
    wrong[0] = std::byte{33};
    CHECK_THROWS_AS(static_cast<void>(decode_weights(wrong, kMostWeight, read)), BlockError);
  }

  TEST_CASE("weights take as many bytes an arc as their sizes need") {
    std::mt19937 random(5);
    std::geometric_distribution<std::uint32_t> mean_of_3(1.0 / 3);
    CHECK(bytes_an_arc([] { return 1U; }) == doctest::Approx(0.06).epsilon(0.05));
    CHECK(bytes_an_arc([&] { return 1 + mean_of_3(random); }) < 0.55);
    CHECK(bytes_an_arc([&] { return static_cast<std::uint32_t>(1 + random() % 256); }) < 1.07);
    CHECK(bytes_an_arc([&] { return static_cast<std::uint32_t>(1 + random() % 65535); }) < 2.1);
  }
}

}  // namespace unweave
