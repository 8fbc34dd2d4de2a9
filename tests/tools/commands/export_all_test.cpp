// tests/tools/commands/export_all_test.cpp - `export --all`, and the import that takes it back.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::run;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("export --all: import.txt makes the store again, whose digest is equal") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), all = (dir / "all").string(), again = (dir / "again").string();
    testing::write_store(store, testing::random_store(80, 300, 4, 5));
    testing::write_file(dir / "r",
                        "node 3\nset-feature 5 0.5 0 0.25 0\nset-label 7 1\nmove-split 7 train\nfeature 9\n");
    REQUIRE(run({"stream", store, "--requests", (dir / "r").string()}).code == 0);
    const testing::Result exported = run({"export", store, "--all", all});
    CHECK(exported.error == "");
    REQUIRE(exported.code == 0);
    const std::string text = testing::read_all(fs::path(all) / "import.txt");
    CHECK(text.ends_with("\n" + exported.out));
    std::vector<std::string> words;
    std::istringstream in(exported.out);
    for (std::string word; in >> word;) {
      // The command is to be given in the folder; here its files get their whole names.
      for (const char* key : {"train=", "valid=", "test=", "indptr=", "indices=", "values="})
        for (std::size_t at = word.find(key); at != std::string::npos; at = word.find(key, at + 1))
          word.insert(at + std::string(key).size(), all + "/");
      if (word == "edges.npy" || word == "features.npy" || word == "labels.npy") word = all + "/" + word;
      words.push_back(word == "STORE" ? again : word);
    }
    REQUIRE(words.front() == "unweave");
    words.erase(words.begin());
    CHECK(run(words).code == 0);
    CHECK(run({"info", again, "--json"}).json()["digest"] == run({"info", store, "--json"}).json()["digest"]);
    CHECK(run({"export", store, "--all", all}).code == 1);
    CHECK(run({"export", store, "--all", (dir / "s" / "in").string()}).code == 1);
    CHECK(run({"export", store, "--all", (dir / "new").string(), "--labels", "-"}).code == 1);
  }

  TEST_CASE("export --all: relations bring their real weights along, and an import takes them by their names") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string(), all = (dir / "all").string(), again = (dir / "again").string();
    const std::string heavy = testing::write_file(dir / "heavy.txt", "0 1 0.35\n1 2 2\n").string();
    const std::string light = testing::write_file(dir / "light.txt", "0 2 0.5\n1 2 1.25\n").string();
    const auto import = [&](const std::string& into, const std::vector<std::string>& more) {
      std::vector<std::string> words{"import",        into, "--nodes",   "4",         "--subset", "heavy,light",
                                     "--self-weight", "7",  "--weights", "unit=2^-10"};
      words.insert(words.end(), more.begin(), more.end());
      return run(words);
    };
    const std::vector<std::string> texts{"--relation", "heavy=" + heavy, "--relation", "light=" + light};
    REQUIRE(import(store, texts).code == 0);
    const testing::Result exported = run({"export", store, "--all", all});
    REQUIRE(exported.code == 0);
    CHECK(exported.out.find("--edge-weights 'heavy=weights-0.npy' --edge-weights 'light=weights-1.npy'") !=
          std::string::npos);
    std::vector<std::string> arrays{"--relation",     "heavy=" + all + "/edges-0.npy[0,1]",
                                    "--relation",     "light=" + all + "/edges-1.npy[0,1]",
                                    "--edge-weights", "heavy=" + all + "/weights-0.npy"};
    const testing::Result without = import(again, arrays);
    CHECK(without.code != 0);
    CHECK(without.error.find("edges-1.npy") != std::string::npos);
    CHECK_MESSAGE(without.error.find("--edge-weights light=F.npy") != std::string::npos, without.error);
    arrays.insert(arrays.end(), {"--edge-weights", "light=" + all + "/weights-1.npy"});
    REQUIRE(import(again, arrays).code == 0);
    CHECK(run({"info", again, "--json"}).json()["digest"] == run({"info", store, "--json"}).json()["digest"]);
    CHECK(run({"info", store, "--json"}).json()["weight_unit"] == 1.0 / 1024);
    CHECK(run({"info", store}).out.find(" 2^-10\n") != std::string::npos);  // and not 0.0009766
    const auto refuses = [&](const std::string& weights, const std::string& said) {
      std::vector<std::string> words = texts;
      words.insert(words.end(), {"--edge-weights", weights});
      const testing::Result result = import(again, words);
      CHECK(result.code == 1);
      CHECK_MESSAGE(result.error.find(said) != std::string::npos, result.error);
    };
    // Where nobody has declared weights, the remedy is the one that relations take, and it works.
    std::filesystem::remove_all(again);
    std::vector<std::string> undeclared{"import", again, "--nodes", "4"};
    undeclared.insert(undeclared.end(), texts.begin(), texts.end());
    const testing::Result told = run(undeclared);
    CHECK(told.code == 2);
    CHECK_MESSAGE(told.error.find("--weights unit=U") != std::string::npos, told.error);
    CHECK_MESSAGE(told.error.find("--max-weight") == std::string::npos, told.error);
    undeclared.insert(undeclared.end(), {"--weights", "unit=2^-10"});
    CHECK(run(undeclared).code == 0);
    refuses("w.npy", "RELATION=FILE");
    refuses("hevy=w.npy", "heavy");
  }
}

}  // namespace unweave
