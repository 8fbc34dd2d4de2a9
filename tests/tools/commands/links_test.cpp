// tests/tools/commands/links_test.cpp - links from import to prediction on the command line, and
// what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::Npy;
using testing::Result;
using testing::run;
using testing::write_file;

constexpr int kLinkNodes = 80;

/// Two groups of nodes, with more edges within than between, and features that tell the group.
struct LinkWorld {
  testing::TempDir dir;
  std::string store = path("s");
  std::set<std::pair<int, int>> edges;

  LinkWorld() {
    std::mt19937 random(5);
    std::string text, features;
    for (int u = 0; u < kLinkNodes; ++u) {
      for (int c = 0; c < 4; ++c)
        features += std::to_string((c == u % 2 ? 4 : 0) + static_cast<int>(random() % 3)) + " ";
      features += "\n";
      for (int v = u + 1; v < kLinkNodes; ++v)
        if (random() % 100 < (u % 2 == v % 2 ? 24 : 3)) edges.insert({u, v});
    }
    for (const auto& [u, v] : edges) text += std::to_string(u) + " " + std::to_string(v) + "\n";
    write_file(dir / "e", text);
    write_file(dir / "x", features);
    must({"import", store, "--edges", path("e"), "--features", path("x"), "--nodes", std::to_string(kLinkNodes),
          "--pairs", "valid=.2,test=.2,negatives=2"});
    must({"propagate", store, "--rho", "1"});
    must({"train", store, "--pair", "hadamard,by=16", "--scale-rows", "unit"});
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir / name).string(); }
  static Result must(const std::vector<std::string>& words) {
    Result result = run(words);
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    return result;
  }
  /// The message of a command that is refused, one line.
  static std::string refusal(const std::vector<std::string>& words) {
    const Result result = run(words);
    CAPTURE(result.error);
    CHECK(result.code != 0);
    CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
    return result.error;
  }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("links are learnt, measured, predicted and unlearnt on the command line") {
    const LinkWorld world;
    const auto info = LinkWorld::must({"info", world.store, "--json"}).json();
    CHECK(info.at("pairs") == "valid=0.2,test=0.2,share=1,negatives=2");
    CHECK(info.at("edges").get<std::size_t>() + info.at("held_edges").get<std::size_t>() == world.edges.size());
    CHECK(info.at("models").at(0).at("rows") == "levels unit pair hadamard,by=16");
    const auto evaluation = LinkWorld::must({"evaluate", world.store, "--json"}).json();
    const auto& test = evaluation.at("links").at("test");
    CHECK(test.at("auc").get<double>() > 0.7);
    CHECK(test.at("others").get<std::size_t>() == 2 * test.at("edges").get<std::size_t>());
    CHECK(test.at("hits_10").is_number());
    CHECK(test.at("mrr").get<double>() > 0);
    CHECK(evaluation.at("metrics").at("test").at("classes").at(0).at("class") == "edge");
    // The AUC of the class of edges is that of links.
    CHECK(evaluation.at("metrics").at("test").at("classes").at(0).at("auc") == test.at("auc"));
    const std::string printed = LinkWorld::must({"evaluate", world.store}).out;
    CHECK(printed.find("Hits@50") != std::string::npos);
    write_file(world.dir / "others", "0 1\n3 4\n5 60\n");
    const auto given = LinkWorld::must({"evaluate", world.store, "--json", "--negatives", world.path("others")}).json();
    CHECK(given.at("links").at("test").at("others") == 3);
    CHECK(given.at("links").at("test").at("mrr").is_null());

    LinkWorld::must({"export", world.store, "--pairs", world.path("p.npy"), "--split", "test"});
    const std::vector<std::int64_t> pairs = Npy<std::int64_t>(world.dir / "p.npy").values;
    CHECK(pairs.size() == 3 * (test.at("edges").get<std::size_t>() + test.at("others").get<std::size_t>()));
    std::string list;
    for (std::size_t i = 0; i < pairs.size(); i += 3) {
      list += std::to_string(pairs[i]) + " " + std::to_string(pairs[i + 1]) + "\n";
      const auto [u, v] = std::minmax({static_cast<int>(pairs[i]), static_cast<int>(pairs[i + 1])});
      CHECK(world.edges.contains({u, v}) == (pairs[i + 2] == 1));
    }
    write_file(world.dir / "list", list);
    const auto said = LinkWorld::must({"predict", world.store, "--pairs", world.path("list"), "--json"}).lines();
    REQUIRE(said.size() == pairs.size() / 3);
    double right = 0, compared = 0;
    for (std::size_t i = 0; i < said.size(); ++i) {
      CHECK(said[i].at("u") == pairs[3 * i]);
      CHECK(said[i].at("v") == pairs[3 * i + 1]);
      const double score = said[i].at("score");
      CHECK(std::abs(said[i].at("probability").get<double>() - 1 / (1 + std::exp(-score))) < 1e-9);
      for (std::size_t j = 0; j < said.size(); ++j) {
        if (pairs[3 * i + 2] != 1 || pairs[3 * j + 2] == 1) continue;
        const double other = said[j].at("score");
        ++compared;
        right += score > other ? 1 : score == other ? 0.5 : 0;
      }
    }
    CHECK(test.at("auc").get<double>() == doctest::Approx(right / compared));
    LinkWorld::must({"predict", world.store, "--pairs", world.path("list"), "--probabilities", world.path("q.npy")});
    CHECK(Npy<double>(world.dir / "q.npy").values.at(0) == said[0].at("probability"));
    write_file(world.dir / "ids", "# nodes\n7\n12\n");
    const auto best =
        LinkWorld::must({"predict", world.store, "--links", world.path("ids"), "--top", "4", "--json"}).lines();
    REQUIRE(best.size() == 8);
    for (const auto& link : best) {
      const auto [u, v] = std::minmax({link.at("u").get<int>(), link.at("v").get<int>()});
      CHECK_FALSE(world.edges.contains({u, v}));
      CHECK(u % 2 == v % 2);
    }
    const auto held = std::find_if(world.edges.begin(), world.edges.end(), [&](const auto& edge) {
      for (std::size_t i = 0; i < pairs.size(); i += 3)
        if (pairs[i] == edge.first && pairs[i + 1] == edge.second && pairs[i + 2] == 1) return true;
      return false;
    });
    REQUIRE(held != world.edges.end());
    const std::string ends = std::to_string(held->first) + " " + std::to_string(held->second);
    write_file(world.dir / "r", "edge " + ends + "\nnode 3\ninsert-edge " + ends + "\nedge " + ends + "\n");
    const auto batch = LinkWorld::must({"stream", world.store, "--requests", world.path("r"), "--json"}).lines();
    CHECK(batch.at(0).at("applied") == 4);
    CHECK(batch.at(0).at("edges_held") == 3);
    LinkWorld::must({"stream", world.store, "--requests", "/dev/null", "--solver", "exact"});
    LinkWorld::must({"verify", world.store});
    LinkWorld::must({"export", world.store, "--rows", world.path("rows.npy"), "--pairs", world.path("train.npy")});
    CHECK(Npy<float>(world.dir / "rows.npy").values.size() / 4 ==
          Npy<std::int64_t>(world.dir / "train.npy").values.size() / 3);
  }

  TEST_CASE("nodes without data, and pairs of no edge that are edges, are told") {
    const LinkWorld world;
    write_file(world.dir / "r", "node 3\n");
    LinkWorld::must({"stream", world.store, "--requests", world.path("r"), "--solver", "exact"});
    write_file(world.dir / "ids", "# nodes\n7\n3\n");
    write_file(world.dir / "pairs", "7 3\n3 9\n");
    const std::string note = "note: node 3 has no edges, features and label";
    CHECK(LinkWorld::must({"predict", world.store, "--links", world.path("ids"), "--top", "2"}).error.find(note) !=
          std::string::npos);
    CHECK(LinkWorld::must({"predict", world.store, "--pairs", world.path("pairs")}).error.find(note) !=
          std::string::npos);
    const auto edge = std::find_if(world.edges.begin(), world.edges.end(),
                                   [](const auto& ends) { return ends.first != 3 && ends.second != 3; });
    write_file(world.dir / "negatives",
               "7 3\n" + std::to_string(edge->first) + " " + std::to_string(edge->second) + "\n");
    CHECK(LinkWorld::must({"evaluate", world.store, "--negatives", world.path("negatives")})
              .error.find("1 of 2 pairs are edges of the store") != std::string::npos);
  }

  TEST_CASE("attacks on models of links: canaries, and edges that were removed") {
    const LinkWorld world;
    LinkWorld::must({"train", world.store, "--name", "lifted", "--pair", "hadamard", "--lift", "16,at=node"});
    const auto audits = LinkWorld::must({"audit", world.store, "--trials", "16", "--json"}).lines();
    REQUIRE(audits.size() == 8);
    for (const auto& one : audits) CHECK(one.at("refuted") == false);
    CHECK(audits[3].at("canary") == "planted");
    const std::string copy = world.path("copy");
    std::filesystem::copy(world.store, copy, std::filesystem::copy_options::recursive);
    LinkWorld::must(
        {"export", world.store, "--requests", world.path("gone"), "--draw", "edge", "--count", "60", "--seed", "1"});
    LinkWorld::must({"stream", world.store, "--requests", world.path("gone"), "--solver", "exact"});
    const auto evaluations =
        LinkWorld::must({"evaluate", world.store, "--name", "exact", "--before", copy, "--retrain", "--json"}).lines();
    REQUIRE(evaluations.size() == 2);
    for (const auto& one : evaluations) {
      CHECK(one.at("forgotten_rows") > 20);
      CHECK(one.at("mia_auc").is_number());
      CHECK(one.at("removed_edges") > 20);
      CHECK(one.at("trend_auc") > 0.5);
      CHECK(one.at("trend_likeness_auc").is_null());
    }
    CHECK(evaluations[1].at("trend_auc") == evaluations[1].at("trend_auc_retrained"));
    write_file(world.dir / "lines",
               LinkWorld::must({"evaluate", world.store, "--name", "exact", "--json"}).out + audits[0].dump() + "\n");
    LinkWorld::must({"report", world.path("lines"), "--out", world.path("page.html")});
    const std::string page = testing::read_all(world.dir / "page.html");
    CHECK(page.find("Hits@100") != std::string::npos);
    CHECK(page.find(">test<") != std::string::npos);
  }

  TEST_CASE("links with directions are learnt, measured, predicted and unlearnt on the command line") {
    const testing::TempDir dir;
    const auto path = [&](const std::string& name) { return (dir / name).string(); };
    const std::string store = path("s");
    std::mt19937 random(9);
    std::set<std::pair<int, int>> arcs;
    std::string text, features;
    // Arcs lead from even nodes to odd ones, and few of them back.
    for (int u = 0; u < kLinkNodes; ++u) {
      for (int c = 0; c < 4; ++c)
        features += std::to_string((c == u % 2 ? 4 : 0) + static_cast<int>(random() % 3)) + " ";
      features += "\n";
      for (int v = 0; v < kLinkNodes; ++v)
        if (random() % 100 < (u % 2 == 0 && v % 2 == 1 ? 24 : 2)) arcs.insert({u, v});
    }
    for (const auto& [u, v] : arcs) text += std::to_string(u) + " " + std::to_string(v) + "\n";
    write_file(dir / "e", text);
    write_file(dir / "x", features);
    const auto must = [](const std::vector<std::string>& words) { return LinkWorld::must(words); };
    must({"import", store, "--edges", path("e"), "--features", path("x"), "--nodes", std::to_string(kLinkNodes),
          "--directed", "--pairs", "valid=.2,test=.2"});
    must({"propagate", store, "--rho", "1"});
    must({"train", store, "--pair", "both,by=16", "--scale-rows", "unit", "--rows-of", "stack,degree"});
    const auto info = must({"info", store, "--json"}).json();
    CHECK(info.at("edges").get<std::size_t>() + info.at("held_edges").get<std::size_t>() == arcs.size());
    const auto test = must({"evaluate", store, "--json"}).json().at("links").at("test");
    CHECK(test.at("auc").get<double>() > 0.6);
    must({"export", store, "--pairs", path("p.npy"), "--split", "test"});
    const std::vector<std::int64_t> pairs = Npy<std::int64_t>(dir / "p.npy").values;
    for (std::size_t i = 0; i < pairs.size(); i += 3)
      CHECK(arcs.contains({static_cast<int>(pairs[i]), static_cast<int>(pairs[i + 1])}) == (pairs[i + 2] == 1));
    write_file(dir / "list", "2 3\n3 2\n4 4\n");  // a node and itself are a pair
    const auto said = must({"predict", store, "--pairs", path("list"), "--json"}).lines();
    REQUIRE(said.size() == 3);
    CHECK(said[0].at("score") != said[1].at("score"));
    CHECK(must({"evaluate", store, "--json", "--negatives", path("list")}).json().at("links").at("test").at("others") ==
          3);
    write_file(dir / "ids", "# nodes\n6\n7\n");
    const auto best = must({"predict", store, "--links", path("ids"), "--top", "3", "--json"}).lines();
    REQUIRE(best.size() == 6);
    for (std::size_t i = 0; i < best.size(); ++i) {
      const int u = best[i].at("u"), v = best[i].at("v");
      CHECK(u == (i < 3 ? 6 : 7));
      CHECK(u != v);
      CHECK_FALSE(arcs.contains({u, v}));
      if (i < 3) CHECK(v % 2 == 1);
    }
    const auto arc = std::find_if(arcs.begin(), arcs.end(), [&](const auto& one) {
      return !arcs.contains({one.second, one.first});
    });
    const std::string ends = std::to_string(arc->first) + " " + std::to_string(arc->second),
                      back = std::to_string(arc->second) + " " + std::to_string(arc->first);
    write_file(dir / "r", "edge " + back + "\nedge " + ends + "\ninsert-edge " + back + "\nnode 5\ninsert-edge 9 9\n");
    const auto batch = must({"stream", store, "--requests", path("r"), "--solver", "exact", "--json"}).lines();
    CHECK(batch.at(0).at("applied").get<int>() >= 3);
    CHECK(batch.at(0).at("rejections").at(0).at("reason") == "absent-edge");
    must({"verify", store});
    for (const auto& one : must({"audit", store, "--trials", "16", "--json"}).lines())
      CHECK(one.at("refuted") == false);
    const auto exported = must({"export", store, "--all", path("all"), "--json"});
    must({"purge", store, "--quiet"});
    must({"verify", store});
    CHECK(must({"info", store, "--json"}).json().at("models").size() == 1);
  }

  TEST_CASE("what links are not for is refused in one line with a remedy") {
    const LinkWorld world;
    write_file(world.dir / "ids", "# nodes\n7\n");
    write_file(world.dir / "loop", "7 7\n");
    write_file(world.dir / "far", "7 80\n");
    const auto refusal = [](const std::vector<std::string>& words) { return LinkWorld::refusal(words); };
    CHECK(refusal({"predict", world.store}).find("--pairs F` or `unweave predict") != std::string::npos);
    CHECK(refusal({"predict", world.store, "--graphs", world.path("ids")}).find("classes to pairs") !=
          std::string::npos);
    CHECK(refusal({"predict", world.store, "--nodes", world.path("ids")}).find("pairs") != std::string::npos);
    CHECK(refusal({"predict", world.store, "--pairs", world.path("loop")})
              .find(world.path("loop") + ": pair 1: node 7 and itself") != std::string::npos);
    CHECK(refusal({"evaluate", world.store, "--negatives", world.path("loop")}).find("itself") != std::string::npos);
    CHECK(refusal({"predict", world.store, "--pairs", world.path("far")}).find("80") != std::string::npos);
    CHECK(refusal({"predict", world.store, "--links", world.path("ids"), "--top", "0"}).find("--top") !=
          std::string::npos);
    CHECK(refusal({"predict", world.store, "--top", "3"}).find("--links") != std::string::npos);
    CHECK(refusal({"predict", world.store, "--links", world.path("ids"), "--scores", world.path("q.npy")})
              .find("--links") != std::string::npos);
    CHECK(refusal({"evaluate", world.store, "--nodes", world.path("ids")}).find("--nodes") != std::string::npos);
    CHECK(refusal({"export", world.store, "--rows", world.path("q.npy"), "--nodes", world.path("ids")}).find("pair") !=
          std::string::npos);
    CHECK(refusal({"export", world.store, "--roles", world.path("q.npy")}).find("--edges") != std::string::npos);
    CHECK(refusal({"export", world.store, "--requests", world.path("q"), "--draw", "node", "--count", "3"})
              .find("--nodes") != std::string::npos);
    CHECK(refusal({"train", world.store, "--pair", "hadamard", "--rows-of", "auto"}).find("--pair") !=
          std::string::npos);
    CHECK(refusal({"train", world.store, "--lift", "24,at=node"}).find("at=node") != std::string::npos);
    CHECK(refusal({"audit", world.store, "--canary", "plant"}).find("planted") != std::string::npos);
    CHECK(refusal({"train", world.store, "--pair", "product"}).find("hadamard") != std::string::npos);
    CHECK(refusal({"train", world.store, "--pair", "hadamard", "--solver", "scalegun"}).find("exact") !=
          std::string::npos);
    CHECK(refusal({"train", world.store, "--name", "other"}).find("--pair hadamard,by=16") != std::string::npos);
    CHECK(refusal({"plan", world.store, "--solver", "exact"}).find("--pair hadamard,by=16") != std::string::npos);
    CHECK(refusal({"import", world.path("t"), "--edges", world.path("e"), "--pairs", "valid=10%"})
              .find("number behind =") != std::string::npos);
    CHECK(refusal({"import", world.path("t"), "--edges", world.path("e"), "--pairs", "valid=2"}).find("valid=2") !=
          std::string::npos);
    CHECK(refusal({"import", world.path("t"), "--relation", "a=" + world.path("e"), "--pairs", "valid=.1"})
              .find("--relation") != std::string::npos);
  }
}

TEST_SUITE("slow") {
  TEST_CASE(
      "an import, a stream and a purge of links that are killed at any place come to their end when they run again") {
    namespace fs = std::filesystem;
    const LinkWorld world;
    const auto copy_of = [&](const std::string& name) {
      fs::remove_all(world.path(name));
      fs::copy(world.store, world.path(name), fs::copy_options::recursive);
      return world.path(name);
    };
    const auto digest_of = [](const std::string& store) { return testing::info_of(store).at("digest"); };
    const auto weights_of = [](const std::string& store) {
      return testing::info_of(store).at("models").at(0).at("digest");
    };
    std::string requests;
    for (int i = 0; i < 6; ++i)
      requests += "edge " + std::to_string(i) + " " + std::to_string(i + 2) + "\nnode " + std::to_string(40 + i) +
                  "\ninsert-edge " + std::to_string(i) + " " + std::to_string(70 + i) + "\n";
    write_file(world.dir / "r", requests);
    const auto stream = [&](const std::string& store) {
      return std::vector<std::string>{"stream", store,     "--requests", world.path("r"), "--solver",
                                      "exact",  "--batch", "4",          "--quiet"};
    };
    const std::string streamed = copy_of("streamed");
    testing::must(stream(streamed));
    const auto after = digest_of(streamed), learnt = weights_of(streamed);
    testing::must({"purge", streamed, "--quiet"});
    const auto purged = digest_of(streamed);
    CHECK(weights_of(streamed) == learnt);
    const long calls = testing::calls_of(stream(copy_of("counted")));
    for (int round = 0; round < 8; ++round) {
      CAPTURE(round);
      const std::string killed = copy_of("killed");
      CHECK(testing::run_stopped(stream(killed), {SIGKILL, 1 + calls * round / 8}, world.dir / "out") != 0);
      testing::must(stream(killed));  // what was applied is rejected the second time
      CHECK(digest_of(killed) == after);
      CHECK(weights_of(killed) == learnt);
      testing::must({"verify", killed, "--quiet"});
      const long purge_calls = 40;
      static_cast<void>(testing::run_stopped({"purge", killed, "--quiet"}, {SIGKILL, 1 + purge_calls * round / 8},
                                             world.dir / "out"));
      testing::must({"purge", killed, "--quiet"});
      CHECK(digest_of(killed) == purged);
      testing::must({"verify", killed, "--quiet"});
    }
    for (long call = 1; call < 40; call += 4) {
      CAPTURE(call);
      const std::string killed = world.path("made");
      fs::remove_all(killed);
      const std::vector<std::string> words{"import",     killed,
                                           "--edges",    world.path("e"),
                                           "--features", world.path("x"),
                                           "--nodes",    std::to_string(kLinkNodes),
                                           "--pairs",    "valid=.2,test=.2,negatives=2",
                                           "--order",    "degree",
                                           "--quiet"};
      static_cast<void>(testing::run_stopped(words, {SIGKILL, call}, world.dir / "out"));
      if (!fs::exists(killed + "/manifest.json")) testing::must(words);
      testing::must({"verify", killed, "--quiet"});
      testing::must({"propagate", killed, "--rho", "1", "--quiet"});
      CHECK(digest_of(killed) == digest_of(world.store));
    }
  }
}

}  // namespace unweave
