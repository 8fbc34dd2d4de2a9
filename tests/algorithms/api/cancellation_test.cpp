// tests/algorithms/api/cancellation_test.cpp - whoever watches work hears how far it has come, and
// may end it: the store is whole then.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "unweave/ingest.h"
#include "unweave/maintenance.h"
#include "unweave/store.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

/// Cancels at the k-th piece of news; never for k = 0.
class Impatient final : public WorkMeter {
 public:
  explicit Impatient(std::uint64_t at = 0) : at_(at) {}
  std::vector<std::string> steps;
  std::atomic<std::uint64_t> news = 0;

  void start(std::string_view step, std::uint64_t, std::string_view) override { steps.emplace_back(step); }

 protected:
  void add(std::uint64_t) noexcept override { ++news; }
  [[nodiscard]] bool cancelled() noexcept override { return at_ > 0 && news >= at_; }

 private:
  std::uint64_t at_;
};

constexpr ResourceLimits kLimits{std::uint64_t{1} << 30, 2};

SolverOptions options_of_newton() {
  SolverOptions options;
  options.lambda = 0.01;
  return options;
}

/// Runs `work` once to the end on a store that `make` has made, and again for each of its pieces of
/// news, where it is cancelled. `is_whole` judges what is left.
template <class Make, class Work, class IsWhole>
void cancel_everywhere(const Make& make, const Work& work, const IsWhole& is_whole) {
  const testing::TempDir folder;
  make(folder / "all");
  Impatient patient;
  {
    Resources resources(kLimits, &patient);
    work(folder / "all", resources);
  }
  REQUIRE(patient.news > 0);
  REQUIRE_FALSE(patient.steps.empty());
  const std::uint64_t all = patient.news, stride = 1 + all / 12;
  for (std::uint64_t at = 1; at <= all; at += stride) {
    CAPTURE(at);
    const std::filesystem::path store = folder / ("s" + std::to_string(at));
    make(store);
    Impatient meter(at);
    Resources resources(kLimits, &meter);
    CHECK_THROWS_AS(work(store, resources), Cancelled);
    is_whole(store);
  }
}

void make_store(const std::filesystem::path& store) {
  testing::write_store(store, testing::random_store(200, 600, 8, 3));
  testing::propagate_store(store, testing::tiny_spec(2, false));
}

void require_whole(const std::filesystem::path& store) {
  Resources resources(kLimits);
  const VerifyReport report = verify_store(store, {std::nullopt, true}, resources);
  CHECK(report.ok());
  for (const Finding& finding : report.findings) MESSAGE(finding.text);
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("a training that is cancelled leaves the store as it was, and can be made again") {
    cancel_everywhere(
        make_store,
        [](const std::filesystem::path& store, Resources& resources) {
          static_cast<void>(Writer(store, resources).train({.solver = "newton", .options = options_of_newton()}));
        },
        [](const std::filesystem::path& store) {
          require_whole(store);
          Resources resources(kLimits);
          CHECK_THROWS_AS(static_cast<void>(read_models(store, {})), UsageError);
          CHECK(Writer(store, resources).train({.options = options_of_newton()}).report.certified);
        });
  }

  TEST_CASE("a propagation that is cancelled leaves the embedding that was there") {
    cancel_everywhere(
        make_store,
        [](const std::filesystem::path& store, Resources& resources) {
          Writer(store, resources).propagate(testing::tiny_spec(3, true));
        },
        [](const std::filesystem::path& store) {
          Resources resources(kLimits);
          CHECK(describe_store(store, resources).propagation->levels == 2);
          require_whole(store);
        });
  }

  TEST_CASE("a purge that is cancelled has purged nothing, or everything, and is finished by the next one") {
    cancel_everywhere(
        [](const std::filesystem::path& store) {
          make_store(store);
          Resources resources(kLimits);
          Writer writer(store, resources);
          StreamSession session(writer);
          static_cast<void>(session.send(std::vector<Request>{{RequestKind::remove_node, 5, 0}}));
          session.close();
        },
        [](const std::filesystem::path& store, Resources& resources) { purge_store(store, {}, resources); },
        [](const std::filesystem::path& store) {
          require_whole(store);
          Resources resources(kLimits);
          purge_store(store, {}, resources);
          CHECK(describe_store(store, resources).acknowledged == 0);
          require_whole(store);
        });
  }

  TEST_CASE("an import and a synthetic store that are cancelled leave nothing") {
    const testing::TempDir files;
    std::string edges;
    for (int i = 0; i < 3000; ++i) edges += std::to_string(i % 97) + " " + std::to_string(i * 7 % 101) + "\n";
    testing::write_file(files / "edges", edges);
    const auto nothing = [](const std::filesystem::path&) {};
    const auto is_empty = [](const std::filesystem::path& store) {
      CHECK((!std::filesystem::exists(store) || std::filesystem::is_empty(store)));
    };
    cancel_everywhere(
        nothing,
        [&](const std::filesystem::path& store, Resources& resources) {
          ImportOptions options;
          options.edges = InputFile{(files / "edges").string(), {}};
          import_store(store, options, resources);
        },
        is_empty);
    cancel_everywhere(
        nothing,
        [](const std::filesystem::path& store, Resources& resources) {
          GenerateOptions options;
          options.scale = 10;
          options.features = 4;
          generate_store(store, options, resources);
        },
        is_empty);
  }

  TEST_CASE("a batch cannot be cancelled in its midst, whatever its watcher wants") {
    const testing::TempDir folder;
    make_store(folder / "s");
    Impatient meter(1);
    Resources resources(kLimits);
    Writer writer(folder / "s", resources);
    static_cast<void>(writer.train({.solver = "retrain", .options = options_of_newton()}));
    StreamSession session(writer, {.model = {.solver = "retrain"}});
    resources.set_meter(&meter);
    const BatchOutcome outcome = session.send(std::vector<Request>{{RequestKind::remove_node, 5, 0}});
    resources.set_meter(nullptr);
    CHECK(meter.news > 0);
    REQUIRE(outcome.step);
    CHECK(outcome.step->retrained);
    session.close();
    require_whole(folder / "s");
  }

  TEST_CASE("a check that is cancelled says nothing of the store, and leaves its bytes") {
    const testing::TempDir folder;
    make_store(folder / "s");
    const auto bytes = testing::folder_bytes(folder / "s");
    cancel_everywhere(
        [&](const std::filesystem::path& store) {
          std::filesystem::copy(folder / "s", store, std::filesystem::copy_options::recursive);
        },
        [](const std::filesystem::path& store, Resources& resources) {
          static_cast<void>(verify_store(store, {std::nullopt, true}, resources));
        },
        [&](const std::filesystem::path& store) {
          CHECK((testing::folder_bytes(store) == bytes));
          require_whole(store);
        });
  }
}

}  // namespace unweave
