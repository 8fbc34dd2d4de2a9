// tests/algorithms/api/certify_test.cpp - weights of another program: what is proved of them, and
// what becomes of them under T0 and T1, by loops and files of the test's own.
#include "unweave/certify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/model_store.h"
#include "unweave/maintenance.h"
#include "unweave/rows.h"
#include "unweave/solvers.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::npy;
using testing::read_all;
using testing::write_file;

/// Two stores with the same contents, and gradient descent on the rows of one of them: slow, plain
/// loops in float64.
struct Descended {
  testing::TempDir folder;
  fs::path store = folder / "s", twin = folder / "twin", weights = folder / "W.npy";
  Resources resources{{std::uint64_t{1} << 30}};
  TrainOptions how{.solver = "exact", .lambda = LambdaChoice::given};
  std::size_t rows = 0, features = 0, classes = 0;  // with the intercept
  std::vector<double> values;                       // classes x features
  double gradient = 0;                              // its norm there, by the same loops

  explicit Descended(int steps = 300, std::uint32_t columns = 6) {
    how.options.lambda = 0.01;
    for (const fs::path& path : {store, twin}) {
      testing::write_store(path, testing::random_store(200, 600, columns, 3));
      testing::propagate_store(path, testing::tiny_spec(2, false));
    }
    const StoreReader live(store, testing::ample_budget());
    const TrainingRows held(live, live.embedding().spec().weights, RowForm(1, true), testing::ample_budget());
    const TrainingSet& set = held.set();
    rows = set.size();
    features = set.features();
    classes = set.classes();
    values.assign(classes * features, 0);
    for (int step = 0; step <= steps; ++step) {
      const std::vector<double> slope = slopes(set);
      gradient = 0;
      for (const double x : slope) gradient += x * x;
      gradient = std::sqrt(gradient);
      if (step == steps) break;
      for (std::size_t k = 0; k < values.size(); ++k) values[k] -= slope[k] * 2 / static_cast<double>(rows);
    }
    write(values);
  }
  [[nodiscard]] std::vector<double> slopes(const TrainingSet& set) const {
    std::vector<double> out(values.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = how.options.lambda * static_cast<double>(rows) * values[k];
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t c = 0; c < classes; ++c) {
        double margin = 0;
        for (std::size_t j = 0; j < features; ++j)
          margin += static_cast<double>(set.row(i)[j]) * values[c * features + j];
        const double target = set.labels()[i] == c ? 1 : -1;
        const double slope = -target / (1 + std::exp(target * margin));
        for (std::size_t j = 0; j < features; ++j) out[c * features + j] += slope * static_cast<double>(set.row(i)[j]);
      }
    return out;
  }
  void write(const std::vector<double>& what) const {
    write_file(weights, npy("<f8", "(" + std::to_string(classes) + ", " + std::to_string(features) + ")", what));
  }
  CertifiedModel certify(const TrainOptions& options, const fs::path& of) {
    Writer writer(of, resources);
    return certify_model(writer, {weights}, options);
  }
  CertifiedModel certify(const TrainOptions& options) { return certify(options, store); }
  [[nodiscard]] VerifyReport verify() { return verify_store(store, {std::nullopt, true}, resources); }
};

/// All files below a folder, by name, that end in one of these.
std::string public_text(const fs::path& store) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(store / "certificates"))
    if (entry.path().extension() == ".jsonl" && entry.path().string().find(".private.") == std::string::npos)
      text += read_all(entry.path());
  return text;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("certify by exact: the bits of training, a proved gradient and distance, and nothing of both in public") {
    Descended at;
    const CertifiedModel model = at.certify(at.how);
    CHECK(model.trained.report.certified);
    CHECK(model.trained.report.claim == "T0");
    CHECK(model.given.gradient_bound >= at.gradient * (1 - 1e-9));
    CHECK(model.given.gradient_bound <= at.gradient * 1.03);
    const double mu = 0.01 * static_cast<double>(at.rows);
    CHECK(model.given.distance_bound >= model.given.gradient_bound / mu);
    const double rounding = 0x1p-25 * std::sqrt(static_cast<double>(model.weights));
    CHECK(model.distance > rounding);  // the descent has not ended at the minimiser
    CHECK(model.distance <= model.given.distance_bound + rounding);
    CHECK(model.largest_change <= model.distance);
    CHECK(model.weights == at.features * at.classes);
    CHECK(model.changed > 0);
    CHECK(model.changed <= model.weights);
    CHECK_FALSE(model.as_given);
    CHECK_FALSE(model.trained.report.retrained);

    Writer twin(at.twin, at.resources);
    static_cast<void>(twin.train(at.how));
    CHECK(read_all(at.store / "models" / "exact.model") == read_all(at.twin / "models" / "exact.model"));

    // The public line is a function of present data: the same members with the same values as those
    // of a training.
    auto one = nlohmann::json::parse(public_text(at.store)), other = nlohmann::json::parse(public_text(at.twin));
    for (const char* drawn :
         {"log", "previous", "nonce", "digest", "commitment", "id", "weights_digest", "signature", "public_key"})
      for (auto* line : {&one, &other}) line->erase(drawn);
    CHECK(one == other);
    CHECK(at.verify().ok());
  }

  TEST_CASE("certify by newton releases weights that are near enough as they are, and finishes others") {
    Descended at;
    TrainOptions how = at.how;
    how.solver = "newton";
    how.options.tau = 4 * at.gradient;  // half of it is above the bound
    const CertifiedModel near = at.certify(how);
    CHECK(near.as_given);
    CHECK(near.trained.report.certified);
    CHECK(near.trained.report.claim == "T1");
    CHECK(near.trained.report.steps == 0);
    CHECK(near.trained.report.residual_bound == near.given.gradient_bound);
    const double sigma = near.trained.report.terms.at("sigma");
    CHECK(near.distance > 0.5 * sigma * std::sqrt(static_cast<double>(near.weights)));
    CHECK(near.distance < 2 * sigma * std::sqrt(static_cast<double>(near.weights)));
    CHECK(at.verify().ok());

    how.options.tau = 1.9 * at.gradient;  // half of it is below the gradient, whatever the bound
    const CertifiedModel refined = at.certify(how);
    CHECK_FALSE(refined.as_given);
    CHECK(refined.trained.report.certified);
    CHECK(refined.trained.report.steps > 0);
    CHECK(refined.trained.report.residual_bound <= how.options.tau / 2);
    CHECK(refined.given.gradient_bound == near.given.gradient_bound);
    CHECK(at.verify().ok());

    how.options.seed = 3;
    CHECK_FALSE(at.certify(how).trained.report.certified);  // whoever knows the seed knows the noise
  }

  TEST_CASE("a certified model follows a stream as any other, and to the bits of a fresh training") {
    Descended at;
    static_cast<void>(at.certify(at.how));
    TrainOptions newton = at.how;
    newton.solver = "newton";
    static_cast<void>(at.certify(newton));
    std::vector<Request> requests;
    {
      const Reader reader(at.store, at.resources);
      requests = draw_requests(reader, {.kind = DrawKind::kNode, .count = 5, .pool = {}});
    }
    for (const fs::path& path : {at.store, at.twin}) {
      Writer writer(path, at.resources);
      const bool followed = path == at.store;
      StreamSession session(writer, followed ? StreamOptions{.model = {.solver = "exact"}} : StreamOptions{});
      const BatchOutcome outcome = session.send(requests);
      if (followed) CHECK(outcome.step->certified);
      session.close();
    }
    Writer twin(at.twin, at.resources);
    static_cast<void>(twin.train(at.how));
    {
      const StoredModel one = read_model(at.store, {.name = "exact"}), other = read_model(at.twin, {.name = "exact"});
      const fs::path a = at.folder / "a.npy", b = at.folder / "b.npy";
      export_model(one, a);
      export_model(other, b);
      CHECK(read_all(a) == read_all(b));
    }
    Writer writer(at.store, at.resources);
    StreamSession late(writer, {.model = {.solver = "newton"}});  // which has missed the batch
    CHECK(late.caught_up());
    late.close();
    CHECK(at.verify().ok());
  }

  TEST_CASE(
      "every solver with a theorem for any start takes given weights under every head, and no other solver does") {
    Descended at(20);
    for (const std::string_view name : solver_names())
      for (const Head head : kHeads) {
        CAPTURE(std::string(name));
        CAPTURE(name_of(head));
        TrainOptions how = at.how;
        how.solver = name;
        how.name = "given";
        how.options.head = head;
        fs::remove_all(at.store / "certificates");
        fs::remove_all(at.store / "models");
        if (!solver_info(name).any_start) {
          CHECK_THROWS_AS(static_cast<void>(at.certify(how)), UsageError);
          CHECK_FALSE(fs::exists(at.store / "models" / "given.model"));
          continue;
        }
        const CertifiedModel model = at.certify(how);
        CHECK(model.trained.report.certified);
        CHECK(model.trained.facts.head == head);
        CHECK(model.given.accuracies.train.has_value());
      }
  }

  TEST_CASE("accuracy of the given weights is that of margins by loops") {
    Descended at;
    const CertifiedModel model = at.certify(at.how);
    const StoreReader live(at.store, testing::ample_budget());
    const TrainingRows held(live, live.embedding().spec().weights, RowForm(1, true), testing::ample_budget());
    double right = 0;
    for (std::size_t i = 0; i < at.rows; ++i) {
      std::vector<double> margins(at.classes);
      for (std::size_t c = 0; c < at.classes; ++c)
        for (std::size_t j = 0; j < at.features; ++j)
          margins[c] += static_cast<double>(held.set().row(i)[j]) * at.values[c * at.features + j];
      right += std::max_element(margins.begin(), margins.end()) - margins.begin() == held.set().labels()[i] ? 1 : 0;
    }
    CHECK(model.given.accuracies.train == right / static_cast<double>(at.rows));
    CHECK(model.given.accuracies.test.has_value());
  }

  TEST_CASE("stale rows are published before anything is measured") {
    Descended at;
    std::vector<Request> requests;
    {
      const Reader reader(at.store, at.resources);
      requests = draw_requests(reader, {.kind = DrawKind::kEdge, .count = 40, .pool = {}});
    }
    for (const fs::path& path : {at.store, at.twin}) {
      Writer writer(path, at.resources);
      StreamOptions options;
      if (path == at.store) options.mode = {1e-2, ThresholdScale::absolute};
      StreamSession session(writer, options);
      static_cast<void>(session.send(requests));
      session.close();
    }
    REQUIRE(describe_store(at.store, at.resources).stale_rows > 0);
    const CertifiedModel lazy = at.certify(at.how), exact = at.certify(at.how, at.twin);
    CHECK(lazy.given.gradient_bound == exact.given.gradient_bound);
    CHECK(lazy.given.accuracies.train == exact.given.accuracies.train);
    CHECK(lazy.distance == exact.distance);
    CHECK(describe_store(at.store, at.resources).stale_rows == 0);
  }

  TEST_CASE("what cannot be certified is refused before the store changes") {
    Descended at;
    const auto refused = [&](const TrainOptions& how, const std::vector<std::string>& parts) {
      testing::check_message(testing::message_of<Error>([&] { static_cast<void>(at.certify(how)); }), parts);
      CHECK_FALSE(fs::exists(at.store / "models"));
    };
    TrainOptions how = at.how;
    how.intercept = false;
    refused(how, {"W.npy", "it has intercepts", "no-intercept"});
    std::vector<double> values = at.values;
    values[5] = NAN;
    at.write(values);
    refused(at.how, {"W.npy", "row 0, column 5"});
    at.write(std::vector<double>(at.values.size(), 1e15));  // the largest that is taken: bits of T0 all the same
    const CertifiedModel far = at.certify(at.how);
    Writer twin(at.twin, at.resources);
    static_cast<void>(twin.train(at.how));
    CHECK(far.given.gradient_bound > 1e12);
    CHECK(std::isfinite(far.given.gradient_bound));
    CHECK(read_all(at.store / "models" / "exact.model") == read_all(at.twin / "models" / "exact.model"));
    how = at.how;
    how.options.hidden = {4};
    CHECK_THROWS_AS(static_cast<void>(at.certify(how)), UsageError);
    Writer writer(at.store, at.resources);
    const StreamSession session(writer);
    CHECK_THROWS_AS(static_cast<void>(certify_model(writer, {at.weights}, at.how)), UsageError);
  }
}

}  // namespace unweave
