// tests/storage/codec/block_choice_test.cpp - which encoding a block gets, against FORMAT.md's rule
// followed step by step.
#include <doctest/doctest.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "storage/codec/gap_block.h"

namespace unweave {
namespace {

using Ids = std::vector<NodeId>;
using Lists = std::vector<Ids>;

std::vector<std::uint32_t> counts_of(const Lists& lists) {
  std::vector<std::uint32_t> counts;
  for (const Ids& list : lists) counts.push_back(static_cast<std::uint32_t>(list.size()));
  return counts;
}

Ids targets_of(const Lists& lists) {
  Ids targets;
  for (const Ids& list : lists) targets.insert(targets.end(), list.begin(), list.end());
  return targets;
}

std::vector<std::byte> encoded(const Lists& lists) {
  std::vector<std::byte> bytes;
  encode_block(counts_of(lists), targets_of(lists), bytes);
  return bytes;
}

/// For each non-empty list its first id less the smallest of them, then its gaps.
Lists numbers_of(const Lists& lists) {
  NodeId base = kMaxNodeId;
  for (const Ids& list : lists)
    if (!list.empty()) base = std::min(base, list[0]);
  Lists numbers;
  for (const Ids& list : lists) {
    if (list.empty()) continue;
    Ids& own = numbers.emplace_back(Ids{list[0] - base});
    for (std::size_t i = 1; i < list.size(); ++i) own.push_back(list[i] - list[i - 1] - 1);
  }
  return numbers;
}

std::size_t packed_length(const Lists& numbers) {
  const auto run = [](auto first, auto last) {
    unsigned width = 0;
    for (auto it = first; it != last; ++it) width = std::max(width, static_cast<unsigned>(std::bit_width(*it)));
    return (static_cast<std::size_t>(last - first) * width + 7) / 8;
  };
  // The shortest patched form of a group, if it saves a quarter.
  const auto group = [&run](auto first, auto last) {
    const std::size_t plain = run(first, last);
    std::size_t best = plain;
    for (unsigned low = 0; low < 32; ++low) {
      Ids lows, highs;
      for (auto it = first; it != last; ++it) {
        lows.push_back(*it % (1U << low));
        if (*it >> low != 0) highs.push_back(*it >> low);
      }
      const std::size_t low_run = (lows.size() * low + 7) / 8;
      const std::size_t patched = low_run + 3 + run(highs.begin(), highs.end());
      if (patched <= 3 * plain / 4) best = std::min(best, patched);
    }
    return best;
  };
  Ids firsts;
  std::size_t length = 6;
  for (const Ids& list : numbers) {
    firsts.push_back(list[0]);
    for (auto it = list.begin() + 1; it != list.end();) {
      const auto end = it + std::min<std::ptrdiff_t>(16, list.end() - it);
      length += 1 + group(it, end);
      it = end;
    }
  }
  return length + run(firsts.begin(), firsts.end());
}

std::vector<unsigned char> content_of(const Lists& numbers) {
  std::vector<unsigned char> content;
  for (const Ids& list : numbers) {
    for (NodeId number : list) {
      for (; number > 127; number /= 128) content.push_back(static_cast<unsigned char>(128 + number % 128));
      content.push_back(static_cast<unsigned char>(number));
    }
  }
  return content;
}

std::size_t new_positions(const std::vector<unsigned char>& content) {
  unsigned digits = 0;
  for (std::size_t n = content.size(); n > 0; n /= 2) ++digits;
  digits = std::min(digits, 15U);
  std::map<std::uint64_t, std::uint64_t> last;
  std::size_t count = 0;
  for (std::size_t at = 0; at + 4 <= content.size(); ++at) {
    const std::uint64_t four =
        content[at] + 256ULL * content[at + 1] + 65536ULL * content[at + 2] + 16777216ULL * content[at + 3];
    const std::uint64_t hash = four * 2654435761ULL % (1ULL << 32) / (1ULL << (32 - digits));
    const auto seen = last.find(hash);
    count += seen == last.end() || seen->second != four ? 1 : 0;
    last[hash] = four;
  }
  return count;
}

enum class Choice { kTooLong, kNew, kNotHalved, kZstd };

struct Rule {
  Choice choice = Choice::kTooLong;
  std::ptrdiff_t surplus = 0;  ///< new positions above the most that are allowed
  bool halved = false;         ///< by zstd, whatever the positions
};

Rule rule(const Lists& lists) {
  const Lists numbers = numbers_of(lists);
  const std::size_t packed = packed_length(numbers);
  const std::vector<unsigned char> content = content_of(numbers);
  if (content.size() > 65536) return {};
  Rule result;
  result.surplus = static_cast<std::ptrdiff_t>(new_positions(content)) - static_cast<std::ptrdiff_t>(3 * packed / 5);
  std::vector<char> frame(ZSTD_compressBound(content.size()));
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), 1);
  result.halved = 5 + size <= packed / 2;
  result.choice = result.surplus > 0 ? Choice::kNew : result.halved ? Choice::kZstd : Choice::kNotHalved;
  return result;
}

Ids random_list(std::mt19937_64& random, NodeId num_nodes, std::size_t size) {
  std::set<NodeId> ids;
  while (ids.size() < size) ids.insert(static_cast<NodeId>(random() % num_nodes));
  return {ids.begin(), ids.end()};
}

/// Lists of which each takes a part of its ids from the one before it.
Lists similar_lists(std::mt19937_64& random, NodeId num_nodes, std::size_t size, unsigned percent) {
  Lists lists{random_list(random, num_nodes, size)};
  while (lists.size() < kBlockNodes) {
    std::set<NodeId> ids;
    for (const NodeId id : lists.back())
      if (random() % 100 < percent) ids.insert(id);
    while (ids.size() < size) ids.insert(static_cast<NodeId>(random() % num_nodes));
    lists.emplace_back(ids.begin(), ids.end());
  }
  return lists;
}

/// Gaps of `values` values, evenly spread from 0 to 127 or a little less: zstd codes them in few
/// bits, packing takes seven, and too many of them are wide for patches.
Ids list_of_gaps(std::mt19937_64& random, std::size_t size, unsigned values) {
  Ids ids(1, static_cast<NodeId>(random() % 64));
  while (ids.size() < size) {
    const std::uint64_t gap = random() % values * (127 / (values - 1));
    ids.push_back(ids.back() + 1 + static_cast<NodeId>(gap));
  }
  return ids;
}

Rule check_choice(const Lists& lists, std::map<Choice, int>& met) {
  const Rule expected = rule(lists);
  const Choice choice = expected.choice;
  ++met[choice];
  const std::vector<std::byte> bytes = encoded(lists);
  CHECK(uses_zstd(bytes) == (choice == Choice::kZstd));
  if (choice != Choice::kZstd) CHECK(bytes.size() == packed_length(numbers_of(lists)));
  const Ids targets = targets_of(lists);
  Ids decoded(targets.size() + kDecodeSlack);
  decode_block(bytes, counts_of(lists), kMaxNodeId, decoded.data());
  decoded.resize(targets.size());
  CHECK(decoded == targets);
  return expected;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("encode_block chooses as FORMAT.md says, on both sides of every condition" * doctest::test_suite("slow")) {
    std::mt19937_64 random(29);
    std::map<Choice, int> met;
    for (const std::size_t size : {1U, 2U, 5U, 17U, 40U, 300U, 1200U}) {
      for (unsigned percent = 0; percent <= 100; percent += 4) {
        for (const NodeId num_nodes : {NodeId{1} << 14, NodeId{1} << 21, kMaxNodeId}) {
          CAPTURE(size);
          CAPTURE(percent);
          CAPTURE(num_nodes);
          check_choice(similar_lists(random, num_nodes, size, percent), met);
        }
      }
    }
    for (const Choice choice : {Choice::kTooLong, Choice::kNew, Choice::kNotHalved, Choice::kZstd})
      CHECK(met[choice] >= 20);
  }

  TEST_CASE("one new position decides" * doctest::test_suite("slow")) {
    std::mt19937_64 random(37);
    std::map<Choice, int> met;
    int most = 0, one_more = 0;
    for (int round = 0; round < 4000; ++round) {
      CAPTURE(round);
      Lists lists;
      const std::size_t size = 16 + random() % 24;
      for (std::size_t i = 0; i < kBlockNodes; ++i)
        lists.push_back(list_of_gaps(random, size, 4 + static_cast<unsigned>(round) % 4));
      const Rule expected = check_choice(lists, met);
      most += expected.halved && expected.surplus == 0 ? 1 : 0;
      one_more += expected.halved && expected.surplus == 1 ? 1 : 0;
    }
    CHECK(most >= 2);
    CHECK(one_more >= 2);
  }

  TEST_CASE("long contents fill the largest table" * doctest::test_suite("slow")) {
    std::mt19937_64 random(41);
    std::map<Choice, int> met;
    for (unsigned values = 4; values < 40; ++values) {
      CAPTURE(values);
      check_choice({list_of_gaps(random, 40'000, values)}, met);
    }
    CHECK(met[Choice::kNew] >= 5);
    CHECK(met[Choice::kZstd] >= 5);
  }

  TEST_CASE("a block of more ids than the content may have bytes is packed, one of as many may be zstd's") {
    const auto lists_of = [](std::size_t size) {
      Lists lists(1, Ids(size));
      for (std::size_t i = 0; i < size; ++i) lists[0][i] = static_cast<NodeId>(2 * i);
      return lists;
    };
    std::map<Choice, int> met;
    check_choice(lists_of(65536), met);
    CHECK(met[Choice::kZstd] == 1);
    check_choice(lists_of(65537), met);
    CHECK(met[Choice::kTooLong] == 1);
  }

  TEST_CASE("varints of every length pass through zstd blocks") {
    std::mt19937_64 random(31);
    for (unsigned bits = 8; bits <= 32; ++bits) {
      CAPTURE(bits);
      const auto num_nodes = static_cast<NodeId>((std::uint64_t{1} << bits) - 1);
      const Ids list = random_list(random, num_nodes, 6);
      std::map<Choice, int> met;
      check_choice(Lists(kBlockNodes, list), met);
      CHECK(met[Choice::kZstd] == 1);
    }
  }
}

}  // namespace unweave
