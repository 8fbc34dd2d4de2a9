// tests/tools/cli/signals_test.cpp - Ctrl-C and SIGTERM before calls on files of every long
// command: it ends at once, and the same command again reaches what an undisturbed one does.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::calls_of;
using testing::info_of;
using testing::must;
using Words = std::vector<std::string>;

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
    must(import);
    fs::copy(file("imported"), file("propagated"), fs::copy_options::recursive);
    must({"propagate", file("propagated"), "--hops", "2"});
    fs::copy(file("propagated"), file("trained"), fs::copy_options::recursive);
    must({"train", file("trained"), "--solver", "newton", "--seed", "1"});
    fs::copy(file("trained"), file("streamed"), fs::copy_options::recursive);
    must({"stream", file("streamed"), "--requests", file("requests"), "--batch", "500"});

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
    for (const Long& command : commands) {
      CAPTURE(command.name);
      const fs::path calm = dir / "calm", store = dir / "s";
      command.prepare(calm);
      // A command that changes no file but its output is stopped where it reads.
      const bool reads = command.name == "verify" || command.name == "export";
      const testing::FileCalls kind = reads ? testing::FileCalls::reads : testing::FileCalls::changes;
      const long calls = calls_of(command.words(calm), kind);
      REQUIRE(calls > 10);
      const std::string expected = command.outcome(calm);
      for (int tenths = 1; tenths < 10; tenths += 2) {
        CAPTURE(tenths);
        const int signal = tenths % 4 == 1 ? SIGINT : SIGTERM;
        command.prepare(store);
        const int code = testing::run_stopped(command.words(store), {signal, calls * tenths / 10, kind}, dir / "out");
        CHECK(code == -signal);  // a shell shows 128 + signal
        const bool imported = command.name == "import" && fs::exists(store / "manifest.json");  // at its very end
        if (!imported) must(command.words(store));
        CHECK((command.outcome(store) == expected));
        fs::remove_all(store);
      }
      fs::remove_all(calm);
    }
  }
}

}  // namespace unweave
