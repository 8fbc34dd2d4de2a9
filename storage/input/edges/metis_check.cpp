// storage/input/edges/metis_check.cpp - checks numbers of lines and pairs of a text against what a
// METIS file would have.
#include "storage/input/edges/metis_check.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "storage/input/words/line_reader.h"

namespace unweave {

namespace {

constexpr std::uint64_t kFewestNodes = 4;

/// A hash of an ordered pair; the mixing is that of SplitMix64.
std::uint64_t hash_of(std::uint64_t from, std::uint64_t to) noexcept {
  std::uint64_t x = (from * 0x9E37'79B9'7F4A'7C15 + to) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
  return x ^ (x >> 31);
}

/// The whole numbers of a line; nothing where it holds anything else.
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  Fields fields(line);
  while (!fields.at_end()) {
    std::uint64_t number = 0;
    if (fields.number(number) != std::errc()) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

void MetisCheck::see(std::uint64_t u, std::uint64_t v, std::uint64_t line) noexcept {
  if (!possible_) return;
  if (line == 1) {
    nodes_ = u;
    edges_ = v;
    possible_ = nodes_ >= kFewestNodes && edges_ > 0;
    return;
  }
  const std::uint64_t node = line - 1;
  const auto is_neighbour = [&](std::uint64_t id) { return id >= 1 && id <= nodes_ && id != node; };
  possible_ = node <= nodes_ && is_neighbour(u) && is_neighbour(v) && u != v;
  entries_ += 2;
  asymmetry_ += hash_of(node, u) + hash_of(node, v) - hash_of(u, node) - hash_of(v, node);
}

bool MetisCheck::proven(std::uint64_t lines) const noexcept {
  return possible_ && entries_ > 0 && lines > nodes_ && entries_ == 2 * edges_ && asymmetry_ == 0;
}

bool begins_like_metis(std::string_view head) {
  constexpr int kMostLines = 100;
  std::vector<std::uint64_t> first;
  bool differs = false;
  std::uint64_t rows = 0;
  for (int line = 0; line < kMostLines; ++line) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos) break;
    std::string_view text = head.substr(0, end);
    head.remove_prefix(end + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.starts_with('%')) continue;
    const auto numbers = numbers_of(text);
    if (!numbers) return false;
    if (first.empty()) {
      first = *numbers;
      constexpr std::uint64_t kFormats[] = {0, 1, 10, 11, 100, 101, 110, 111};
      if (first.size() < 2 || first.size() > 4 || first[0] < 1) return false;
      if (first.size() > 2 && std::find(std::begin(kFormats), std::end(kFormats), first[2]) == std::end(kFormats))
        return false;
      continue;
    }
    if (++rows > first[0] && !numbers->empty()) return false;
    const bool has_weights = first.size() > 2 && first[2] > 0;  // they may be any numbers
    for (const std::uint64_t number : *numbers)
      if (!has_weights && (number < 1 || number > first[0])) return false;
    differs |= !numbers->empty() && numbers->size() != first.size();
  }
  return differs;
}

}  // namespace unweave
