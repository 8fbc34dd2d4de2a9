// tests/tools/commands/train_memory_test.cpp - training rows that are larger than the budget of
// memory.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/process.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::must;

/// Flat data: points around one centre a class.
std::vector<std::string> flat_data(const testing::TempDir& folder, unsigned rows, unsigned columns, unsigned classes) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.05F);
  std::vector<float> centres(std::size_t{classes} * columns), values;
  for (float& x : centres) x = normal(random);
  std::vector<std::int32_t> labels(rows), train(rows - 100);
  for (unsigned i = 0; i < rows; ++i) {
    labels[i] = static_cast<std::int32_t>(random() % classes);
    if (i < train.size()) train[i] = static_cast<std::int32_t>(i);
    for (unsigned f = 0; f < columns; ++f)
      values.push_back(centres[static_cast<unsigned>(labels[i]) * columns + f] + normal(random));
  }
  const std::string count = std::to_string(rows);
  testing::write_file(folder / "x.npy",
                      testing::npy("<f4", "(" + count + ", " + std::to_string(columns) + ")", values));
  testing::write_file(folder / "y.npy", testing::npy("<i4", "(" + count + ",)", labels));
  testing::write_file(folder / "train.npy", testing::npy("<i4", "(" + std::to_string(rows - 100) + ",)", train));
  return {"--features", (folder / "x.npy").string(),
          "--labels",   (folder / "y.npy").string(),
          "--split",    "train=" + (folder / "train.npy").string()};
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("a model of rows larger than the budget is the model of a large budget, bit for bit") {
    const testing::TempDir folder;
    const std::vector<std::string> sources = flat_data(folder, 200'000, 64, 5);  // 51 MB
    testing::write_file(folder / "key", std::string(64, 'c') + "\n");
    testing::write_file(folder / "requests.txt", "node 7\nnode 150000\nnode 99\nfeature 31\n");
    for (const std::string solver : {"exact", "newton", "scalegun"}) {
      CAPTURE(solver);
      std::vector<std::string> models;
      for (const std::string memory : {"40M", "2G"}) {
        const std::string store = (folder / (solver + memory)).string();
        std::vector<std::string> words{"import", store};
        words.insert(words.end(), sources.begin(), sources.end());
        must(words);
        must({"propagate", store, "--hops", "0", "--weights", "1"});
        const std::vector<std::string> options{
            "--memory", memory, "--solver", solver, "--seed", "3", "--json", "--key", (folder / "key").string()};
        words = {"train", store};
        words.insert(words.end(), options.begin(), options.end());
        const Json trained = Json::parse(must(words));
        if (memory == "40M") CHECK(trained["peak_anonymous_bytes"] < 40 << 20);
        CHECK(trained["accuracy_train"] > 0.9);
        words = {"stream", store, "--requests", (folder / "requests.txt").string(), "--batch", "2"};
        words.insert(words.end(), options.begin(), options.end());
        must(words);
        models.push_back(testing::read_all(std::filesystem::path(store) / "models" / (solver + ".model")));
      }
      CHECK(models[0] == models[1]);
    }
  }
}

}  // namespace unweave
