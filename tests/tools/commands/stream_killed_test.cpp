// tests/tools/commands/stream_killed_test.cpp - kill -9 before calls of `stream` that change files:
// what was printed is there, nothing is drawn twice, and the end is that of a stream that nobody
// disturbed.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::info_of;
using testing::lines_of;
using testing::run_process;

/// Edges of a store and some of its nodes, as requests.
std::vector<std::string> draw_requests(const fs::path& store, const fs::path& folder, std::mt19937& random) {
  REQUIRE(run_process({"export", store.string(), "--edges", (folder / "e.npy").string()}).code == 0);
  const std::string bytes = testing::read_all(folder / "e.npy");
  const auto nodes = info_of(store).at("edges").get<std::size_t>();
  std::vector<std::int64_t> ends(2 * nodes);
  std::memcpy(ends.data(), bytes.data() + bytes.size() - 16 * nodes, 16 * nodes);
  std::vector<std::string> requests;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t edge = random() % nodes;
    const std::string u = std::to_string(ends[2 * edge]), v = std::to_string(ends[2 * edge + 1]);
    const auto kind = random() % 20;
    requests.push_back(kind == 0   ? "node " + u
                       : kind == 1 ? "feature " + v
                       : kind == 2 ? "insert-edge " + u + " " + std::to_string(random() % 16384)
                                   : "edge " + u + " " + v);
  }
  return requests;
}

std::vector<std::string> stream_words(const fs::path& store, const fs::path& requests) {
  return {"stream",   store.string(), "--requests", requests.string(),  "--batch", "25",
          "--solver", "newton",       "--json",     "--evaluate-every", "0"};
}

void write_from(const fs::path& file, const std::vector<std::string>& requests, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < requests.size(); ++i) text += requests[i] + "\n";
  testing::write_file(file, text);
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("kill -9 before calls that change files of a stream with a model (UNWEAVE_KILLS says how often)") {
    const char* const wanted = std::getenv("UNWEAVE_KILLS");
    const int most = wanted == nullptr ? 20 : std::stoi(wanted);
    const testing::TempDir dir;
    const fs::path fresh = dir / "fresh", calm = dir / "calm", store = dir / "s",
                   log = store / "certificates/newton.jsonl";
    std::mt19937 random(1);
    REQUIRE(run_process({"generate", fresh.string(), "--model", "rmat", "--scale", "14", "--edge-factor", "8",
                         "--features", "16", "--classes", "4", "--seed", "1"})
                .code == 0);
    REQUIRE(run_process({"propagate", fresh.string(), "--hops", "2"}).code == 0);
    REQUIRE(run_process({"train", fresh.string(), "--solver", "newton"}).code == 0);
    const auto requests = draw_requests(fresh, dir.path(), random);
    write_from(dir / "requests", requests, 0);
    fs::copy(fresh, calm, fs::copy_options::recursive);
    const long calls = testing::calls_of(stream_words(calm, dir / "requests"));
    const auto expected = info_of(calm).at("digest");

    int kills = 0, streams = 0;
    std::size_t printed_lines = 0;
    while (kills < most) {
      fs::remove_all(store);
      fs::copy(fresh, store, fs::copy_options::recursive);
      ++streams;
      std::size_t acknowledged = 0;
      std::vector<std::string> certificates = lines_of(log);
      for (bool ended = false; !ended;) {
        write_from(dir / "requests", requests, acknowledged);
        const long call = kills < most ? 1 + static_cast<long>(random()) % (calls / 3) : 0;
        const int code = testing::run_stopped(stream_words(store, dir / "requests"), {SIGKILL, call}, dir / "out");
        REQUIRE((code == 0 || code == -SIGKILL));
        ended = code == 0;
        if (!ended) ++kills;
        CAPTURE(kills);

        const auto printed = lines_of(dir / "out");
        printed_lines += printed.size();
        std::size_t last = acknowledged;
        if (!printed.empty()) last = json::parse(printed.back()).at("last_request");
        const std::size_t found = info_of(store).at("acknowledged");
        CHECK(found >= last);
        CHECK((found % 25 == 0 || found == requests.size()));
        acknowledged = found;
        const auto now = lines_of(log);
        REQUIRE(now.size() >= certificates.size() + (printed.empty() ? 0 : printed.size()));
        CHECK(std::equal(certificates.begin(), certificates.end(), now.begin()));
        for (std::size_t i = 0; i < now.size(); ++i) CHECK(json::parse(now[i]).at("release") == i + 1);
        certificates = now;
      }
      CHECK(acknowledged == requests.size());
      CHECK(info_of(store).at("digest") == expected);
      CHECK(run_process({"verify", store.string()}).code == 0);
    }
    MESSAGE("kills: ", kills, ", streams: ", streams, ", lines printed: ", printed_lines);
    CHECK(printed_lines > 0);
  }
}

}  // namespace unweave
