// tests/tools/commands/whole_program_test.cpp - the program as its user runs it: streams against
// fresh imports, and kill -9.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "support/input_files.h"
#include "support/process.h"
#include "support/skip.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::must;
using testing::run_process;
using Json = nlohmann::json;
using EdgeSet = std::set<std::pair<unsigned, unsigned>>;

Json info(const std::filesystem::path& store) {
  const testing::Finished done = run_process({"info", store.string(), "--json"});
  REQUIRE(done.code == 0);
  return Json::parse(done.out);
}

void write_edges(const std::filesystem::path& path, const EdgeSet& edges) {
  std::ofstream file(path);
  for (const auto& [u, v] : edges) file << u << '\t' << v << '\n';
}

EdgeSet random_edges(unsigned nodes, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  EdgeSet edges;
  while (edges.size() < count) {
    const auto u = static_cast<unsigned>(random() % nodes);
    const auto v = static_cast<unsigned>(random() % (random() % 4 == 0 ? 20 : nodes));  // some hubs
    if (u != v) edges.insert({std::min(u, v), std::max(u, v)});
  }
  return edges;
}

/// Features as NumPy would write them: rows of one-hot pairs, every row of norm below 1.
void write_features(const std::filesystem::path& path, unsigned nodes, unsigned columns) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(nodes) + ", " +
                       std::to_string(columns) + "), }";
  header.resize(118, ' ');
  header[117] = '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00\x76\x00", 10);
  file << header;
  for (unsigned u = 0; u < nodes; ++u) {
    std::vector<float> row(columns);
    row[u % columns] = 0.5F;
    row[(u * 7 + 3) % columns] -= 0.25F;
    file.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(columns * sizeof(float)));
  }
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("called through the dynamic loader, the program is the same") {
    const std::filesystem::path loader = "/lib64/ld-linux-x86-64.so.2";
    if (!std::filesystem::exists(loader)) {
      testing::skip("the dynamic loader lies elsewhere");
      return;
    }
    const testing::TempDir folder;
    const std::string words = " info " + (folder / "none").string() + " 2> " + (folder / "error").string();
    const int ended = std::system((loader.string() + " " + UNWEAVE_BINARY + words).c_str());
    CHECK(WEXITSTATUS(ended) == 2);
    CHECK(testing::read_all(folder / "error").find("no store here") != std::string::npos);
  }

  TEST_CASE(
      "kill -9 before any call that changes files loses no acknowledged request, and the rest of the stream reaches the same bits") {
    constexpr unsigned kNodes = 3000;
    const testing::TempDir folder;
    EdgeSet edges = random_edges(kNodes, 12000, 1);
    write_edges(folder / "edges.tsv", edges);
    write_features(folder / "x.npy", kNodes, 24);
    std::vector<std::string> requests;
    for (const auto& [u, v] : edges)
      if (requests.size() < 1500 && (u + v) % 3 == 0)
        requests.push_back("edge " + std::to_string(u) + " " + std::to_string(v));
    for (const std::string mode : {"exact", "lazy"}) {
      CAPTURE(mode);
      const std::string victim = (folder / ("victim-" + mode)).string();
      const std::string calm = (folder / ("calm-" + mode)).string();
      for (const std::string& store : {victim, calm}) {
        // The two lie in different orders, which must not show.
        must({"import", store, "--edges", (folder / "edges.tsv").string(), "--features", (folder / "x.npy").string(),
              "--order", store == victim ? "degree" : "none"});
        must({"propagate", store, "--rows", "all"});
      }
      const auto stream = [&](const std::string& store, std::size_t first) {
        std::ofstream file(folder / "rest.txt");
        for (std::size_t i = first; i < requests.size(); ++i) file << requests[i] << '\n';
        std::vector<std::string> words{"stream",  store, "--requests", (folder / "rest.txt").string(),
                                       "--batch", "5",   "--json"};
        if (mode == "lazy") words.insert(words.end(), {"--r-max", "0.01"});
        return words;
      };
      const long calls = testing::calls_of(stream(calm, 0));

      std::mt19937_64 random(7);
      std::size_t acknowledged = 0;
      int kills = 0;
      for (bool ended = false; !ended && kills < 500;) {
        const testing::Stop stop{SIGKILL, 1 + static_cast<long>(random() % static_cast<unsigned long>(calls / 10))};
        const int code = testing::run_stopped(stream(victim, acknowledged), stop, folder / "lines.jsonl");
        REQUIRE((code == -SIGKILL || code == 0));
        ended = code == 0;
        if (!ended) ++kills;
        // What a line said is durable; the store may hold the batch after it too.
        std::uint64_t said = acknowledged;
        std::ifstream lines(folder / "lines.jsonl");
        for (std::string line; std::getline(lines, line);)
          if (!line.empty() && line.back() == '}') said = Json::parse(line).at("last_request").get<std::uint64_t>();
        const auto held = info(victim).at("acknowledged").get<std::uint64_t>();
        CHECK(held >= said);
        CHECK(held % 5 == 0);
        acknowledged = held;
      }
      CHECK(kills > 9);
      CHECK(acknowledged == requests.size());
      CHECK(info(victim).at("digest") == info(calm).at("digest"));
      CHECK(run_process({"verify", victim, "--sample", "all"}).code == 0);
    }
  }
}

TEST_SUITE("data") {
  TEST_CASE("cora: an exact stream has the digest of a fresh import of what remains") {
    const std::filesystem::path data = std::filesystem::path(std::getenv("UNWEAVE_DATA")) / "cora";
    const testing::TempDir folder;
    const auto import = [&](const std::string& store, const std::string& edges) {
      must({"import", store, "--edges", edges, "--features",
            "indptr=" + (data / "feat_indptr.npy").string() + ",indices=" + (data / "feat_indices.npy").string(),
            "--columns", "1433", "--labels", (data / "labels.npy").string(), "--split",
            "train=" + (data / "train_idx.npy").string() + ",test=" + (data / "test_idx.npy").string()});
      must({"propagate", store});
    };
    EdgeSet edges;
    std::ifstream source(data / "edges.tsv");
    for (std::string line; std::getline(source, line);) {
      unsigned u = 0;
      unsigned v = 0;
      if (std::sscanf(line.c_str(), "%u %u", &u, &v) == 2) edges.insert({std::min(u, v), std::max(u, v)});
    }
    REQUIRE(edges.size() == 5278);
    import((folder / "streamed").string(), (data / "edges.tsv").string());
    {
      std::ofstream requests(folder / "requests.txt");
      std::mt19937_64 random(5);
      for (auto it = edges.begin(); it != edges.end();) {
        if (random() % 10 == 0) {
          requests << "edge " << it->second << ' ' << it->first << '\n';
          it = edges.erase(it);
        } else {
          ++it;
        }
      }
    }
    must({"stream", (folder / "streamed").string(), "--requests", (folder / "requests.txt").string(), "--batch", "40"});
    write_edges(folder / "rest.tsv", edges);
    import((folder / "fresh").string(), (folder / "rest.tsv").string());
    const Json streamed = info(folder / "streamed");
    const Json fresh = info(folder / "fresh");
    CHECK(streamed.at("digest") == fresh.at("digest"));
    CHECK(streamed.at("edges") == edges.size());
    CHECK(run_process({"verify", (folder / "streamed").string(), "--sample", "all", "--rebuild"}).code == 0);
  }
}

}  // namespace unweave
