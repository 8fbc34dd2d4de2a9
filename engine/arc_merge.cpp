#include "engine/arc_merge.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace unweave {

namespace {
constexpr std::size_t kKeyBytes = sizeof(std::uint64_t);
constexpr std::uint64_t kExhausted = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMostBufferedKeys = std::size_t{1} << 20;  // 8 MiB a run: larger reads are no faster
}  // namespace

KeyRun write_run(SpoolFile& spool, std::span<const std::uint64_t> keys) {
  const std::uint64_t begin = spool.size();
  spool.append({reinterpret_cast<const char*>(keys.data()), keys.size_bytes()});
  return {begin, spool.size()};
}

KeyMerge::KeyMerge(const SpoolFile& spool, std::span<const KeyRun> runs, std::size_t buffer_bytes)
    : spool_(spool), inputs_(runs.size()), losers_(std::max<std::size_t>(1, runs.size())) {
  if (inputs_.empty()) return;
  const std::size_t keys = std::clamp<std::size_t>(buffer_bytes / (runs.size() * kKeyBytes), 1, kMostBufferedKeys);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t length = static_cast<std::size_t>((runs[i].end - runs[i].begin) / kKeyBytes);
    inputs_[i].rest = runs[i];
    inputs_[i].keys.resize(std::min(keys, length));
    inputs_[i].at = inputs_[i].keys.size();
    refill(inputs_[i]);
  }
  // The first matches, from the leaves up: winners[n] comes out of node n, leaf i is node inputs + i.
  const std::size_t leaves = inputs_.size();
  std::vector<std::size_t> winners(2 * leaves);
  for (std::size_t i = 0; i < leaves; ++i) winners[leaves + i] = i;
  for (std::size_t node = leaves - 1; node >= 1; --node) {
    const std::size_t a = winners[2 * node];
    const std::size_t b = winners[2 * node + 1];
    winners[node] = head(a) <= head(b) ? a : b;
    losers_[node] = head(a) <= head(b) ? b : a;
  }
  losers_[0] = winners[1];  // with one input, winners[1] is its leaf
}

std::uint64_t KeyMerge::head(std::size_t input) const {
  const Input& one = inputs_[input];
  return one.at < one.keys.size() ? one.keys[one.at] : kExhausted;
}

void KeyMerge::refill(Input& input) {
  const std::uint64_t left = (input.rest.end - input.rest.begin) / kKeyBytes;
  if (left < input.keys.size()) input.keys.resize(static_cast<std::size_t>(left));
  const std::span<std::uint64_t> keys(input.keys);
  spool_.read(input.rest.begin, {reinterpret_cast<char*>(keys.data()), keys.size_bytes()});
  input.rest.begin += keys.size_bytes();
  input.at = 0;
}

void KeyMerge::replay(std::size_t input) {
  std::size_t winner = input;
  std::uint64_t key = head(winner);
  for (std::size_t node = (input + inputs_.size()) / 2; node >= 1; node /= 2) {
    const std::uint64_t other = head(losers_[node]);
    if (other < key) {
      std::swap(winner, losers_[node]);
      key = other;
    }
  }
  losers_[0] = winner;
}

std::size_t KeyMerge::read(std::span<std::uint64_t> out) {
  std::size_t count = 0;
  while (count < out.size() && !inputs_.empty()) {
    const std::size_t winner = losers_[0];
    const std::uint64_t key = head(winner);
    if (key == kExhausted) break;
    if (!any_ || key != last_) out[count++] = key;
    last_ = key;
    any_ = true;
    Input& input = inputs_[winner];
    if (++input.at == input.keys.size()) refill(input);
    replay(winner);
  }
  return count;
}

void merge_down(SpoolFile& spool, std::vector<KeyRun>& runs, std::size_t most_runs,
                const std::filesystem::path& temp_dir, std::size_t budget_bytes) {
  const std::size_t output_bytes = std::min(budget_bytes / 4, kMostBufferedKeys * kKeyBytes);
  std::vector<std::uint64_t> output(output_bytes / kKeyBytes);
  while (runs.size() > most_runs) {
    SpoolFile longer(temp_dir);
    std::vector<KeyRun> merged;
    for (std::size_t first = 0; first < runs.size(); first += most_runs) {
      const std::size_t count = std::min(most_runs, runs.size() - first);
      KeyMerge merge(spool, std::span(runs).subspan(first, count), budget_bytes - output_bytes);
      const std::uint64_t begin = longer.size();
      while (const std::size_t keys = merge.read(output)) (void)write_run(longer, std::span(output).first(keys));
      merged.push_back({begin, longer.size()});
    }
    spool = std::move(longer);
    runs = std::move(merged);
  }
}

}  // namespace unweave
