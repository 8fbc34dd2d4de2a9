// tests/tools/commands/import_scale_test.cpp - `import --scale`: which rows come out, what is said
// of them, and that a purge keeps it; and how large sums of sparse features become.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/formats/manifest.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::npy;
using testing::Result;
using testing::run;
using testing::TempDir;
using testing::write_file;
using Words = std::vector<std::string>;

void import_well(const Words& words) {
  const Result result = run(words);
  CAPTURE(result.error);
  REQUIRE(result.code == 0);
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The features that a store keeps: its embedding of no hops.
std::vector<float> kept_features(const TempDir& dir, const std::string& store, std::size_t values) {
  const std::string out = (dir / "z.npy").string();
  import_well({"propagate", store, "--hops", "0", "--weights", "1", "--rows", "all"});
  import_well({"export", store, "--embeddings", out});
  const std::string bytes = testing::read_all(out);
  std::vector<float> z(values);
  std::memcpy(z.data(), bytes.data() + bytes.size() - 4 * values, 4 * values);
  return z;
}

const std::vector<float> kRows{3, 4, 0.5F, 0, 0, 0, -6, 8};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("--scale: rows above norm 1 are divided by their norm, all by a bound, or none may be above") {
    const TempDir dir;
    const std::string dense = write_file(dir / "x.npy", npy<float>("<f4", "(4, 2)", kRows)).string();
    const std::string indptr = write_file(dir / "p.npy", npy<std::int64_t>("<i8", "(5,)", {0, 2, 3, 3, 5})).string();
    const std::string indices = write_file(dir / "i.npy", npy<std::int32_t>("<i4", "(5,)", {0, 1, 0, 0, 1})).string();
    const std::string values = write_file(dir / "v.npy", npy<float>("<f4", "(5,)", {3, 4, 0.5F, -6, 8})).string();
    const std::vector<Words> inputs{
        {"--features", dense},
        {"--features", dense, "--feature-type", "f16"},
        {"--features", dense, "--order", "degree", "--nodes", "4"},
        {"--features", dense, "--memory", "32M"},
        {"--features", "indptr=" + indptr + ",indices=" + indices + ",values=" + values, "--columns", "2"}};
    struct Case {
      std::string scale;
      std::vector<double> rows;
      int scaled;
    };
    const std::vector<Case> cases{
        {"rows", {0.6, 0.8, 0.5, 0, 0, 0, -0.6, 0.8}, 2},         {"10", {0.3, 0.4, 0.05, 0, 0, 0, -0.6, 0.8}, 0},
        {"16", {0.1875, 0.25, 0.03125, 0, 0, 0, -0.375, 0.5}, 0}, {"5", {0.6, 0.8, 0.1, 0, 0, 0, -0.6, 0.8}, 1},
        {"0.25", {0.6, 0.8, 1, 0, 0, 0, -0.6, 0.8}, 3},           {"1", {0.6, 0.8, 0.5, 0, 0, 0, -0.6, 0.8}, 2}};
    int stores = 0;
    for (const Words& input : inputs)
      for (const Case& one : cases) {
        CAPTURE(one.scale);
        const std::string store = (dir / ("s" + std::to_string(++stores))).string();
        const Result result = run(joined({"import", store, "--json", "--scale", one.scale}, input));
        CAPTURE(result.error);
        REQUIRE(result.code == 0);
        const auto json = result.json();
        CHECK(json["rows_scaled"] == one.scaled);
        CHECK(json["largest_norm"] == 10);
        // Whoever has chosen a number is told where it does not reach, and what does.
        const bool has_note = one.scaled > 0 && one.scale != "rows" && one.scale != "1";
        const std::string note = std::to_string(one.scaled) + " of 4 rows are longer than --scale " + one.scale;
        CHECK((result.error.find(note) != std::string::npos) == has_note);
        CHECK((result.error.find("such as --scale 16") != std::string::npos) == has_note);
        const std::string said = one.scale == "1" ? "rows" : one.scale;
        CHECK(json["scale"] == said);
        CHECK(run({"info", store, "--json"}).json()["scale"] == said);
        const std::vector<float> kept = kept_features(dir, store, 8);
        for (std::size_t i = 0; i < 8; ++i)
          CHECK(static_cast<double>(kept[i]) == doctest::Approx(one.rows[i]).epsilon(1e-3));
        CHECK(run({"verify", store}).code == 0);
      }
    const std::string none = (dir / "none").string();
    for (const Words& input : inputs) {
      const Result refused = run(joined({"import", none, "--scale", "none"}, input));
      CHECK(refused.code == 2);
      for (const char* part : {"row 0: norm 5 is above 1", "2 rows", "--scale 16", "--scale rows"})
        CHECK(refused.error.find(part) != std::string::npos);
      CHECK(!std::filesystem::exists(none));
    }
    const std::string table = run({"import", (dir / "t").string(), "--features", dense, "--scale", "10"}).out;
    CHECK(table.find("divided by 10") != std::string::npos);
  }

  TEST_CASE("--scale none takes rows within norm 1 as they are, and what normalising in float32 leaves") {
    const TempDir dir;
    const std::vector<float> rows{0.6F, 0.8F, 1.0000001F, 0, 0.1F, 0.2F};
    const std::string x = write_file(dir / "x.npy", npy<float>("<f4", "(3, 2)", rows)).string();
    const std::string store = (dir / "s").string();
    import_well({"import", store, "--features", x, "--scale", "none"});
    CHECK(run({"info", store, "--json"}).json()["scale"] == "none");
    CHECK(read_manifest(store).scale.as_given);
    const std::vector<float> kept = kept_features(dir, store, 6);
    for (std::size_t i = 0; i < 6; ++i)
      CHECK(static_cast<double>(kept[i]) == doctest::Approx(static_cast<double>(rows[i])).epsilon(1e-6));
    // As --scale rows keeps them; a manifest that says nothing means rows.
    import_well({"import", (dir / "r").string(), "--features", x});
    CHECK(read_manifest(store).feature_files == read_manifest(dir / "r").feature_files);
    CHECK(read_manifest(dir / "r").scale == FeatureScale());
    CHECK(testing::read_all(dir / "r" / "manifest.json").find("scale\":") == std::string::npos);
  }

  TEST_CASE("--scale refuses what is no bound, and --standardize beside it") {
    const TempDir dir;
    const std::string x = write_file(dir / "x.npy", npy<float>("<f4", "(4, 2)", kRows)).string();
    const std::string store = (dir / "s").string();
    for (const char* bad : {"0", "-1", "nan", "inf", "max", "1e101", "2x"}) {
      const Result refused = run({"import", store, "--features", x, "--scale", bad});
      CHECK(refused.code == 1);
      CHECK(refused.error.find("rows, none or a number") != std::string::npos);
    }
    for (const char* scale : {"rows", "none", "2"})
      CHECK(run({"import", store, "--features", x, "--standardize", "--scale", scale}).code == 1);
    CHECK(run({"import", store, "--nodes", "3", "--scale", "2"}).code == 1);
    CHECK(!std::filesystem::exists(store));
  }

  TEST_CASE("a purge of a scaled store is the import with the same options of what remains, byte for byte") {
    const TempDir dir;
    const std::string edges = write_file(dir / "e.txt", "0 1\n1 2\n2 3\n3 0\n").string();
    const std::string after = write_file(dir / "f.txt", "0 1\n3 0\n").string();
    const std::string x = write_file(dir / "x.npy", npy<float>("<f4", "(4, 2)", kRows)).string();
    const std::string y = write_file(dir / "y.npy", npy<float>("<f4", "(4, 2)", {3, 4, 0.5F, 0, 0, 0, -6, 8})).string();
    const std::string requests = write_file(dir / "r.txt", "node 2\n").string();
    for (const char* scale : {"10", "7", "0.5"}) {
      const std::string store = (dir / (std::string("s") + scale)).string();
      const std::string fresh = (dir / (std::string("f") + scale)).string();
      const Words hops{"--hops", "1", "--weights", "0,1"};
      import_well({"import", store, "--edges", edges, "--features", x, "--scale", scale});
      import_well(joined({"propagate", store}, hops));
      import_well({"stream", store, "--requests", requests});
      import_well({"purge", store});
      import_well({"import", fresh, "--nodes", "4", "--edges", after, "--features", y, "--scale", scale});
      import_well(joined({"propagate", fresh}, hops));
      CHECK(testing::folder_bytes(store) == testing::folder_bytes(fresh));
      CHECK(run({"info", store, "--json"}).json()["scale"] == scale);
    }
  }

  TEST_CASE("a manifest whose scale is no scale is damaged") {
    const TempDir dir;
    const std::string x = write_file(dir / "x.npy", npy<float>("<f4", "(4, 2)", kRows)).string();
    import_well({"import", (dir / "s").string(), "--features", x, "--scale", "16"});
    Manifest manifest = read_manifest(dir / "s");
    CHECK(manifest.scale.divisor == 16);
    for (const double divisor : {0.0, -1.0, 1e200}) {
      manifest.scale.divisor = divisor;
      write_manifest(dir / "s", manifest);
      CHECK(run({"info", (dir / "s").string()}).code == 2);
    }
  }

  TEST_CASE("import and plan say how large the sums of sparse features become") {
    const TempDir dir;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> columns;
    for (int node = 0; node < 200; ++node) {
      columns.push_back(node);
      offsets.push_back(node + 1);
    }
    const std::string indptr = write_file(dir / "p.npy", npy<std::int64_t>("<i8", "(201,)", offsets)).string();
    const std::string indices = write_file(dir / "i.npy", npy<std::int32_t>("<i4", "(200,)", columns)).string();
    const std::string store = (dir / "s").string();
    const Result result =
        run({"import", store, "--json", "--features", "indptr=" + indptr + ",indices=" + indices, "--columns", "2000"});
    REQUIRE(result.code == 0);
    CHECK(result.json()["default_sum_bytes"] == 2 * 200 * 2000 * 4);
    CHECK(result.json()["feature_bytes"] == bytes_of(read_manifest(store).feature_files));
    CHECK(result.error.find("note: sums of propagated features are dense") != std::string::npos);
    CHECK(result.error.find("3.1 MiB") != std::string::npos);
    const Result plan = run({"plan", store});
    CAPTURE(plan.error);
    CHECK(plan.code == 0);
    CHECK(plan.out.find("as many times") != std::string::npos);
    CHECK(run({"plan", store, "--json"}).json()["feature_bytes"] == result.json()["feature_bytes"]);
    const std::string x = write_file(dir / "x.npy", npy<float>("<f4", "(4, 2)", kRows)).string();
    CHECK(run({"import", (dir / "d").string(), "--features", x}).error.empty());
  }
}

}  // namespace unweave
