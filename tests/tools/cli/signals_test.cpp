// tests/tools/cli/signals_test.cpp - Ctrl-C and SIGTERM at random moments of every long command: it ends at once, and the same
// command again reaches what an undisturbed one does.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/resources/clock.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::info_of;
using testing::run_process;
using Words = std::vector<std::string>;

double run_timed(const Words& words) {
  const Clock::time_point start = Clock::now();
  const auto done = run_process(words);
  CAPTURE(words[0]);
  CAPTURE(done.error);
  REQUIRE(done.code == 0);
  return seconds_since(start);
}

/// A long command: what it starts from, its words, and what tells one outcome from another.
struct Long {
  std::string name;
  std::function<void(const fs::path& store)> prepare;
  std::function<Words(const fs::path& store)> words;
  std::function<std::string(const fs::path& store)> outcome;
};

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("Ctrl-C and SIGTERM end every long command, and it can be given again") {
    const testing::TempDir dir;
    std::mt19937 random(1);
    const auto file = [&](const char* name) { return (dir / name).string(); };
    std::string edges, requests;
    for (int i = 0; i < 100'000; ++i) {
      const std::string edge = std::to_string(random() % 20'000) + " " + std::to_string(random() % 20'000) + "\n";
      edges += edge;
      if (i % 40 == 0) requests += "edge " + edge;
    }
    std::vector<float> features(std::size_t{20'000} * 32);
    std::vector<std::int32_t> labels(20'000);
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(random() % 7) / 100;
    std::string ids = "# nodes\n";
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::int32_t>(random() % 3);
      ids += std::to_string(i) + "\n";
    }
    testing::write_file(file("edges"), edges);
    testing::write_file(file("requests"), requests);
    testing::write_file(file("ids"), ids);
    testing::write_file(file("x.npy"), testing::npy("<f4", "(20000, 32)", features));
    testing::write_file(file("y.npy"), testing::npy("<i4", "(20000,)", labels));
    const Words import = {"import",   file("imported"), "--edges", file("edges"),          "--features", file("x.npy"),
                          "--labels", file("y.npy"),    "--split", "train=" + file("ids"), "--nodes",    "20000"};
    const auto with = [](Words words, const fs::path& store, const Words& more = {}) {
      words.insert(words.begin() + 1, store.string());
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    REQUIRE(run_process(import).code == 0);
    fs::copy(file("imported"), file("propagated"), fs::copy_options::recursive);
    run_timed({"propagate", file("propagated"), "--hops", "2"});
    fs::copy(file("propagated"), file("trained"), fs::copy_options::recursive);
    run_timed({"train", file("trained"), "--solver", "newton", "--seed", "1"});
    fs::copy(file("trained"), file("streamed"), fs::copy_options::recursive);
    run_timed({"stream", file("streamed"), "--requests", file("requests"), "--batch", "500"});

    const auto from = [&](const char* name) {
      return [&, name](const fs::path& store) { fs::copy(dir / name, store, fs::copy_options::recursive); };
    };
    const auto files = [](const fs::path& store) {
      std::string all;
      for (const auto& [path, bytes] : testing::folder_bytes(store))
        if (path != "certificates/requests") all += path + bytes;  // which says when purges were
      return all;
    };
    const auto digest = [](const fs::path& store) { return info_of(store).at("digest").get<std::string>(); };
    const Long commands[] = {
        {"import", [](const fs::path&) {},
         [&](const fs::path& store) {
           Words words = import;
           words[1] = store.string();
           return words;
         },
         digest},
        {"propagate", from("imported"),
         [&](const fs::path& store) {
           return with({"propagate", "--hops", "2"}, store);
         },
         digest},
        {"train", from("propagated"),
         [&](const fs::path& store) {
           return with({"train", "--solver", "newton", "--seed", "1"}, store);
         },
         [](const fs::path& store) { return info_of(store).at("models").at(0).at("id").get<std::string>(); }},
        {"stream", from("trained"),
         [&](const fs::path& store) {  // the rest of the requests
           std::size_t first = 0;
           for (std::uint64_t done = info_of(store).at("acknowledged"); done > 0; --done)
             first = requests.find('\n', first) + 1;
           testing::write_file(file("rest"), requests.substr(first));
           return with({"stream", "--batch", "100", "--solver", "newton"}, store, {"--requests", file("rest")});
         },
         digest},
        {"purge", from("streamed"), [&](const fs::path& store) { return with({"purge"}, store); }, files},
        {"verify", from("trained"),
         [&](const fs::path& store) {
           return with({"verify", "--sample", "all"}, store);
         },
         files},
        {"export", from("trained"),
         [&](const fs::path& store) {
           return with({"export"}, store, {"--embeddings", file("z.npy")});
         },
         [&](const fs::path& store) { return files(store) + testing::read_all(file("z.npy")); }},
    };
    int ended_by_signals = 0;
    for (const Long& command : commands) {
      CAPTURE(command.name);
      const fs::path calm = dir / "calm", store = dir / "s";
      command.prepare(calm);
      const double usual = run_timed(command.words(calm));
      const std::string expected = command.outcome(calm);
      int signals = 0;
      double longest = 0;
      for (const int signal : {SIGINT, SIGTERM, SIGINT, SIGTERM}) {
        command.prepare(store);
        const pid_t process = testing::start_program(command.words(store), dir / "out");
        ::usleep(static_cast<useconds_t>(usual * 1e6 * static_cast<double>(random() % 1000) / 1000));
        const Clock::time_point start = Clock::now();
        REQUIRE(::kill(process, signal) == 0);
        const int code = testing::wait_for(process);
        longest = std::max(longest, seconds_since(start));
        REQUIRE((code == -signal || code == 0));  // a shell shows 128 + signal
        signals += code != 0 ? 1 : 0;
        const bool imported = command.name == "import" && fs::exists(store / "manifest.json");  // at its very end
        if (code != 0 && !imported) run_timed(command.words(store));
        CHECK((command.outcome(store) == expected));
        fs::remove_all(store);
      }
      MESSAGE(command.name, ": ended by ", signals, " of 4 signals, the longest took ", longest, " s");
      CHECK(longest < 10);
      ended_by_signals += signals;
      fs::remove_all(calm);
    }
    CHECK(ended_by_signals > 7);  // 28 signals at random moments: most come before the end
  }
}

}  // namespace unweave
