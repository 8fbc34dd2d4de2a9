// tests/tools/commands/import_report_test.cpp - what `import` says of the files that it read: what
// it changed, what it left out, and what may not have been meant.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::npy;
using testing::Result;
using testing::TempDir;
using testing::write_file;

/// Imports into a folder of its own.
struct Importer {
  TempDir dir;
  int stores = 0;

  std::string file(const std::string& name, const std::string& bytes) const {
    return write_file(dir / name, bytes).string();
  }
  Result import(std::vector<std::string> words, bool json = true) {
    words.insert(words.begin(), {"import", (dir / ("s" + std::to_string(++stores))).string()});
    if (json) words.emplace_back("--json");
    Result result = testing::run(words);
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    return result;
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of features above norm 1 are counted, with the largest norm; rows normalised in float32 are not") {
    Importer importer;
    const std::string x =
        importer.file("x.npy", npy<float>("<f4", "(4, 2)", {3, 4, 0.1F, 0, 0.6F, 0.8F, 1.0000001F, 0}));
    for (const std::string order : {"none", "degree"}) {
      const auto json = importer.import({"--features", x, "--order", order}).json();
      CHECK(json["rows_scaled"] == 1);
      CHECK(json["largest_norm"] == 5);
    }
    const Result table = importer.import({"--features", x}, false);
    CHECK(has(table.out, "rows scaled to norm 1"));
    CHECK(has(table.out, "1 of 4"));
    CHECK(has(table.out, "largest norm of a row"));
    CHECK(table.error.empty());
    const std::string indptr = importer.file("p.npy", npy<std::int64_t>("<i8", "(4,)", {0, 2, 2, 6}));
    const std::string indices = importer.file("i.npy", npy<std::int32_t>("<i4", "(6,)", {0, 2, 0, 1, 2, 3}));
    const auto sparse =
        importer.import({"--features", "indptr=" + indptr + ",indices=" + indices, "--columns", "4"}).json();
    CHECK(sparse["rows_scaled"] == 2);
    CHECK(sparse["largest_norm"] == 2);
    const auto none = importer.import({"--nodes", "3"}).json();
    CHECK(none["rows_scaled"].is_null());
    CHECK(none["largest_norm"].is_null());
  }

  TEST_CASE("edges that stand in one direction only are counted, or the fewest that there can be") {
    Importer importer;
    const auto edges = [&](const std::string& text) {
      return importer.import({"--edges", importer.file("e.txt", text)}).json();
    };
    const auto once = edges("0 1\n2 1\n0 2\n");
    CHECK(once["one_way_edges"] == 3);
    CHECK(once["one_way_edges_exact"] == true);
    const auto repeated = edges("0 1\n0 1\n1 2\n2 2\n");
    CHECK(repeated["one_way_edges"] == 2);
    CHECK(repeated["one_way_edges_exact"] == true);
    CHECK(edges("0 1\n1 0\n1 2\n2 1\n")["one_way_edges"] == 0);
    const auto mixed = edges("0 1\n1 0\n1 2\n3 2\n2 3\n0 3\n");
    CHECK(mixed["one_way_edges"] == 2);
    CHECK(mixed["one_way_edges_exact"] == false);
    const Result table = importer.import({"--edges", importer.file("e.txt", "0 1\n1 0\n1 2\n")}, false);
    CHECK(has(table.out, "made undirected"));
    CHECK(has(table.out, "at least 1"));
    const std::string by_degree = importer.file("e.txt", "0 1\n2 1\n0 2\n");
    CHECK(importer.import({"--edges", by_degree, "--order", "degree"}).json()["one_way_edges"] == 3);
  }

  TEST_CASE("ids that seem to count from 1 are remarked upon, unless the number of nodes was declared") {
    Importer importer;
    const std::string edges = importer.file("e.txt", "1 2\n2 3\n3 1\n");
    const Result result = importer.import({"--edges", edges});
    CHECK(has(result.error, "note: "));
    CHECK(has(result.error, "no edge has node 0"));
    CHECK(has(result.error, "e.txt"));
    CHECK(importer.import({"--edges", edges, "--quiet"}).error.empty());
    CHECK(importer.import({"--edges", edges, "--nodes", "4"}).error.empty());
    CHECK(importer.import({"--edges", importer.file("f.txt", "0 2\n2 3\n")}).error.empty());
    CHECK(importer.import({"--edges", importer.file("g.txt", "0 0\n1 2\n")}).error.empty());
    const std::string labels = importer.file("l.txt", "# labels\n0\n1\n0\n1\n");
    // Where labels tell it, node 0 or the last one has no edge.
    CHECK(has(importer.import({"--edges", edges, "--labels", labels}).error, "no edge has node 0"));
    CHECK(importer.import({"--edges", edges, "--labels", labels, "--nodes", "4"}).error.empty());
    const std::string declared =
        importer.file("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n2 3\n3 4\n");
    CHECK_FALSE(has(importer.import({"--edges", declared}).error, "no edge has node 0"));
  }

  TEST_CASE("empty classes are printed, and remarked upon where class 0 is one of them that nobody declared") {
    Importer importer;
    const std::string ones = importer.file("l.txt", "1\n2\n4\n1\n");
    const Result result = importer.import({"--labels", ones});
    CHECK(result.json()["empty_classes"] == 2);
    CHECK(result.json()["first_empty_classes"] == std::vector<int>{0, 3});
    CHECK(has(result.error, "no node has class 0"));
    const Result declared = importer.import({"--labels", ones, "--classes", "6"});
    CHECK(declared.error.empty());
    CHECK(declared.json()["first_empty_classes"] == std::vector<int>{0, 3, 5});
    CHECK(has(importer.import({"--labels", ones, "--classes", "60"}, false).out,
              "57: 0, 3, 5, 6, 7, 8, 9, 10, 11, 12, ..."));
    const Result good = importer.import({"--labels", importer.file("l.txt", "# labels\n0\n1\n-1\n0\n1\n0\n1\n")});
    CHECK(good.json()["empty_classes"] == 0);
    CHECK(good.error.empty());
    // About as many as the classes have: it may be one.
    CHECK(has(importer.import({"--labels", importer.file("l.txt", "# labels\n0\n1\n-1\n0\n")}).error,
              "stands for no class"));
    CHECK(importer.import({"--nodes", "3"}).json()["empty_classes"].is_null());
    CHECK(importer.import({"--labels", importer.file("l.txt", "-1\n-1\n")}).error.empty());
  }

  TEST_CASE("more than 1,000 classes are remarked upon, unless they were declared") {
    Importer importer;
    const std::string labels = importer.file("l.txt", "# labels\n0\n1000\n");
    const Result result = importer.import({"--labels", labels});
    CHECK(has(result.error, "the largest label, 1000, makes 1001 classes"));
    CHECK(result.json()["empty_classes"] == 999);
    CHECK(importer.import({"--labels", labels, "--classes", "1001"}).error.empty());
    CHECK(importer.import({"--labels", importer.file("l.txt", "# labels\n0\n999\n")}).error.empty());
  }

  TEST_CASE("weights are refused, or ignored and counted") {
    Importer importer;
    const std::string store = (importer.dir / "none").string();
    for (const std::string& edges :
         {importer.file("e.txt", "0 1 0.5\n"),
          importer.file("e.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 100\n")}) {
      const Result refused = testing::run({"import", store, "--edges", edges});
      CHECK(refused.code == 2);
      CHECK(has(refused.error, "weight"));
      CHECK(has(refused.error, "--ignore-weights"));
      const Result taken = importer.import({"--edges", edges, "--ignore-weights"});
      CHECK(taken.json()["ignored_weights"] == 1);
      CHECK(taken.json()["edges"] == 1);
      CHECK(has(importer.import({"--edges", edges, "--ignore-weights"}, false).out, "weights ignored"));
    }
    CHECK(importer.import({"--edges", importer.file("p.txt", "0 1\n")}).json()["ignored_weights"] == 0);
  }

  TEST_CASE("header lines and masks are taken, val is valid") {
    Importer importer;
    const std::string edges = importer.file("e.csv", "source,target\n0,1\n1,2\n");
    const std::string labels = importer.file("y.csv", "label\n0\n1\n1\n");
    const std::string features = importer.file("x.csv", "a,b\n0.1,0\n0,0.2\n0,0.3\n");
    const std::string mask = importer.file("m.npy", npy<std::uint8_t>("|b1", "(3,)", {1, 0, 1}));
    const std::string ids = importer.file("i.csv", "node\n1\n");
    const Result result = importer.import({"--nodes", "3", "--edges", edges, "--labels", labels, "--features", features,
                                           "--split", "train=" + mask + ",val=" + ids});
    CHECK(result.json()["edges"] == 2);
    CHECK(result.json()["splits"]["train"] == 2);
    CHECK(result.json()["splits"]["valid"] == 1);
    for (const char* part : {"e.csv: line 1: skipped as a header line: 'source,target'", "y.csv", "x.csv", "i.csv"})
      CHECK(has(result.error, part));
    const Result twice = testing::run(
        {"import", (importer.dir / "none").string(), "--labels", labels, "--split", "val=" + ids + ",valid=" + ids});
    CHECK(twice.code == 1);
    CHECK(has(twice.error, "valid is given twice"));
  }

  TEST_CASE("a header whose first two columns are no ends is not taken for one of edges with weights") {
    Importer importer;
    const std::string ids = importer.file("ids.txt", "n0\nn1\nn2\nn5\n");
    for (const char* const lines :
         {"weight,source,target\n0,1,2\n5,2,0\n", "edge_id,src,dst\n0,1,2\n", "from,weight,to\n0,1,2\n"})
      for (const bool named : {false, true}) {
        CAPTURE(lines);
        const std::string edges = importer.file("e.csv", lines);
        std::vector<std::string> words{"import", (importer.dir / "none").string(), "--edges", edges,
                                       "--ignore-weights"};
        if (named) words.insert(words.end(), {"--ids", ids});
        const Result refused = testing::run(words);
        CHECK(refused.code == 2);
        CHECK(has(refused.error, edges + ": line "));
        if (!named) CHECK(has(refused.error, "the first two columns are taken for the ends"));
      }
    const std::string good = importer.file("e.csv", "source,target,start\n0,1,7\n1,2,9\n");
    CHECK(importer.import({"--edges", good, "--ignore-weights"}).json()["ignored_weights"] == 2);
    CHECK(testing::run({"import", (importer.dir / "none").string(), "--edges", importer.file("e.txt", "0 1 2 3\n"),
                        "--ignore-weights"})
              .code == 2);
  }

  TEST_CASE("a first line of names that looks like a header is asked about, and the answer holds") {
    Importer importer;
    const std::string ids = importer.file("ids.csv", "Node_ID\nann\nbob\n");
    const std::string edges = importer.file("e.csv", "ann,bob\n");
    const Result asked = testing::run({"import", (importer.dir / "none").string(), "--ids", ids, "--edges", edges});
    CHECK(asked.code == 2);
    for (const char* const part : {"line 1", "'Node_ID'", "--header ids=no", "--header ids=yes"})
      CHECK(has(asked.error, part));
    CHECK(importer.import({"--ids", ids, "--edges", edges, "--header", "ids=no"}).json()["nodes"] == 3);
    const Result told = importer.import({"--ids", ids, "--edges", edges, "--header", "ids=yes"});
    CHECK(told.json()["nodes"] == 2);
    CHECK(has(told.error, "skipped as a header line: 'Node_ID'"));
    CHECK(importer.import({"--ids", importer.file("i", "ann\nid\n"), "--edges", importer.file("g", "ann ann\n")})
              .error.empty());
    for (const std::string bad : {"maybe", "edges", "edges=maybe", "splits=yes", "valid=yes", "edges=yes,"}) {
      CAPTURE(bad);
      CHECK(testing::run({"import", (importer.dir / "none").string(), "--edges", edges, "--header", bad}).code == 1);
    }
  }

  TEST_CASE("an import that fails leaves no folder behind that it made") {
    const Importer importer;
    const std::string edges = importer.file("e.txt", "0 x\n");
    const auto refused = [&](const std::filesystem::path& store) {
      CHECK(testing::run({"import", store.string(), "--edges", edges}).code == 2);
    };
    refused(importer.dir / "new/folder/store");
    CHECK_FALSE(std::filesystem::exists(importer.dir / "new"));
    std::filesystem::create_directory(importer.dir / "mine");
    refused(importer.dir / "mine/folder/store/");
    CHECK(std::filesystem::is_empty(importer.dir / "mine"));
  }

  TEST_CASE("splits are printed with their sizes, without the ids that have no label") {
    Importer importer;
    const std::string labels = importer.file("l.txt", "# labels\n0\n1\n-1\n0\n");
    const std::string train = importer.file("t.txt", "# nodes\n0\n1\n2\n"), test = importer.file("u.txt", "3\n");
    const std::vector<std::string> words{"--labels", labels, "--split", "train=" + train + ",test=" + test};
    const auto json = importer.import(words).json();
    CHECK(json["splits"]["train"] == 2);
    CHECK(json["splits"]["valid"].is_null());
    CHECK(json["splits"]["test"] == 1);
    const std::string table = importer.import(words, false).out;
    CHECK(has(table, "nodes of the split train"));
    CHECK(!has(table, "split valid"));
  }
}

}  // namespace unweave
