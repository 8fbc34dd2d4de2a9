// tests/algorithms/evaluation/efficacy_test.cpp - what models show of forgotten rows, against loops
// over plain vectors.
#include "algorithms/evaluation/efficacy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "algorithms/live/store_reader.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::TrainedStore;

/// A store, and a copy of it from before node requests.
struct Forgetful {
  TrainedStore world;
  std::filesystem::path copy = world.folder / "copy";

  explicit Forgetful(const std::vector<std::string>& solvers) {
    for (const std::string& solver : solvers) world.train(solver);
    std::filesystem::copy(world.store, copy, std::filesystem::copy_options::recursive);
  }
  void remove(const std::vector<NodeId>& nodes, const std::vector<std::string>& solvers) const {
    std::vector<Request> requests;
    for (const NodeId node : nodes) requests.push_back({RequestKind::remove_node, node, 0});
    world.stream(requests, solvers);
  }
  [[nodiscard]] StoreReader open(bool before) const { return {before ? copy : world.store, ample_budget()}; }
};

struct PlainPrediction {
  std::size_t predicted = 0;
  double confidence = 0;
};

PlainPrediction predict_plainly(const LiveStore& store, const ModelRecord& record, NodeId node) {
  const Matrix& w = record.model.published;
  std::vector<float> row(size_of(w.rows()));
  store.embedding().rows(std::span(&node, 1), record.rows.weights, row.data());
  double square = 0;
  for (const float x : row) square += static_cast<double>(x) * x;
  const double scale = square > 1 ? 1 / std::sqrt(square) : 1;
  std::vector<double> p(size_of(w.cols()));
  double sum = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    double margin = 0;
    for (std::size_t f = 0; f < row.size(); ++f) margin += scale * row[f] * w(index_of(f), index_of(c));
    sum += p[c] = 1 / (1 + std::exp(-margin));
  }
  PlainPrediction result;
  result.predicted = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  const std::int32_t label = store.contents().label(node);
  if (label != kNoLabel) result.confidence = p[static_cast<std::size_t>(label)] / sum;
  return result;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("forgotten rows are read from the copy and judged by the present model") {
    const Forgetful world({"newton"});
    const TrainingSet rows = world.world.rows();
    std::vector<NodeId> removed;
    for (std::size_t i = 0; i < rows.size(); i += 3) removed.push_back(rows.nodes()[i]);
    world.remove(removed, {"newton"});
    const StoreReader before = world.open(true), present = world.open(false);
    const ModelRecord record = load_model(present.path(), "newton"), original = load_model(before.path(), "newton");
    EfficacyTests tests(before, present, record.rows, 1000, 1);
    CHECK(tests.forgotten().size() == removed.size());
    CHECK(tests.vanished_classes() == 0);
    tests.set_original(&original);
    const Efficacy found = tests.of(record);

    double right = 0, above = 0;
    std::vector<PlainPrediction> others;
    for (const NodeId node : present.contents().test())
      if (present.contents().label(node) != kNoLabel) others.push_back(predict_plainly(present, record, node));
    for (const NodeId node : removed) {
      const PlainPrediction one = predict_plainly(before, record, node);
      right += static_cast<std::int32_t>(one.predicted) == before.contents().label(node) ? 1 : 0;
      for (const PlainPrediction& other : others)
        above += one.confidence > other.confidence ? 1 : one.confidence == other.confidence ? 0.5 : 0;
    }
    const auto count = static_cast<double>(removed.size());
    CHECK(*found.accuracy_forgotten == doctest::Approx(right / count));
    REQUIRE(tests.attack_rows() == std::min(others.size(), rows.size() - removed.size()));
    REQUIRE(tests.attack_rows() == others.size());  // so the sample is all of them
    CHECK(*found.attack_auc == doctest::Approx(above / (count * static_cast<double>(others.size()))));
    CHECK_FALSE(found.replay_all.has_value());
    for (const double rate : {*found.svm_member_rate, *found.threshold_member_rate})
      CHECK(rate * count == doctest::Approx(std::round(rate * count)));  // removed rows that are called members
    CHECK(*found.presence > 0);
    CHECK(*found.presence < 1);
    CHECK(*found.presence_ratio > 0);
    CHECK(tests.of(original).presence_ratio == 1);

    SUBCASE("the same seed gives the same figures, and no attack none") {
      EfficacyTests again(before, present, record.rows, 1000, 1), none(before, present, record.rows, 0, 1);
      again.set_original(&original);
      CHECK(again.of(record).presence_ratio == found.presence_ratio);
      CHECK(again.of(record).svm_member_rate == found.svm_member_rate);
      none.set_original(&original);
      CHECK(none.of(record).accuracy_forgotten == found.accuracy_forgotten);
      CHECK_FALSE(none.of(record).attack_auc.has_value());
      CHECK_FALSE(none.of(record).presence.has_value());
    }
    SUBCASE("a model whose store has no original has no presence") {
      tests.set_original(nullptr);
      CHECK_FALSE(tests.of(record).presence_ratio.has_value());
      CHECK(tests.of(record).attack_auc == found.attack_auc);
    }
  }

  TEST_CASE("replay: predictions of classes that lost all their training rows") {
    const Forgetful world({"newton"});
    const TrainingSet rows = world.world.rows();
    std::vector<NodeId> removed{rows.nodes()[0]};  // one of another class perhaps
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows.labels()[i] == 2 && i > 0) removed.push_back(rows.nodes()[i]);
    REQUIRE(rows.labels()[0] != 2);
    REQUIRE(removed.size() > 3);
    world.remove(removed, {});
    const StoreReader before = world.open(true), present = world.open(false);
    const ModelRecord original = load_model(before.path(), "newton");
    const EfficacyTests tests(before, present, original.rows, 0, 1);
    CHECK(tests.forgotten().size() == removed.size());
    CHECK(tests.vanished_classes() == 1);
    const Efficacy found = tests.of(original);
    double of_class = 0;
    for (std::size_t i = 1; i < removed.size(); ++i)
      of_class += predict_plainly(before, original, removed[i]).predicted == 2 ? 1 : 0;
    const auto share_of = [&](const LiveStore& store) {
      double all = 0, replayed = 0;
      for (NodeId node = 0; node < store.contents().num_nodes(); ++node) {
        if (!store.embedding().is_target(node)) continue;
        ++all;
        replayed += predict_plainly(store, original, node).predicted == 2 ? 1 : 0;
      }
      return replayed / all;
    };
    CHECK(of_class > 0);
    CHECK(*found.replay_forgotten == doctest::Approx(of_class / static_cast<double>(removed.size() - 1)));
    CHECK(*found.replay_all == doctest::Approx(share_of(before)));
    CHECK(*found.replay_present == doctest::Approx(share_of(present)));
  }

  TEST_CASE("nothing forgotten is no figure, a foreign copy an error") {
    const Forgetful world({"newton"});
    const StoreReader before = world.open(true), present = world.open(false);
    const ModelRecord record = load_model(present.path(), "newton");
    EfficacyTests tests(before, present, record.rows, 100, 1);
    tests.set_original(&record);
    const Efficacy found = tests.of(record);
    CHECK(tests.forgotten().empty());
    CHECK_FALSE(found.accuracy_forgotten.has_value());
    CHECK_FALSE(found.replay_forgotten.has_value());
    CHECK_FALSE(found.svm_member_rate.has_value());
    CHECK_FALSE(found.presence_ratio.has_value());
    const TrainedStore other(31);
    const StoreReader foreign(other.store, ample_budget());
    CHECK_THROWS_AS(EfficacyTests(foreign, present, record.rows, 100, 1), DataError);
  }
}

}  // namespace unweave
