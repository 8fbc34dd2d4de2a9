// tests/tools/commands/predict_test.cpp - `predict` against margins computed by loops, and the
// metrics of `evaluate` against definitions computed pair by pair, from the files that the program
// exports.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
using testing::Npy;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::write_file;
using Ids = std::vector<std::int64_t>;

constexpr int kNodes = 90, kColumns = 5;

/// A graph whose features tell the class more or less; every seventh node has no label.
struct ScoredWorld {
  testing::TempDir dir;
  std::string store = path("s");

  explicit ScoredWorld(int classes = 4, const std::string& order = "none", const std::vector<std::string>& train = {}) {
    std::mt19937 random(3);
    std::string edges, features, labels, splits[3];
    for (int u = 0; u < kNodes; ++u) {
      // Class 3 is in the training split alone, so that others lack its rows.
      const int label = u % 7 == 6 ? -1 : u < 60 ? static_cast<int>(random()) & 1 ? u % 3 : u % classes : u % 3;
      labels += std::to_string(label) + "\n";
      for (int c = 0; c < kColumns; ++c)
        features += std::to_string((c == label ? 1 : 0) + static_cast<int>(random() % 3)) + " ";
      features += "\n";
      edges += std::to_string(u) + " " + std::to_string(random() % kNodes) + "\n";
      splits[u < 60 ? 0 : u % 2 + 1] += std::to_string(u) + "\n";
    }
    write_file(dir / "e", edges);
    write_file(dir / "x", features);
    write_file(dir / "y", labels);
    for (int i = 0; i < 3; ++i) write_file(dir / ("split" + std::to_string(i)), "# nodes\n" + splits[i]);
    must({"import", store, "--edges", path("e"), "--features", path("x"), "--nodes", std::to_string(kNodes), "--labels",
          path("y"), "--classes", std::to_string(classes), "--order", order, "--split",
          "train=" + path("split0") + ",valid=" + path("split1") + ",test=" + path("split2")});
    must({"propagate", store});
    std::vector<std::string> words{"train", store, "--solver", "newton", "--lambda", "1e-3", "--seed", "1"};
    words.insert(words.end(), train.begin(), train.end());
    must(words);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir / name).string(); }
  static Result must(const std::vector<std::string>& words) {
    Result result = run(words);
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    return result;
  }
  void predict(std::vector<std::string> words) const {
    words.insert(words.begin(), {"predict", store});
    must(words);
  }
};

std::size_t largest(const double* row, std::size_t classes) {
  return static_cast<std::size_t>(std::max_element(row, row + classes) - row);
}

/// Share of pairs in the right order, equal ones half: the definition.
std::optional<double> slow_auc(const std::vector<double>& scores, const std::vector<bool>& positive) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (!positive[i] || positive[j]) continue;
      ++pairs;
      right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    }
  if (pairs == 0) return std::nullopt;
  return right / pairs;
}

void check_value(const Json& json, const std::optional<double>& wanted) {
  if (!wanted) {
    CHECK(json.is_null());
    return;
  }
  REQUIRE(json.is_number());
  CHECK(json.get<double>() == doctest::Approx(*wanted).epsilon(1e-12));
}

/// What `evaluate` says of a split beside definitions, from scores (margins, of softmax
/// probabilities).
void check_split(const Json& json, const std::vector<double>& scores, const Ids& said, const Ids& labels,
                 std::size_t classes) {
  const std::size_t rows = labels.size();
  REQUIRE(json["rows"] == rows);
  std::vector<std::vector<std::uint64_t>> confusion(classes, std::vector<std::uint64_t>(classes));
  for (std::size_t i = 0; i < rows; ++i)
    ++confusion[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(said[i])];
  CHECK(json["confusion"] == Json(confusion));
  double f1_sum = 0, auc_sum = 0, right = 0, most = 0;
  int f1_classes = 0, auc_classes = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    CAPTURE(c);
    const Json& one = json["classes"][c];
    double support = 0, predicted = 0;
    const auto hits = static_cast<double>(confusion[c][c]);
    std::vector<double> own;
    std::vector<bool> positive;
    for (std::size_t k = 0; k < classes; ++k) {
      support += static_cast<double>(confusion[c][k]);
      predicted += static_cast<double>(confusion[k][c]);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      own.push_back(scores[i * classes + c]);
      positive.push_back(static_cast<std::size_t>(labels[i]) == c);
    }
    const auto over = [](double a, double b) { return b > 0 ? std::optional(a / b) : std::nullopt; };
    CHECK(one["class"] == c);
    CHECK(one["rows"] == support);
    CHECK(one["predicted"] == predicted);
    check_value(one["precision"], over(hits, predicted));
    check_value(one["recall"], over(hits, support));
    check_value(one["f1"], over(2 * hits, predicted + support));
    const std::optional<double> auc = slow_auc(own, positive);
    check_value(one["auc"], auc);
    if (support + predicted > 0) {
      f1_sum += 2 * hits / (support + predicted);
      ++f1_classes;
    }
    if (auc) {
      auc_sum += *auc;
      ++auc_classes;
    }
    right += hits;
    most = std::max(most, support);
  }
  check_value(json["macro_f1"], f1_sum / f1_classes);
  check_value(json["micro_f1"], right / static_cast<double>(rows));
  check_value(json["majority"], most / static_cast<double>(rows));
  check_value(json["macro_auc"], auc_classes > 0 ? std::optional(auc_sum / auc_classes) : std::nullopt);
  CHECK(json["classes_without_auc"] == static_cast<int>(classes) - auc_classes);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("predictions are those of the exported weights on the exported rows") {
    for (const std::string head : {"logistic", "softmax"})
      for (const std::string order : {"none", "degree"}) {
        CAPTURE(head);
        CAPTURE(order);
        const ScoredWorld world(4, order, {"--head", head});
        world.predict({"--out", world.path("c.npy"), "--scores", world.path("s.npy"), "--probabilities",
                       world.path("p.npy"), "--ids", world.path("i.npy")});
        ScoredWorld::must({"export", world.store, "--embeddings", world.path("z.npy"), "--ids", world.path("zi.npy"),
                           "--model", world.path("w.npy"), "--quiet"});
        CHECK(read_all(world.path("i.npy")) == read_all(world.path("zi.npy")));
        const auto z = Npy<float>(world.path("z.npy")).values;
        const auto w = Npy<double>(world.path("w.npy")).values;
        const auto scores = Npy<double>(world.path("s.npy")).values, p = Npy<double>(world.path("p.npy")).values;
        const Ids said = Npy<std::int64_t>(world.path("c.npy")).values;
        const Ids ids = Npy<std::int64_t>(world.path("i.npy")).values;
        REQUIRE(said.size() == kNodes - kNodes / 7);
        REQUIRE(scores.size() == 4 * said.size());
        CHECK(std::is_sorted(ids.begin(), ids.end()));
        for (std::size_t i = 0; i < said.size(); ++i) {
          double norm = 0;
          for (std::size_t f = 0; f < kColumns; ++f)
            norm += static_cast<double>(z[i * kColumns + f]) * static_cast<double>(z[i * kColumns + f]);
          const double scale = 1 / std::max(1.0, std::sqrt(norm));
          double sum = 0;
          for (std::size_t c = 0; c < 4; ++c) {
            double margin = w.size() > kColumns * 4 ? w[kColumns * 4 + c] : 0;
            for (std::size_t f = 0; f < kColumns; ++f)
              margin += scale * static_cast<double>(z[i * kColumns + f]) * w[f * 4 + c];
            CHECK(scores[i * 4 + c] == doctest::Approx(margin).epsilon(1e-5));
            sum += p[i * 4 + c];
          }
          CHECK(sum == doctest::Approx(1));
          CHECK(static_cast<std::size_t>(said[i]) == largest(&scores[i * 4], 4));
        }

        // Rows of Z that the user gives are scored like those of the store, from any number type.
        world.predict({"--embeddings", world.path("z.npy"), "--scores", world.path("s2.npy")});
        CHECK(read_all(world.path("s.npy")) == read_all(world.path("s2.npy")));
        const std::vector<double> wide(z.begin(), z.end());
        write_file(world.dir / "wide.npy", testing::npy("<f8", "(" + std::to_string(said.size()) + ", 5)", wide));
        world.predict({"--embeddings", world.path("wide.npy"), "--scores", world.path("s3.npy")});
        CHECK(read_all(world.path("s.npy")) == read_all(world.path("s3.npy")));
      }
  }

  TEST_CASE("predictions as text and as JSON, of all nodes or of some in their order") {
    const ScoredWorld world;
    const Result all = ScoredWorld::must({"predict", world.store});
    std::istringstream lines(all.out);
    std::string header;
    std::getline(lines, header);
    CHECK(header == "id\tclass\tscore\tprobability");
    CHECK(std::count(all.out.begin(), all.out.end(), '\n') == 1 + kNodes - kNodes / 7);
    CHECK(all.error.find("12 of 90 nodes have no embedding") != std::string::npos);
    write_file(world.dir / "some", "5\n0\n5\n");
    world.predict({"--nodes", world.path("some"), "--out", world.path("c.npy"), "--probabilities", world.path("p.npy"),
                   "--scores", world.path("s.npy"), "--json"});
    const Ids said = Npy<std::int64_t>(world.path("c.npy")).values;
    const auto p = Npy<double>(world.path("p.npy")).values, s = Npy<double>(world.path("s.npy")).values;
    const auto objects = ScoredWorld::must({"predict", world.store, "--nodes", world.path("some"), "--json"}).lines();
    REQUIRE(objects.size() == 3);
    REQUIRE(said.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(objects[i]["id"] == (i == 1 ? 0 : 5));
      CHECK(objects[i]["class"] == said[i]);
      CHECK(objects[i]["probabilities"] ==
            Json(std::vector<double>(p.begin() + static_cast<int>(4 * i), p.begin() + static_cast<int>(4 * i + 4))));
      CHECK(objects[i]["score"] == s[4 * i + static_cast<std::size_t>(said[i])]);
    }
    CHECK(ScoredWorld::must({"predict", world.store, "--nodes", world.path("some"), "--out", "-"}).out ==
          read_all(world.path("c.npy")));
  }

  TEST_CASE("what cannot be predicted is told in a line, before anything is written") {
    const ScoredWorld world;
    const auto refused = [&](std::vector<std::string> words, int code, const std::vector<std::string>& parts) {
      words.insert(words.begin(), {"predict", world.store});
      const Result result = run(words);
      CHECK(result.code == code);
      CHECK(result.out.empty());
      testing::check_message(result.error.substr(0, result.error.size() - 1), parts);
    };
    write_file(world.dir / "six", "5\n6\n");
    refused({"--nodes", world.path("six")}, 1, {"node 6 has no embedding", "--rows all"});
    write_file(world.dir / "narrow.npy", testing::npy("<f4", "(2, 3)", std::vector<float>(6)));
    refused({"--embeddings", world.path("narrow.npy")}, 2, {"narrow.npy", "rows of 3 numbers", "rows of 5"});
    write_file(world.dir / "nan.npy", testing::npy("<f8", "(1, 5)", std::vector<double>(5, std::nan(""))));
    refused({"--embeddings", world.path("nan.npy"), "--out", world.path("c.npy")}, 2, {"nan.npy"});
    CHECK_FALSE(std::filesystem::exists(world.path("c.npy")));
    refused({"--nodes", world.path("six"), "--embeddings", world.path("nan.npy")}, 1, {"not both"});
    refused({"--out", world.path("c.csv")}, 1, {"c.npy"});
    refused({"--solver", "retrain"}, 1, {"retrain is not trained"});
    // A model that is behind says so; one of another propagation cannot be used.
    write_file(world.dir / "r", "node 1\n");
    ScoredWorld::must({"stream", world.store, "--requests", world.path("r")});
    CHECK(ScoredWorld::must({"predict", world.store, "--out", world.path("c.npy")}).error.find("outdated") !=
          std::string::npos);
    CHECK(ScoredWorld::must({"predict", world.store, "--out", world.path("c.npy"), "--json"}).json()["outdated"] ==
          true);
    ScoredWorld::must({"propagate", world.store, "--hops", "1"});
    refused({}, 2, {"stands on another propagation", "unweave train"});
  }

  TEST_CASE("F1, AUC and confusion are those of the definitions") {
    for (const std::string head : {"logistic", "softmax", "least-squares"}) {
      CAPTURE(head);
      const ScoredWorld world(4, "degree", {"--head", head});
      const Json metrics = ScoredWorld::must({"evaluate", world.store, "--json"}).json()["metrics"];
      ScoredWorld::must({"export", world.store, "--labels", world.path("y.npy")});
      const Ids labels = Npy<std::int64_t>(world.path("y.npy")).values;
      const char* const names[] = {"train", "valid", "test"};
      for (int split = 0; split < 3; ++split) {
        CAPTURE(split);
        std::string list;
        Ids truth;
        for (int u = 0; u < kNodes; ++u)
          if (labels[static_cast<std::size_t>(u)] >= 0 && (u < 60 ? 0 : u % 2 + 1) == split) {
            list += std::to_string(u) + "\n";
            truth.push_back(labels[static_cast<std::size_t>(u)]);
          }
        write_file(world.dir / "list", "# nodes\n" + list);
        world.predict({"--nodes", world.path("list"), "--out", world.path("c.npy"),
                       head == "softmax" ? "--probabilities" : "--scores", world.path("s.npy")});
        check_split(metrics[names[split]], Npy<double>(world.path("s.npy")).values,
                    Npy<std::int64_t>(world.path("c.npy")).values, truth, 4);
      }
      CHECK(metrics["test"]["classes_without_auc"] == 1);
    }
  }

  TEST_CASE("scores that are equal count half") {
    const testing::TempDir dir;
    const auto path = [&](const char* name) { return (dir / name).string(); };
    write_file(dir / "e", "0 1\n2 3\n4 5\n6 7\n");
    write_file(dir / "x", "1\n1\n1\n1\n1\n1\n.5\n.5\n");
    write_file(dir / "y", "0\n1\n0\n1\n1\n0\n0\n1\n");
    write_file(dir / "t", "# nodes\n0\n1\n2\n3\n4\n5\n");
    ScoredWorld::must({"import", path("s"), "--edges", path("e"), "--features", path("x"), "--nodes", "8", "--labels",
                       path("y"), "--split", "train=" + path("t")});
    ScoredWorld::must({"propagate", path("s")});
    ScoredWorld::must({"train", path("s"), "--solver", "newton", "--seed", "1"});
    const Json metrics = ScoredWorld::must({"evaluate", path("s"), "--json"}).json()["metrics"];
    CHECK(metrics["train"]["macro_auc"] == 0.5);
    CHECK(metrics["train"]["majority"] == 0.5);
    CHECK(metrics["test"]["rows"] == 0);
    CHECK(metrics["test"]["macro_f1"].is_null());
  }

  TEST_CASE("metrics as text: by class where there are few, else where asked for") {
    const ScoredWorld world;
    const std::string text = ScoredWorld::must({"evaluate", world.store}).out;
    for (const char* part :
         {"majority", "macro F1", "micro F1", "AUC", "precision", "what is said (across)", "left out"})
      CHECK(text.find(part) != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 90);

    const ScoredWorld many(25);
    const std::string few = ScoredWorld::must({"evaluate", many.store}).out;
    CHECK(few.find("macro F1") != std::string::npos);
    CHECK(few.find("precision") == std::string::npos);
    CHECK(ScoredWorld::must({"evaluate", many.store, "--by-class"}).out.find("precision") != std::string::npos);
    CHECK_FALSE(ScoredWorld::must({"evaluate", many.store, "--json"}).json()["metrics"]["test"].contains("confusion"));
    CHECK(ScoredWorld::must({"evaluate", many.store, "--json", "--by-class"})
              .json()["metrics"]["test"]["confusion"]
              .size() == 25);
  }
}

}  // namespace unweave
