// tests/tools/commands/chebyshev_test.cpp - a store of Chebyshev blocks through the commands that
// read or change it.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "propagate --scheme chebyshev: models with a filter train, follow a stream and are verified; purge keeps it") {
    const testing::TempDir dir;
    const std::string store = (dir / "store").string(), requests = (dir / "requests.txt").string();
    testing::TinyStore contents = testing::random_store(120, 400, 5, 9);
    testing::write_store(dir / "store", contents);
    const auto ok = [](const std::vector<std::string>& words) {
      Result result = run(words);
      CAPTURE(words[0]);
      CAPTURE(result.error);
      CHECK(result.code == 0);
      return result;
    };
    const std::vector<std::string> propagate{"propagate", store, "--hops", "3", "--scheme", "chebyshev"};
    std::vector<std::string> coarse = propagate;
    coarse.insert(coarse.end(), {"--scale-bits", "27"});
    CHECK(run(coarse).error.find("needs --scale-bits of at least 28") != std::string::npos);
    ok(propagate);
    CHECK(ok({"info", store, "--json"}).json()["scale_bits"] == 28);
    ok({"train", store, "--solver", "newton"});
    ok({"train", store, "--solver", "finetune", "--weights", "0,0,0,1"});
    CHECK(run({"train", store, "--weights", "1,0,0,0,1,0,0,0"}).code == 1);
    const Result deep = ok({"train", store, "--solver", "scalegun", "--head", "mlp", "--hidden", "6", "--json"});
    CHECK(deep.lines()[0]["certified"] == false);
    CHECK(deep.lines()[0]["claim"].is_null());
    CHECK(deep.lines()[0]["budget"].is_null());
    ok({"train", store, "--solver", "hessian-free", "--head", "mlp", "--hidden", "3"});

    std::ofstream(requests) << "edge 0 " << contents.edges[0].v << "\nnode 5\nfeature 8\nnode 12\ninsert-edge 3 90\n";
    for (const char* solver : {"newton", "scalegun", "hessian-free", "finetune"}) {
      const auto lines =
          ok({"stream", store, "--requests", requests, "--batch", "2", "--solver", solver, "--json"}).lines();
      for (const auto& line : lines) CHECK(line["certified"] == (std::string(solver) == "newton"));
      std::ofstream(requests) << "node " << 20 + solver[0] % 50 << "\n";
    }
    ok({"verify", store, "--rebuild"});
    ok({"evaluate", store, "--retrain"});
    ok({"plan", store, "--solver", "langevin"});
    const std::string nodes = (dir / "nodes.txt").string(), z = (dir / "z.npy").string();
    std::ofstream(nodes) << "# nodes\n" << contents.test[0] << "\n";
    ok({"export", store, "--embeddings", z, "--nodes", nodes});
    std::ifstream file(z, std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(file), {}).find("(1, 20)") != std::string::npos);
    ok({"purge", store});
    const auto info = ok({"info", store, "--json"}).json();
    CHECK(info["weights"].size() == 16);
    CHECK(info["scheme"] == "chebyshev");
  }
}

}  // namespace unweave
