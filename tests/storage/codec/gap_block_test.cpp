// tests/storage/codec/gap_block_test.cpp - adjacency blocks against a decoder that shares no code
// with the codec.
#include "storage/codec/gap_block.h"

#include <doctest/doctest.h>
#include <zstd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/vector_targets.h"

using unweave::BlockError;
using unweave::NodeId;

namespace {

using unweave::testing::for_each_target;

using Ids = std::vector<NodeId>;
using Counts = std::vector<std::uint32_t>;
using Bytes = std::vector<std::byte>;

struct Block {
  std::string name;
  NodeId num_nodes;
  std::vector<Ids> lists;

  [[nodiscard]] Counts counts() const {
    Counts result;
    for (const Ids& list : lists) result.push_back(static_cast<std::uint32_t>(list.size()));
    return result;
  }
  [[nodiscard]] Ids targets() const {
    Ids result;
    for (const Ids& list : lists) result.insert(result.end(), list.begin(), list.end());
    return result;
  }
  [[nodiscard]] Bytes encoded() const {
    Bytes bytes;
    unweave::encode_block(counts(), targets(), bytes);
    return bytes;
  }
};

Ids random_list(std::mt19937_64& random, NodeId num_nodes, std::size_t size) {
  std::set<NodeId> ids;
  while (ids.size() < size) ids.insert(static_cast<NodeId>(random() % num_nodes));
  return {ids.begin(), ids.end()};
}

Ids range(NodeId first, NodeId size) {
  Ids ids(size);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Lists of skewed ids and sizes: each bit of an id is set with probability 1/4.
Ids skewed_list(std::mt19937_64& random, std::size_t size) {
  std::set<NodeId> ids;
  for (std::size_t i = 0; i < size; ++i) ids.insert(static_cast<NodeId>(random() & random() & 0xF'FFFF));
  return {ids.begin(), ids.end()};
}

std::vector<Block> families() {
  constexpr NodeId kMost = 0xFFFF'FFFF;
  std::mt19937_64 random(7);
  std::vector<Block> blocks;
  blocks.push_back({"no node", 10, {}});
  blocks.push_back({"empty lists", 10, std::vector<Ids>(32)});
  blocks.push_back({"one id", 1, {{0}}});
  blocks.push_back({"one id among empty lists", 100, {{}, {}, {99}, {}}});
  blocks.push_back({"consecutive", 5000, {range(0, 5000), range(17, 16), range(17, 17), range(17, 18), {}}});
  blocks.push_back({"complete", 32, std::vector<Ids>(32, range(0, 32))});
  blocks.push_back(
      {"largest ids", kMost, {{0, kMost - 1}, {kMost - 1}, range(kMost - 40, 40), {0, 1U << 31, kMost - 2}}});
  blocks.push_back({"hub", 1 << 20, {{5}, random_list(random, 1 << 20, 100'000), {}, {6, 7}}});
  Block repeated{"equal lists", 1 << 20, {}};
  repeated.lists.assign(32, random_list(random, 1 << 20, 40));
  blocks.push_back(repeated);
  for (std::size_t size = 0; size <= 70; ++size)
    blocks.push_back({"sizes " + std::to_string(size),
                      1 << 22,
                      {random_list(random, 1 << 22, size), {3}, random_list(random, 1 << 22, size)}});
  for (unsigned bits = 1; bits <= 32; ++bits) {
    const auto num_nodes = static_cast<NodeId>((std::uint64_t{1} << bits) - 1);
    Block block{"ids of " + std::to_string(bits) + " bits", num_nodes, {}};
    for (int list = 0; list < 32; ++list)
      block.lists.push_back(random_list(random, num_nodes, random() % (std::min<std::uint64_t>(num_nodes, 60) + 1)));
    blocks.push_back(block);
  }
  Block skewed{"skewed", 1 << 20, {}};
  for (int list = 0; list < 32; ++list)
    skewed.lists.push_back(skewed_list(random, random() % 300 * (random() % 8 == 0)));
  blocks.push_back(skewed);
  for (unsigned large = 1; large <= 24; ++large) {
    // Small gaps with larger ones among them, which go into patches; graphs of more than 2^31 nodes
    // are summed by other code.
    Block block{"outliers of " + std::to_string(large) + " bits", large % 2 == 0 ? kMost : 1U << 31, {}};
    for (int list = 0; list < 32; ++list) {
      Ids ids(1, static_cast<NodeId>(random() % 5000));
      while (ids.size() % 45 != 0)
        ids.push_back(ids.back() + 1 + static_cast<NodeId>(random() % (random() % 6 == 0 ? 2ULL << large : 3)));
      block.lists.push_back(ids);
    }
    blocks.push_back(block);
  }
  return blocks;
}

// Follows FORMAT.md bit by bit. A packed block that is wrong gives std::out_of_range.
std::vector<Ids> reference_decode(const Bytes& bytes, const Counts& counts, NodeId num_nodes) {
  std::vector<Ids> lists(counts.size());
  if (bytes.empty()) return lists;
  const auto byte = [](const Bytes& from, std::size_t at) { return std::to_integer<std::uint64_t>(from.at(at)); };
  std::uint64_t base = 0;
  for (std::size_t i = 0; i < 4; ++i) base += byte(bytes, 1 + i) << (8 * i);
  if (byte(bytes, 0) == 0) {
    std::size_t bit = 0;  // place in the whole block
    const auto read_bits = [&](std::uint64_t width) {
      std::uint64_t value = 0;
      for (std::uint64_t i = 0; i < width; ++i, ++bit) value |= (byte(bytes, bit / 8) >> (bit % 8) & 1) << i;
      return value;
    };
    const auto to_byte = [&] { bit = (bit + 7) / 8 * 8; };
    bit = 40;
    const auto require = [](bool right) {
      if (!right) throw std::out_of_range("the block");
    };
    const auto append = [&](Ids& list, std::uint64_t id) {
      require(id < num_nodes);
      list.push_back(static_cast<NodeId>(id));
    };
    const std::uint64_t first_width = read_bits(8);
    require(first_width <= 32);
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) append(lists[i], base + read_bits(first_width));
    to_byte();
    std::vector<std::uint64_t> widths;
    for (const std::uint32_t count : counts)
      for (std::uint32_t at = 1; at < count; at += 16) widths.push_back(read_bits(8));
    std::size_t group = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      while (lists[i].size() < counts[i]) {
        const std::uint64_t shape = widths.at(group++);
        require(shape % 128 <= 32);
        const std::size_t size = std::min<std::size_t>(16, counts[i] - lists[i].size());
        std::vector<std::uint64_t> gaps;
        while (gaps.size() < size) gaps.push_back(read_bits(shape % 128));
        to_byte();
        if (shape >= 128) {
          const std::uint64_t high_width = read_bits(8), patched = read_bits(16);
          require(shape % 128 + high_width <= 32);
          for (std::size_t k = 0; k < 16; ++k) {
            const std::uint64_t high = (patched >> k & 1) != 0 ? read_bits(high_width) << (shape % 128) : 0;
            if (k < size) gaps[k] += high;
          }
          to_byte();
        }
        for (const std::uint64_t gap : gaps) append(lists[i], lists[i].back() + 1 + gap);
      }
    }
    require(bit == 8 * bytes.size());
    return lists;
  }
  CHECK(byte(bytes, 0) == 1);
  Bytes content(1 << 20);
  content.resize(ZSTD_decompress(content.data(), content.size(), bytes.data() + 5, bytes.size() - 5));
  std::size_t at = 0;
  const auto read_varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint64_t next = byte(content, at++);
      value |= (next & 127) << shift;
      if (next < 128) return value;
    }
  };
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (std::uint32_t k = 0; k < counts[i]; ++k)
      lists[i].push_back(static_cast<NodeId>(k == 0 ? base + read_varint() : lists[i].back() + 1 + read_varint()));
  CHECK(at == content.size());
  return lists;
}

Bytes block_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

constexpr NodeId kCanary = 0xABCD'1234;

// Decodes from a buffer without spare bytes, so that a sanitizer sees a read past the end. No
// value: BlockError.
std::optional<Ids> decode(const Bytes& bytes, const Counts& counts, NodeId num_nodes) {
  const std::size_t size = std::reduce(counts.begin(), counts.end(), std::size_t{0});
  const std::vector<std::byte> exact(bytes.begin(), bytes.end());
  Ids ids(size + unweave::kDecodeSlack + 1, kCanary);
  try {
    unweave::decode_block(exact, counts, num_nodes, ids.data());
  } catch (const BlockError& error) {
    CHECK(std::string(error.what) != "");
    CHECK(ids.back() == kCanary);
    return std::nullopt;
  }
  CHECK(ids.back() == kCanary);
  ids.resize(size);
  return ids;
}

std::optional<Ids> decode_one(const Bytes& bytes, const Counts& counts, std::size_t index, NodeId num_nodes) {
  Ids ids(counts[index] + unweave::kDecodeSlack + 1, kCanary);
  try {
    unweave::decode_list(bytes, counts, index, num_nodes, ids.data());
  } catch (const BlockError&) {
    CHECK(ids.back() == kCanary);
    return std::nullopt;
  }
  CHECK(ids.back() == kCanary);
  ids.resize(counts[index]);
  return ids;
}

bool valid_list(std::span<const NodeId> list, NodeId num_nodes) {
  return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end() &&
         (list.empty() || list.back() < num_nodes);
}

// What decoding owes for any bytes whatever: an error or valid lists, the same from both functions.
void check_hostile(const Bytes& bytes, const Counts& counts, NodeId num_nodes) {
  const std::optional<Ids> all = decode(bytes, counts, num_nodes);
  std::size_t at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::optional<Ids> one = decode_one(bytes, counts, i, num_nodes);
    if (one) CHECK(valid_list(*one, num_nodes));
    if (!all) continue;
    const std::span<const NodeId> list = std::span(*all).subspan(at, counts[i]);
    CHECK(valid_list(list, num_nodes));
    CHECK(one);
    if (one) CHECK(std::equal(one->begin(), one->end(), list.begin(), list.end()));
    at += counts[i];
  }
}

bool is_zstd(const Bytes& bytes) {
  return !bytes.empty() && bytes[0] == std::byte{1};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a block decodes to its lists, on every instruction set and in the reference") {
    for (const Block& block : families()) {
      CAPTURE(block.name);
      const Bytes bytes = block.encoded();
      CHECK(reference_decode(bytes, block.counts(), block.num_nodes) == block.lists);
      for_each_target([&] {
        CHECK(decode(bytes, block.counts(), block.num_nodes) == block.targets());
        for (std::size_t i = 0; i < block.lists.size(); ++i)
          CHECK(decode_one(bytes, block.counts(), i, block.num_nodes) == block.lists[i]);
      });
    }
  }

  TEST_CASE("the families reach both encodings") {
    int zstd = 0, packed = 0;
    for (const Block& block : families()) {
      const Bytes bytes = block.encoded();
      (is_zstd(bytes) ? zstd : packed) += bytes.empty() ? 0 : 1;
      CHECK(bytes.empty() == block.targets().empty());
    }
    CHECK(zstd >= 2);
    CHECK(packed >= 50);
    int patched = 0;
    for (const Block& block : families()) {
      if (!block.name.starts_with("outliers")) continue;
      const Bytes bytes = block.encoded();
      if (is_zstd(bytes)) continue;
      const std::size_t shapes_at = 6 + (32 * std::to_integer<std::size_t>(bytes.at(5)) + 7) / 8;
      for (std::size_t group = 0; group < 3UL * 32; ++group) patched += bytes.at(shapes_at + group) >= std::byte{128};
    }
    CHECK(patched >= 200);
  }

  TEST_CASE("encoding appends and is repeatable") {
    for (const Block& block : families()) {
      const Bytes once = block.encoded();
      Bytes twice = once;
      unweave::encode_block(block.counts(), block.targets(), twice);
      CHECK(twice.size() == 2 * once.size());
      CHECK(std::equal(once.begin(), once.end(), twice.begin() + static_cast<std::ptrdiff_t>(once.size())));
    }
  }

  TEST_CASE("a block cut short anywhere, or with a byte too many, is an error") {
    for (const Block& block : families()) {
      CAPTURE(block.name);
      Bytes bytes = block.encoded();
      const std::size_t step = std::max<std::size_t>(1, bytes.size() / 300);
      for (std::size_t size = 0; size < bytes.size(); size += step)
        CHECK_FALSE(decode({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}, block.counts(),
                           block.num_nodes));
      if (!bytes.empty()) CHECK_FALSE(decode({bytes.begin(), bytes.end() - 1}, block.counts(), block.num_nodes));
      bytes.push_back(std::byte{0});
      CHECK_FALSE(decode(bytes, block.counts(), block.num_nodes));
    }
  }

  TEST_CASE("a flipped bit anywhere gives an error or valid lists, on every instruction set" *
            doctest::test_suite("slow")) {
    for (const Block& block : families()) {
      if (block.targets().size() > 1000) continue;
      CAPTURE(block.name);
      const Bytes bytes = block.encoded();
      for_each_target([&] {
        for (std::size_t bit = 0; bit<8 * bytes.size(); bit += bytes.size()> 100 ? 7 : 1) {
          Bytes flipped = bytes;
          flipped[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
          check_hostile(flipped, block.counts(), block.num_nodes);
        }
      });
    }
  }

  TEST_CASE("random bytes give an error or valid lists, on every instruction set") {
    std::mt19937_64 random(11);
    for (int round = 0; round < 2000; ++round) {
      Counts counts(random() % 33);
      for (std::uint32_t& count : counts) count = static_cast<std::uint32_t>(random() % 40);
      const NodeId num_nodes = static_cast<NodeId>(random() >> (32 + random() % 32));
      Bytes bytes(random() % 2000);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 33 + (random() % 4 == 0 ? 128 : 0));
      if (!bytes.empty()) bytes[0] = static_cast<std::byte>(random() % 3);
      for_each_target([&] { check_hostile(bytes, counts, num_nodes); });
    }
  }

  TEST_CASE("damaged packed blocks: every instruction set refuses what the reference refuses, and finds the same ids" *
            doctest::test_suite("slow")) {
    std::mt19937_64 random(13);
    int refused = 0, taken = 0;
    for (const Block& block : families()) {
      const Bytes bytes = block.encoded();
      if (bytes.empty() || is_zstd(bytes) || block.targets().size() > 3000) continue;
      CAPTURE(block.name);
      const Counts counts = block.counts();
      const Ids targets = block.targets();
      const NodeId most = *std::max_element(targets.begin(), targets.end());
      const std::size_t groups_at = bytes.size() / 3;  // most of what lies before are firsts and shapes
      for (int round = 0; round < 60; ++round) {
        Bytes damaged = bytes;
        const std::size_t from = round % 2 == 0 ? 1 : groups_at;
        for (std::size_t flips = 1 + random() % 3; flips > 0 && round > 1; --flips)
          damaged[from + random() % (bytes.size() - from)] ^= std::byte{1} << static_cast<int>(random() % 8);
        const NodeId num_nodes = round % 3 == 0 ? block.num_nodes : most + 1 - static_cast<NodeId>(random() % 2);
        std::optional<Ids> expected = Ids();
        try {
          for (const Ids& list : reference_decode(damaged, counts, num_nodes))
            expected->insert(expected->end(), list.begin(), list.end());
        } catch (const std::out_of_range&) {
          expected.reset();
        }
        (expected ? taken : refused) += 1;
        for_each_target([&] { REQUIRE(decode(damaged, counts, num_nodes) == expected); });
      }
    }
    CHECK(refused >= 1000);
    CHECK(taken >= 500);
  }

  // Sums that wrap around 2^32 must not come back below num_nodes.
  TEST_CASE("gaps that overflow are an error, on every instruction set") {
    for (const unsigned width : {24U, 27U, 28U, 32U}) {
      for (const std::uint32_t count : {2U, 16U, 17U, 18U, 34U, 1025U}) {
        const std::size_t groups = (count - 1 + 15) / 16;
        Bytes bytes(5, std::byte{0});
        bytes.push_back(std::byte{0});  // all firsts are the base, 0
        bytes.insert(bytes.end(), groups, static_cast<std::byte>(width));
        bytes.insert(bytes.end(), (groups - 1) * 2 * width + ((count - 1 - 16 * (groups - 1)) * width + 7) / 8,
                     std::byte{0xFF});
        const std::uint64_t last = (std::uint64_t{1} << width) * (count - 1);
        for (const NodeId num_nodes : {1U << 20, 1U << 31, (1U << 31) + 1, 0xFFFF'FFFFU}) {
          CAPTURE(width);
          CAPTURE(count);
          CAPTURE(num_nodes);
          for_each_target([&] { CHECK(decode(bytes, {count}, num_nodes).has_value() == (last < num_nodes)); });
        }
      }
    }
  }

  TEST_CASE("ids must stay below the number of nodes") {
    for (const Block& block : families()) {
      CAPTURE(block.name);
      const Ids targets = block.targets();
      if (targets.empty()) continue;
      const NodeId highest = *std::max_element(targets.begin(), targets.end());
      const Bytes bytes = block.encoded();
      for_each_target([&] {
        CHECK(decode(bytes, block.counts(), highest + 1));
        CHECK_FALSE(decode(bytes, block.counts(), highest));
        CHECK_FALSE(decode(bytes, block.counts(), 0));
      });
    }
  }

  TEST_CASE("hostile headers") {
    const Counts counts{2, 1};
    CHECK(decode(block_of({0, 7, 0, 0, 0, 1, 2, 3, 5}), counts, 100) == Ids{7, 13, 8});
    CHECK_FALSE(decode(block_of({2, 7, 0, 0, 0, 1, 2, 3, 5}), counts, 100));     // encoding
    CHECK_FALSE(decode(block_of({0, 7, 0, 0, 0x80, 1, 2, 3, 5}), counts, 100));  // smallest first id
    CHECK_FALSE(
        decode(block_of({0, 7, 0, 0, 0, 33, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 5}), counts, 100));  // width of firsts
    CHECK_FALSE(decode(block_of({0, 7, 0, 0, 0, 1, 2, 33, 5, 0, 0, 0, 0}), counts, 100));      // width of gaps
    CHECK_FALSE(decode(block_of({0, 7, 0, 0, 0, 1, 2, 255, 5, 0, 0, 0, 0}), counts, 100));
    // Two lists, of which the second one is 8, 14; the gap of the first one has 33 bits.
    CHECK_FALSE(decode_one(block_of({0, 7, 0, 0, 0, 1, 2, 33, 3, 0, 0, 0, 0, 0, 5}), {2, 2}, 1, 100));
    CHECK(decode_one(block_of({0, 7, 0, 0, 0, 1, 2, 32, 3, 0, 0, 0, 0, 5}), {2, 2}, 1, 100) == Ids{8, 14});
    CHECK_FALSE(decode(block_of({0}), {0, 0}, 100));
    CHECK_FALSE(decode(block_of({0, 7, 0, 0, 0, 0}), {0, 0}, 100));
    CHECK_FALSE(decode(block_of({1, 7, 0, 0, 0, 0}), {0, 0}, 100));
  }

  TEST_CASE("first ids that overflow are an error, on every instruction set") {
    const Bytes bytes = block_of({0, 7, 0, 0, 0, 32, 0, 0, 0, 0, 0xFD, 0xFF, 0xFF, 0xFF});  // 7, and 7 - 3 modulo 2^32
    for_each_target([&] {
      CHECK_FALSE(decode(bytes, {1, 1}, 100));
      CHECK(decode_one(bytes, {1, 1}, 0, 100) == Ids{7});
      CHECK_FALSE(decode_one(bytes, {1, 1}, 1, 100));
    });
  }

  TEST_CASE("hostile zstd frames") {
    const auto block_of = [](const Bytes& content) {
      Bytes block(5 + ZSTD_compressBound(content.size()), std::byte{0});
      block[0] = std::byte{1};
      block.resize(5 + ZSTD_compress(block.data() + 5, block.size() - 5, content.data(), content.size(), 1));
      return block;
    };
    const Bytes three{std::byte{1}, std::byte{0}, std::byte{2}};
    const Bytes good = block_of(three);
    CHECK(decode(good, {3}, 10) == Ids{1, 2, 5});
    CHECK(decode_one(good, {1, 2}, 1, 10) == Ids{0, 3});
    CHECK_FALSE(decode(good, {2}, 10));                                 // content left over
    CHECK_FALSE(decode(good, {4}, 10));                                 // content used up
    CHECK_FALSE(decode(block_of(Bytes(3, std::byte{0xFF})), {1}, 10));  // a varint without end
    Bytes wide(5, std::byte{0xFF});
    wide.back() = std::byte{0x1F};
    CHECK_FALSE(decode(block_of(wide), {1}, 10));                            // a varint above 32 bits
    CHECK_FALSE(decode(block_of(Bytes(100 << 20, std::byte{0})), {3}, 10));  // a bomb
    Bytes two = good;
    two.insert(two.end(), good.begin() + 5, good.end());
    CHECK_FALSE(decode(two, {3}, 10));  // two frames
    Bytes unsized = good;
    unsized[5 + 4] &= std::byte{0x1F};  // no declared size
    CHECK_FALSE(decode(unsized, {3}, 10));
  }

  TEST_CASE("golden: the example of FORMAT.md, byte for byte") {
    const Block block{"example",
                      501,
                      {{300, 301, 309},
                       {},
                       {302},
                       {301, 302, 304, 307, 311, 316, 322, 329, 337, 346, 356, 367, 379, 392, 406, 421, 437, 500}}};
    const Bytes expected = block_of({0x00, 0x2c, 0x01, 0x00, 0x00, 0x02, 0x18, 0x03, 0x04, 0x06,
                                     0x38, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x3e});
    CHECK(block.encoded() == expected);
    CHECK(decode(expected, block.counts(), block.num_nodes) == block.targets());
  }

  // The frame was written by zstd 1.5.4. Other releases may write other bytes, but must read these.
  TEST_CASE("golden: a zstd block can be read for ever") {
    const Bytes bytes = block_of({0x01, 0xe8, 0x03, 0x00, 0x00, 0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x40, 0x01, 0xcd, 0x00,
                                  0x00, 0x90, 0x00, 0x0c, 0x26, 0x40, 0x5a, 0x74, 0x8e, 0x01, 0xa8, 0x01, 0xc2, 0x01,
                                  0xdc, 0x01, 0xf6, 0x01, 0x90, 0x02, 0x01, 0x00, 0x56, 0x54, 0x35, 0xc3});
    Ids list;
    for (NodeId k = 0; k < 12; ++k) list.push_back(1000 + 13 * k * k);
    const Block block{"quadratic", 3000, std::vector<Ids>(32, list)};
    CHECK(decode(bytes, block.counts(), block.num_nodes) == block.targets());
    CHECK(is_zstd(block.encoded()));
  }
}
