// tests/tools/commands/import_test.cpp - the command lines of `import` and `generate`: options,
// fields, exit codes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::Result;
using testing::run;

void check_refused(int code, const std::vector<std::string>& words, const std::string& part) {
  const Result result = run(words);
  CAPTURE(result.error);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.error.find(part) != std::string::npos);
}

const std::string kData = UNWEAVE_SOURCE_DIR "/tests/data/debian-deps/";

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("import of the graph that the repository ships") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    const Result result =
        run({"import", store, "--json", "--edges", kData + "edges.tsv.zst", "--columns", "2575", "--features",
             "indptr=" + kData + "feat_indptr.npy.zst,indices=" + kData + "feat_indices.npy.zst", "--labels",
             kData + "labels.npy", "--classes", "58", "--split",
             "train=" + kData + "train_idx.npy,valid=" + kData + "val_idx.npy,test=" + kData + "test_idx.npy"});
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json["nodes"] == 63666);
    CHECK(json["edges"] == 295862);
    CHECK(json["arcs"] == 2 * 295862);
    CHECK(json["edges_read"] == 300370);
    CHECK(json["self_loops"] == 2);
    CHECK(json["duplicates"] == 300370 - 2 - 295862);
    CHECK(json["features"] == 2575);
    CHECK(json["classes"] == 58);
    CHECK(json["bits_per_arc"] < 20);
    for (const char* field : {"seconds", "peak_anonymous_bytes", "bytes_read", "bytes_written"}) CHECK(json[field] > 0);
    CHECK(json.contains("peak_file_bytes"));
    check_refused(1, {"import", store, "--nodes", "3"}, "not an empty folder");
  }

  TEST_CASE("import refuses options that do not fit together, and leaves nothing") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    const std::string edges = testing::write_file(dir / "e.txt", "0 1\n1 x\n").string();
    check_refused(1, {"import", store}, "nothing to import");
    check_refused(1, {"import", store, "--nodes", "3", "--order", "sideways"}, "name one of none, degree");
    check_refused(1, {"import", store, "--nodes", "3", "--columns", "3"}, "--columns");
    check_refused(1, {"import", store, "--features", "indptr=a,indices=b"}, "--columns");
    check_refused(1, {"import", store, "--features", "indptr=a", "--columns", "3"}, "indices=F");
    check_refused(1, {"import", store, "--features", "indptr=a,indices=b,data=c", "--columns", "3"}, "no key 'data'");
    check_refused(1, {"import", store, "--labels", "l", "--split", "train=a,train=b"}, "twice");
    check_refused(1, {"import", store, "--labels", "l", "--split", "train"}, "KEY=FILE");
    check_refused(1, {"import", store, "--edges", "-", "--labels", "-"}, "standard input");
    check_refused(1, {"import", store, "--nodes", "3", "--standardize"}, "--features");
    check_refused(2, {"import", store, "--edges", edges}, "e.txt: line 2");
    CHECK(!std::filesystem::exists(store));
  }

  TEST_CASE("--feature-type f16 of import and generate, and what info says of it") {
    const testing::TempDir dir;
    const std::string values =
        testing::write_file(dir / "x.npy", testing::npy<float>("<f4", "(2, 2)", {0.6F, 0.8F, -0.1F, 0})).string();
    const std::string made = (dir / "made").string(), given = (dir / "given").string();
    REQUIRE(run({"import", given, "--features", values, "--feature-type", "f16", "--quiet"}).code == 0);
    REQUIRE(
        run({"generate", made, "--model", "rmat", "--scale", "6", "--features", "3", "--feature-type", "f16"}).code ==
        0);
    for (const std::string& store : {made, given}) {
      CHECK(run({"info", store, "--json"}).json()["feature_type"] == "f16");
      CHECK(run({"info", store}).out.find("feature type") != std::string::npos);
      CHECK(run({"verify", store}).code == 0);
    }
    REQUIRE(run({"propagate", given, "--hops", "0", "--weights", "1"}).code == 0);
    const std::string out = (dir / "z.npy").string();
    REQUIRE(run({"export", given, "--embeddings", out}).code == 0);
    const std::string bytes = testing::read_all(out);
    std::vector<float> z(4);
    std::memcpy(z.data(), bytes.data() + bytes.size() - 16, 16);
    const std::vector<double> kept{1228.0 / 2048, 1638.0 / 2048, -1638.0 / 16384, 0};
    for (std::size_t i = 0; i < 4; ++i) CHECK(static_cast<double>(z[i]) == doctest::Approx(kept[i]).epsilon(1e-6));

    const std::string none = (dir / "none").string();
    check_refused(1, {"import", none, "--features", values, "--feature-type", "f8"}, "f32 or f16");
    check_refused(1, {"import", none, "--nodes", "2", "--feature-type", "f16"}, "--feature-type needs --features");
    testing::write_file(dir / "nan.npy", testing::npy<float>("<f4", "(1, 2)", {0.6F, NAN}));
    const std::string nan = (dir / "nan.npy").string();
    const Result wide = run({"import", none, "--features", nan});
    CHECK(wide.code == 2);
    check_refused(2, {"import", none, "--features", nan, "--feature-type", "f16"}, wide.error);
    CHECK(!std::filesystem::exists(none));
  }

  TEST_CASE("generate: the same store for any number of threads, sizes as asked") {
    const testing::TempDir dir;
    const std::vector<std::string> words = {"--model", "sbm", "--nodes", "500", "--edges", "2000", "--features", "9"};
    const auto generate = [&](const std::string& name, const std::string& threads) {
      std::vector<std::string> all = {"generate", (dir / name).string(), "--json", "--threads", threads};
      all.insert(all.end(), words.begin(), words.end());
      return run(all);
    };
    const Result result = generate("one", "1");
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json["nodes"] == 500);
    CHECK(json["edges_read"] == 2000);
    CHECK(json["features"] == 9);
    CHECK(json["classes"] == 8);
    CHECK(generate("two", "2").code == 0);
    CHECK(testing::folder_bytes(dir / "one") == testing::folder_bytes(dir / "two"));
  }

  TEST_CASE("generate refuses what it does not know") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    check_refused(1, {"generate", store}, "--model");
    check_refused(1, {"generate", store, "--model", "citation", "--nodes", "0"}, "1 to 4294967295");
    check_refused(1, {"generate", store, "--model", "citation", "--nodes", "1"}, "earlier one to cite");
    check_refused(1, {"generate", store, "--model", "tree"}, "tree");
    check_refused(1, {"generate", store, "--model", "rmat", "--nodes", "5"}, "--scale");
    check_refused(1, {"generate", store, "--model", "sbm", "--nodes", "5", "--scale", "3"}, "one of them");
    check_refused(1, {"generate", store, "--model", "rmat", "--scale", "32"}, "at most 31");
    CHECK(!std::filesystem::exists(store));
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a budget of 64 MiB is obeyed with 2^22 edges") {
    const testing::TempDir dir;
    for (const std::string threads : {"1", "2"}) {
      // A process of its own: this one's memory holds the traces of other tests.
      const std::string out = (dir / ("out" + threads)).string();
      const std::string command = std::string(UNWEAVE_BINARY) + " generate " + (dir / ("s" + threads)).string() +
                                  " --model rmat --scale 18 --features 16 --json --memory 64M --threads " + threads +
                                  " > " + out;
      REQUIRE(std::system(command.c_str()) == 0);
      const auto json = nlohmann::json::parse(testing::read_all(out));
      CHECK(json["edges_read"] == 1 << 22);
      CHECK(json["peak_anonymous_bytes"] < 64 << 20);
    }
  }
}

}  // namespace unweave
