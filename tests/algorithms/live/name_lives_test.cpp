// tests/algorithms/live/name_lives_test.cpp - random lives of stores whose nodes have names: what a
// store answers and holds does not depend on when it was purged, and a purged one is, byte by byte,
// an import of what remains.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_writer.h"
#include "storage/io/time_text.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/store_fixture.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::changed_world;
using testing::ChangedWorld;
using testing::changing_lines;
using testing::TempDir;

/// A user's data, with names that `node` requests take and notes of edges that are to go, kept by
/// plain loops.
struct NamedLife {
  ChangedWorld world;
  std::map<std::pair<NodeId, NodeId>, std::string> notes;

  /// The node that a word means; none where nobody is called so.
  [[nodiscard]] std::optional<NodeId> meant(const std::string& word) const {
    const auto node = static_cast<NodeId>(std::stoul(word.substr(1)));
    if (word[0] == 'v' && !world.has_name(node)) return std::nullopt;
    return node;
  }

  /// Does what a line of a request says; false where it changes nothing.
  bool apply(const std::string& line) {
    std::istringstream in(line);
    std::string kind, first, second, rest;
    in >> kind >> first;
    const std::optional<NodeId> u = meant(first);
    std::optional<NodeId> v = 0;
    if (kind.ends_with("edge") || kind == "set-weight") {
      in >> second;
      v = meant(second);
      second = " " + std::to_string(v.value_or(0));
    }
    if (!u || !v) return false;
    const std::pair<NodeId, NodeId> edge{std::min(*u, *v), std::max(*u, *v)};
    std::getline(in, rest);
    if (rest.starts_with(" expires ")) return note(edge, rest.substr(9));
    const bool had_name = world.has_name(*u);
    bool changes = world.apply(kind + " " + std::to_string(*u) + second + rest);
    if (kind == "node") {
      changes |= had_name;
      world.unnamed.insert(*u);
    }
    std::erase_if(notes, [&](const auto& one) { return !world.edges.contains(one.first); });
    return changes;
  }

  bool note(const std::pair<NodeId, NodeId>& edge, const std::string& time) {
    if (edge.first == edge.second || !world.edges.contains(edge)) return false;
    if (time == "never") return notes.erase(edge) > 0;
    return std::exchange(notes[edge], time) != time;
  }
};

/// The lines in words: a name that the node had at the beginning, or its number. Some set when an
/// edge is to go, and some nodes are spoken of again and again.
std::vector<std::string> worded_lines(const ChangedWorld& world, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto word = [&](const std::string& number) {
    const auto node = static_cast<NodeId>(std::stoul(number));
    return (world.has_name(node) && random() % 3 != 0 ? "v" : "#") + number;
  };
  std::vector<std::string> lines;
  for (const std::string& line : changing_lines(world, count, seed, false)) {
    std::istringstream in(line);
    std::string kind, first, second, rest;
    in >> kind >> first;
    if (kind.ends_with("edge") || kind == "set-weight") in >> second;
    std::getline(in, rest);
    std::string text = kind + " " + word(first) + (second.empty() ? "" : " " + word(second)) + rest;
    if (kind == "edge" && random() % 3 == 0)
      text += random() % 3 == 0 ? " expires never" : " expires 2030-01-0" + std::to_string(1 + random() % 3);
    lines.push_back(text);
    if (kind == "node" && random() % 2 == 0) {
      const std::string again = word(first);
      constexpr const char* kAgain[] = {"feature ", "node ", "set-label ", "set-feature ", "insert-edge "};
      const auto which = random() % 5;
      lines.push_back(kAgain[which] + again +
                      (which == 2   ? " 1"
                       : which == 3 ? " 0:0.5"
                       : which == 4 ? " " + word(std::to_string(random() % world.nodes))
                                    : ""));
    }
  }
  return lines;
}

/// One of two stores that hear the same batches, and are purged, closed and killed at moments of
/// their own.
class HeardStore {
 public:
  HeardStore(fs::path path, std::uint64_t seed) : path_(std::move(path)), random_(seed) { open(); }

  /// What became of a batch: statuses, and the lines that receipts would have.
  std::string hear(const std::vector<std::string>& lines, bool early) {
    const NodeNames& present = live_->contents().order().names();
    std::vector<Request> requests;
    for (const std::string& line : lines)
      requests.push_back(
          parse_request(line, {[&](std::string_view word) { return (early ? *early_ : present).read(word); }, nullptr})
              .value());
    const BatchReport report = live_->apply(requests, live_->resolve(requests), {},
                                            random_() % 2 == 0 ? LastLevel::at_once : LastLevel::deferred);
    std::string told;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const RequestStatus status = report.changes.statuses[i];
      told += std::string(name_of(status)) + "\t" + present.text_of(requests[i], names_nobody(status)) + "\n";
    }
    return told;
  }
  void purge() {
    live_.reset();
    testing::purge(path_, {.always = true});
    open();
  }
  /// A checkpoint or none, then a kill or none.
  void interrupt() {
    if (random_() % 3 == 0) live_->checkpoint();
    if (random_() % 3 != 0) return;
    live_.reset();
    open(false);
  }
  /// Names, notes and digest.
  std::string state() {
    static_cast<void>(live_->publish_stale());
    const Contents& contents = live_->contents();
    std::string text = digest_text(content_digest(*live_));
    for (NodeId user = 0; user < contents.num_nodes(); ++user) text += " " + contents.order().names().text(user);
    for (const auto& [edge, time, id] : contents.expiries().sorted())
      text += " " + std::to_string(edge.u) + "-" + std::to_string(edge.v) + "@" + time_text(time);
    return text + " " + std::to_string(contents.order().names().named());
  }

 private:
  /// A service reads names that it has opened once, when it was started; no purge comes while it
  /// runs.
  void open(bool anew = true) {
    if (anew) early_ = std::make_unique<NodeNames>(path_, read_manifest(path_));
    live_ = std::make_unique<StoreWriter>(path_, ample_budget());
  }
  fs::path path_;
  std::mt19937_64 random_;
  std::unique_ptr<NodeNames> early_;
  std::unique_ptr<StoreWriter> live_;
};

void live_named_life(std::uint64_t seed) {
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const TempDir dir;
  NamedLife life{changed_world(6 + static_cast<NodeId>(random() % 9), 2, seed, false), {}};
  ChangedWorld& world = life.world;
  world.named = true;
  if (random() % 4 == 0) world.unnamed.insert(static_cast<NodeId>(random() % world.nodes));
  constexpr const char* kOrders[] = {"none", "none", "degree", "bfs"};
  world.order = kOrders[random() % 4];
  world.sparse = random() % 4 == 0;
  if (random() % 3 == 0) world.weigh_all(5, seed);
  const PropagationSpec spec = testing::tiny_spec(static_cast<std::uint32_t>(random() % 3), random() % 2 == 0);
  world.import(dir / "a");
  testing::propagate_store(dir / "a", spec);
  fs::copy(dir / "a", dir / "b", fs::copy_options::recursive);
  const std::vector<std::string> lines = worded_lines(world, 12 + random() % 24, seed);
  const bool early = random() % 2 == 0;
  HeardStore first(dir / "a", seed), second(dir / "b", seed + 1);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min<std::size_t>(lines.size(), at + 1 + random() % 8);
    const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                        lines.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
    const std::string told = first.hear(some, early);
    CHECK(second.hear(some, early) == told);
    std::istringstream statuses(told);
    for (const std::string& line : some) {
      CAPTURE(line);
      std::string answer;
      std::getline(statuses, answer);
      CHECK(answer.starts_with("applied\t") == life.apply(line));
    }
    first.interrupt();
    second.interrupt();
    if (random() % 3 == 0) second.purge();
    CHECK(first.state() == second.state());
  }
  // What remains, without notes, which are no data that an import takes here.
  std::vector<std::string> never;
  for (const auto& [edge, time] : life.notes)
    never.push_back("edge #" + std::to_string(edge.first) + " #" + std::to_string(edge.second) + " expires never");
  for (HeardStore* const store : {&first, &second}) {
    if (!never.empty()) static_cast<void>(store->hear(never, early));
    store->purge();
  }
  world.import(dir / "fresh");
  testing::propagate_store(dir / "fresh", spec);
  testing::check_same_store(dir / "a", dir / "fresh");
  testing::check_same_store(dir / "b", dir / "fresh");
  CHECK(testing::digest_now(dir / "a") == testing::digest_now(dir / "fresh"));
}

void live_named_lives(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) live_named_life(seed);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("names that removals take do not come back, whenever a store is purged, closed or killed") {
    live_named_lives(1, 12);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("two hundred lives with names end as imports of what remains") {
    live_named_lives(1'000, 200);
  }
}

TEST_SUITE("heavy") {
  TEST_CASE("thousands of lives with names do") {
    live_named_lives(10'000, 5'000);
  }
}

}  // namespace unweave
