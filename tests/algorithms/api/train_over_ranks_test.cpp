// tests/algorithms/api/train_over_ranks_test.cpp - a training of several ranks leaves the files of
// one process.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "support/tiny_store.h"
#include "unweave/ranks.h"
#include "unweave/store.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// A propagated store of more than a thousand training rows.
class StoreOfRanks {
 public:
  StoreOfRanks() {
    write_store(first_, random_store(8000, 24'000, 12, 3));
    propagate_store(first_, tiny_spec(2, false));
    std::filesystem::create_directory(first_ / "certificates");
    write_file(first_ / "certificates" / "signing-key", std::string(64, '7') + "\n");  // so that logs compare
  }
  [[nodiscard]] std::filesystem::path copy(const std::string& name) const {
    std::filesystem::copy(first_, folder_ / name, std::filesystem::copy_options::recursive);
    return folder_ / name;
  }

 private:
  TempDir folder_;
  std::filesystem::path first_ = folder_ / "first";
};

std::map<std::string, std::string> files_of(const std::filesystem::path& store) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store))
    if (entry.is_regular_file()) files[entry.path().lexically_relative(store).string()] = read_all(entry.path());
  return files;
}

TrainOptions seeded_options(const std::string& solver) {
  TrainOptions how{.solver = solver, .lambda = LambdaChoice::given};
  how.options.lambda = 1e-3;
  how.options.seed = 4;
  return how;
}

/// What rank 0 returns.
TrainedModel train_on(std::size_t size, const std::function<std::filesystem::path(std::size_t)>& store,
                      const TrainOptions& how) {
  TrainedModel trained;
  run_ranks(size, [&](Ranks& ranks) {
    Resources resources({std::uint64_t{1} << 30});
    const std::filesystem::path path = store(ranks.rank());
    if (!ranks.first()) {
      ranks.barrier();
      return follow_training(Reader(path, resources), how);
    }
    Writer writer(path, resources);
    ranks.barrier();
    trained = writer.train(how);
  });
  return trained;
}

TrainedModel train_on(std::size_t size, const std::filesystem::path& store, const TrainOptions& how) {
  return train_on(
      size, [&](std::size_t) { return store; }, how);
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("training over ranks leaves the files of one process, and rank 0 tells the same") {
    const StoreOfRanks made;
    for (const std::string solver : {"exact", "newton", "scalegun"}) {
      CAPTURE(solver);
      for (const LambdaChoice choice : {LambdaChoice::given, LambdaChoice::by_validation}) {
        TrainOptions how = seeded_options(solver);
        how.lambda = choice;
        const bool tuned = choice == LambdaChoice::by_validation;
        if (tuned && solver != "exact") continue;
        const std::string name = solver + (tuned ? "-tuned" : "");
        Resources resources({std::uint64_t{1} << 30});
        const std::filesystem::path alone = made.copy(name);
        // One process may go another way to the weights of `exact`, which its terms tell.
        const bool other_way = solver == "exact";
        const TrainedModel one = other_way ? train_on(2, alone, how) : Writer(alone, resources).train(how);
        if (other_way) {
          const std::filesystem::path process = made.copy(name + "-process");
          static_cast<void>(Writer(process, resources).train(how));
          CHECK(load_model(process, solver).model.published == load_model(alone, solver).model.published);
        }
        REQUIRE(one.rows > 1024);
        for (const std::size_t size : {1U, 3U, 8U}) {
          if (other_way && size == 1) continue;
          CAPTURE(size);
          const std::filesystem::path store = made.copy(name + std::to_string(size));
          const TrainedModel trained = train_on(size, store, how);
          CHECK(files_of(store) == files_of(alone));
          CHECK(trained.public_key == one.public_key);
          CHECK(trained.rows == one.rows);
          CHECK(trained.accuracies.train == one.accuracies.train);
          CHECK(trained.accuracies.valid == one.accuracies.valid);
          CHECK(trained.accuracies.test == one.accuracies.test);
          REQUIRE(trained.lambda_trials.size() == one.lambda_trials.size());
          for (std::size_t i = 0; i < one.lambda_trials.size(); ++i)
            CHECK(trained.lambda_trials[i].accuracy == one.lambda_trials[i].accuracy);
        }
      }
    }
  }

  TEST_CASE("training over ranks refuses what one rank must do alone, and says so on all") {
    const StoreOfRanks made;
    const std::filesystem::path store = made.copy("s");
    const auto before = files_of(store);
    CHECK_THROWS_WITH_AS(static_cast<void>(train_on(2, store, seeded_options("rewind"))),
                         doctest::Contains("rewind does not train over several ranks"), UsageError);
    const std::filesystem::path nowhere = store / "nowhere";
    CHECK_THROWS_AS(static_cast<void>(train_on(2, nowhere, seeded_options("exact"))), DataError);
    CHECK(files_of(store) == before);
  }

  TEST_CASE("a rank takes memory for its own rows, and 16 bytes for each of the others") {
    const StoreOfRanks made;
    const std::filesystem::path store = made.copy("s");
    const auto bytes_of_rank = [&](Ranks* ranks) {
      const StoreReader live(store, ample_budget());
      const TrainingRows rows(live, live.embedding().spec().weights, 1, ample_budget(), ranks);
      return std::pair(rows.memory_bytes(), rows.set().size());
    };
    const auto [whole, count] = bytes_of_rank(nullptr);
    const std::uint64_t besides = 16 * count, values = whole - besides;
    for (const std::size_t size : {2U, 4U}) {
      std::vector<std::uint64_t> bytes(size);
      run_ranks(size, [&](Ranks& ranks) { bytes[ranks.rank()] = bytes_of_rank(&ranks).first; });
      for (const std::uint64_t one : bytes) {
        CHECK(one >= besides);
        CHECK(one <= besides + values / size + values / 4);  // a lane more than its share
      }
      CHECK(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) == whole + (size - 1) * besides);
    }
  }

  TEST_CASE("ranks that see different stores are refused") {
    const StoreOfRanks made;
    const std::filesystem::path store = made.copy("a"), other = made.copy("b");
    propagate_store(other, tiny_spec(1, false));
    CHECK_THROWS_WITH_AS(static_cast<void>(train_on(
                             2, [&](std::size_t rank) { return rank == 0 ? store : other; }, seeded_options("exact"))),
                         doctest::Contains("rank 1 finds other contents than rank 0"), DataError);
  }
}
