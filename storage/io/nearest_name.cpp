// storage/io/nearest_name.cpp - finds the known name that differs from a typed one by the fewest
// edits.
#include "storage/io/nearest_name.h"

#include <algorithm>
#include <vector>

#include "storage/io/plain_text.h"
#include "storage/io/small_letters.h"

namespace unweave {
namespace {

constexpr std::size_t kLongest = 64;                     // letters; nobody mistypes more
constexpr std::size_t kMostWork = std::size_t{1} << 14;  // pairs of letters

/// Letters inserted, left out, changed, or two neighbours swapped, no letter twice (optimal string
/// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) steps[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) steps[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = small(a[i - 1]) == small(b[j - 1]) ? 0 : 1;
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) && small(a[i - 2]) == small(b[j - 1]))
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> known) {
  if (text.empty() || text.size() > kLongest) return {};
  std::size_t letters_of_all = 0;
  for (const std::string_view name : known) letters_of_all += name.size();
  if (letters_of_all * text.size() > kMostWork)
    return {};  // whoever sends many such words is not to take the processor
  std::string_view nearest;
  std::size_t least = text.size();  // a name of which nothing is left is no mistyped one
  for (const std::string_view name : known) {
    const std::size_t letters = std::max(text.size(), name.size());
    const std::size_t steps = distance(text, name);
    if (steps > std::max<std::size_t>(1, letters / 3) || steps >= least) continue;
    least = steps;
    nearest = name;
  }
  if (!nearest.empty() || text.size() < 2) return nearest;
  for (const std::string_view name : known) {
    if (!name.starts_with(text)) continue;
    if (!nearest.empty()) return {};
    nearest = name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> known) {
  const std::string_view name = nearest_name(text, known);
  return name.empty() ? std::string() : " (did you mean '" + std::string(name) + "'?)";
}

std::string one_of(std::span<const std::string_view> known) {
  std::string text;
  for (std::size_t i = 0; i < known.size(); ++i)
    text += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + std::string(known[i]);
  return text;
}

std::string unknown_name(std::string_view what, std::string_view text, std::span<const std::string_view> known) {
  return "unknown " + std::string(what) + " \"" + printable(text.substr(0, kLongest)) +
         (text.size() > kLongest ? "..." : "") + "\"" + did_you_mean(text, known) + "; use " + one_of(known);
}

}  // namespace unweave
