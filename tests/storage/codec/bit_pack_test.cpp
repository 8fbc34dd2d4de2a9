// tests/storage/codec/bit_pack_test.cpp - groups of packed values, with and without patches,
// against FORMAT.md bit by bit.
#include "storage/codec/bit_pack.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <optional>
#include <random>
#include <vector>

#include "storage/codec/gap_block.h"
#include "support/vector_targets.h"

namespace unweave {
namespace {

using Bytes = std::vector<std::byte>;
using Values = std::vector<std::uint32_t>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// Not by insert(), about which g++ 12 warns in error.
Bytes joined(const Bytes& first, const Bytes& second) {
  Bytes bytes;
  bytes.reserve(first.size() + second.size());
  for (const Bytes* part : {&first, &second})
    for (const std::byte byte : *part) bytes.push_back(byte);
  return bytes;
}

/// Shape byte and group, by pack_group.
Bytes packed(const Values& values) {
  GroupValues group{};
  std::copy(values.begin(), values.end(), group.begin());
  Bytes rest;
  const std::byte shape = pack_group(group, values.size(), rest);
  return joined({shape}, rest);
}

void append_run(const Values& values, unsigned width, Bytes& out) {
  std::vector<bool> bits;
  for (const std::uint32_t value : values)
    for (unsigned bit = 0; bit < width; ++bit) bits.push_back((value >> bit & 1) != 0);
  for (std::size_t at = 0; at < bits.size(); ++at) {
    if (at % 8 == 0) out.push_back(std::byte{0});
    if (bits[at]) out.back() |= std::byte{1} << static_cast<int>(at % 8);
  }
}

/// The packed group that is found by trying every width, as FORMAT.md says.
Bytes packed_by_rule(const Values& values) {
  unsigned width = 0;
  for (const std::uint32_t value : values) width = std::max(width, static_cast<unsigned>(std::bit_width(value)));
  Bytes best{static_cast<std::byte>(width)};
  append_run(values, width, best);
  std::size_t most = (best.size() - 1) * 3 / 4;
  for (unsigned low = width; low-- > 0;) {
    Values high;
    unsigned mask = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] >> low == 0) continue;
      high.push_back(values[i] >> low);
      mask |= 1U << i;
    }
    Bytes bytes{static_cast<std::byte>(128 + low)};
    append_run(values, low, bytes);
    for (const unsigned byte : {width - low, mask % 256, mask / 256}) bytes.push_back(static_cast<std::byte>(byte));
    append_run(high, width - low, bytes);
    if (bytes.size() - 1 > most) continue;
    most = bytes.size() - 2;
    best = bytes;
  }
  return best;
}

/// Reads one group that has a byte before it and must end the bytes.
std::optional<Values> unpacked(const Bytes& group, std::size_t size) {
  const Bytes bytes = joined({std::byte{0xEE}}, group);
  Values values(size + 1, 77);
  std::size_t at = 1, end = 2;
  const bool valid = unpack_group(bytes, at, size, values.data());
  const bool skipped = !group.empty() && skip_group(bytes, end, size, std::to_integer<unsigned>(group[0]));
  CHECK(valid == skipped);
  CHECK(values.back() == 77);
  if (!valid) return std::nullopt;
  CHECK(at == bytes.size());
  CHECK(end == bytes.size());
  values.pop_back();
  return values;
}

/// Values of up to `bits` bits, some of them of up to `high`.
Values random_values(std::mt19937_64& random, std::size_t size, unsigned bits, unsigned high, unsigned percent) {
  Values values(size);
  for (std::uint32_t& value : values) {
    const unsigned own = random() % 100 < percent ? high : bits;
    value = static_cast<std::uint32_t>(random() % (std::uint64_t{1} << own));
  }
  return values;
}

std::optional<std::vector<NodeId>> decoded(const Bytes& bytes, std::uint32_t count, NodeId num_nodes) {
  std::vector<NodeId> ids(count + kDecodeSlack);
  try {
    decode_block(bytes, std::vector<std::uint32_t>{count}, num_nodes, ids.data());
  } catch (const BlockError&) {
    return std::nullopt;
  }
  ids.resize(count);
  return ids;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("groups have the bytes of the rule, and come back" * doctest::test_suite("slow")) {
    std::mt19937_64 random(3);
    int patched = 0, plain = 0;
    for (int round = 0; round < 20'000; ++round) {
      const std::size_t size = 1 + random() % kPackGroup;
      const auto high = static_cast<unsigned>(random() % 33);
      const auto low = static_cast<unsigned>(random() % (high + 1));
      const Values values = random_values(random, size, low, high, static_cast<unsigned>(random() % 60));
      const Bytes bytes = packed(values);
      REQUIRE(bytes == packed_by_rule(values));
      REQUIRE(unpacked(bytes, size) == values);
      (bytes[0] < std::byte{128} ? plain : patched) += 1;
      REQUIRE_FALSE(unpacked({bytes.begin(), bytes.end() - 1}, size).has_value());
    }
    CHECK(plain >= 1000);
    CHECK(patched >= 1000);
  }

  TEST_CASE("a group of nothing has no bytes but its shape") {
    CHECK(packed({}) == bytes_of({0}));
    CHECK(packed(Values(16)) == bytes_of({0}));
  }

  TEST_CASE("any bytes give an error or a group") {
    std::mt19937_64 random(5);
    int valid = 0;
    for (int round = 0; round < 20'000; ++round) {
      Bytes bytes(random() % 90);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      if (!bytes.empty()) bytes[0] &= std::byte{0xBF};
      Values values(kPackGroup);
      std::size_t at = 0;
      valid += unpack_group(bytes, at, 1 + random() % kPackGroup, values.data()) ? 1 : 0;
      CHECK(at <= bytes.size());
    }
    CHECK(valid >= 1000);
  }

  TEST_CASE("hostile patches") {
    // Gaps 1 and 1 + 3 * 2, the latter's high bits in the patch.
    const auto block = [](int shape, std::initializer_list<int> patch) {
      return joined(bytes_of({0, 7, 0, 0, 0, 0, shape, 3}), bytes_of(patch));
    };
    testing::for_each_target([&] {
      CHECK(decoded(block(0x81, {2, 2, 0, 3}), 3, 100) == std::vector<NodeId>{7, 9, 17});
      CHECK(decoded(block(0x81, {0, 0xFF, 0xFF}), 3, 100) == std::vector<NodeId>{7, 9, 11});  // bits of nothing
      CHECK_FALSE(decoded(block(0x81, {2, 2, 0, 3}), 3, 17));
      CHECK_FALSE(decoded(block(0x81, {2, 2, 0, 3, 0}), 3, 100));         // a byte too many
      CHECK_FALSE(decoded(block(0x81, {2, 2, 0}), 3, 100));               // no run
      CHECK_FALSE(decoded(block(0x81, {2, 2}), 3, 100));                  // no header
      CHECK_FALSE(decoded(block(0x81, {}), 3, 100));                      // no patch
      CHECK_FALSE(decoded(block(0x81, {32, 2, 0, 0, 0, 0, 0}), 3, 100));  // values of 33 bits
      CHECK_FALSE(decoded(block(0x81, {255, 0, 0}), 3, 100));
      CHECK_FALSE(decoded(block(0x81, {31, 2, 0, 0xFF, 0xFF, 0xFF, 0x7F}), 3, 0xFFFF'FFFF));  // a sum above 32 bits
    });
  }

  TEST_CASE("golden: the patched example of FORMAT.md, byte for byte") {
    const std::vector<std::uint32_t> counts{17};
    const std::vector<NodeId> list{5, 6, 7, 9, 10, 11, 12, 13, 1014, 1016, 1017, 1018, 1019, 1020, 1021, 1022, 1023};
    const Bytes expected =
        bytes_of({0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x81, 0x04, 0x01, 0x09, 0x80, 0x00, 0xf4, 0x01});
    Bytes bytes;
    encode_block(counts, list, bytes);
    CHECK(bytes == expected);
    CHECK(decoded(expected, 17, 1024) == list);
  }
}

}  // namespace unweave
