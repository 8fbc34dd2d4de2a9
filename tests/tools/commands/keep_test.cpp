// tests/tools/commands/keep_test.cpp - propagate --keep through the commands that read such a
// store, or refuse to change it.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;

Result keeps_ok(const std::vector<std::string>& words) {
  Result result = run(words);
  CAPTURE(words[0]);
  CAPTURE(result.error);
  CHECK(result.code == 0);
  return result;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "propagate --keep: plan, info, export, models, verify, purge and repair know the rows, and streams refuse them") {
    const testing::TempDir dir;
    const std::string store = (dir / "store").string(), requests = (dir / "requests.txt").string();
    const std::string sums = (dir / "sums.npy").string(), rows = (dir / "rows.npy").string();
    testing::write_store(dir / "store", testing::random_store(150, 500, 18, 9));
    const std::string nodes = (dir / "nodes.txt").string();
    std::ofstream(requests) << "node 5\n";
    std::ofstream(nodes) << "1\n2\n";
    keeps_ok({"propagate", store, "--scheme", "ppr:0.2", "--rows", "all"});
    CHECK(keeps_ok({"info", store, "--json"}).json()["keep"] == "state");
    keeps_ok({"export", store, "--embeddings", sums});
    for (const std::string keep : {"embedding", "hops"}) {
      const std::vector<std::string> options{"--scheme", "ppr:0.2", "--rows", "all", "--keep", keep};
      std::vector<std::string> plan{"plan", store, "--json"}, propagate{"propagate", store};
      plan.insert(plan.end(), options.begin(), options.end());
      propagate.insert(propagate.end(), options.begin(), options.end());
      const auto planned = keeps_ok(plan).json();
      keeps_ok(propagate);
      const auto info = keeps_ok({"info", store, "--json"}).json();
      CHECK(info["keep"] == keep);
      CHECK(info["keep_type"] == "f32");
      CHECK(info["keep_exponent"] == 0);
      CHECK(planned["state_bytes"] == info["bytes"]["state"]);
      keeps_ok({"export", store, "--embeddings", rows});
      if (keep == "embedding") CHECK(testing::read_all(rows) == testing::read_all(sums));
      CHECK(run({"export", store, "--embeddings", rows, "--weights", "1,0,1"}).code == (keep == "hops" ? 0 : 1));
      keeps_ok({"train", store});
      std::istringstream log(testing::read_all(dir / "store" / "certificates" / "exact.jsonl"));
      std::string line, last;
      while (std::getline(log, line)) last = line;
      CHECK(nlohmann::json::parse(last)["rows"] == nlohmann::json{{"keep", keep}, {"type", "f32"}, {"exponent", 0}});
      keeps_ok({"predict", store, "--nodes", nodes});
      keeps_ok({"evaluate", store});
      keeps_ok({"verify", store, "--rebuild"});
      for (const std::vector<std::string>& words :
           std::vector<std::vector<std::string>>{{"stream", store, "--requests", requests},
                                                 {"plan", store, "--requests", requests},
                                                 {"stream", store, "--requests", requests, "--r-max", "0.1"}}) {
        const Result refused = run(words);
        CAPTURE(refused.error);
        CHECK(refused.code == 1);
        CHECK(refused.error.find("--keep state") != std::string::npos);
      }
      keeps_ok({"purge", store});
      keeps_ok({"repair", store});
      keeps_ok({"verify", store, "--rebuild"});
    }
    keeps_ok({"propagate", store, "--keep", "hops", "--keep-type", "f16", "--keep-exponent", "-2"});
    const auto info = keeps_ok({"info", store, "--json"}).json();
    CHECK(info["keep_type"] == "f16");
    CHECK(info["keep_exponent"] == -2);
    keeps_ok({"verify", store, "--rebuild"});
  }

  TEST_CASE("options of kept rows that say nothing, or too much, are refused") {
    const testing::TempDir dir;
    const std::string store = (dir / "store").string();
    testing::write_store(dir / "store", testing::path_of_three());
    const auto refused = [&](const std::vector<std::string>& options) {
      std::vector<std::string> words{"propagate", store};
      words.insert(words.end(), options.begin(), options.end());
      const Result result = run(words);
      CAPTURE(result.error);
      CHECK(result.code == 1);
      return result.error;
    };
    CHECK(refused({"--keep", "embeddings"}).find("embedding") != std::string::npos);
    CHECK(refused({"--keep-type", "f16"}).find("--keep embedding") != std::string::npos);
    CHECK(refused({"--keep", "state", "--keep-exponent", "1"}).find("--keep embedding") != std::string::npos);
    refused({"--keep", "hops", "--keep-exponent", "1"});
    refused({"--keep", "hops", "--keep-type", "f16", "--keep-exponent", "1.5"});
    refused({"--keep", "hops", "--keep-type", "f16", "--keep-exponent", "65"});
    refused({"--keep", "hops", "--keep-type", "f64"});
    const Result large = run({"propagate", store, "--keep", "hops", "--keep-type", "f16", "--keep-exponent", "20"});
    CHECK(large.code == 2);
    CHECK(large.error.find("--keep-exponent") != std::string::npos);
  }
}

}  // namespace unweave
