// tests/tools/commands/certify_test.cpp - `certify` as a user meets it: weights in, figures out, a
// model that streams; and what is wrong with a file told in one line, with the store as it was.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/input_files.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::npy;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::run_well;
using testing::write_file;

/// A store of 4 classes and 5 columns, and weights for it that nobody has learnt.
struct Foreign {
  testing::TempDir dir;
  std::string store = (dir / "s").string(), weights = (dir / "W.npy").string();

  Foreign() {
    testing::write_store(store, testing::random_store(200, 600, 5, 3));
    testing::propagate_store(store, testing::tiny_spec(2, false));
    write_weights(weights, 4, 6);
  }
  static double number_of(int k) { return std::sin(k + 1); }
  static void write_weights(const std::string& file, int rows, int columns) {
    std::vector<double> values;
    for (int k = 0; k < rows * columns; ++k) values.push_back(number_of(k));
    write_file(file, npy("<f8", "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")", values));
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (dir / name).string(); }
  [[nodiscard]] Result certify(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"certify", store, "--model", weights});
    return run(more);
  }
  [[nodiscard]] Json figures(std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    const Result result = certify(more);
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    return result.json();
  }
  /// The contents of all files of the store.
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(store))
      if (entry.is_regular_file()) all[entry.path().string()] = read_all(entry.path());
    return all;
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("certify finishes given weights to the bits that train gives, and prints what they were") {
    const Foreign at;
    const Json found = at.figures({"--name", "given"});
    CHECK(found["solver"] == "exact");
    CHECK(found["name"] == "given");
    CHECK(found["certified"] == true);
    CHECK(found["claim"] == "T0");
    CHECK(found["epsilon"] == 0.0);
    CHECK(found["as_given"] == false);
    CHECK(found["weights"] == 24);
    CHECK(found["weights_changed"] == 24);
    const Json& given = found["given"];
    CHECK(given["file"] == at.weights);
    CHECK(given["form"] == "4 x 6, intercepts in the last column");
    CHECK(given["missing_classes"] == Json::array());
    CHECK(given["certified"] == false);
    CHECK_FALSE(given.contains("releasing_tau"));  // no noise, no tau
    const double mu = found["lambda"].get<double>() * found["training_rows"].get<double>();
    CHECK(given["distance_bound"] == doctest::Approx(given["gradient_bound"].get<double>() / mu));
    CHECK(found["distance"].get<double>() <= given["distance_bound"].get<double>() + 1e-6);
    for (const char* split : {"accuracy_train", "accuracy_valid", "accuracy_test"}) {
      CHECK(given[split].is_number());
      CHECK(found[split].is_number());
    }

    run_well({"train", at.store});
    for (const char* name : {"given", "exact"})
      run_well({"export", at.store, "--model", at.file(std::string(name) + ".npy"), "--name", name});
    CHECK(read_all(at.file("given.npy")) == read_all(at.file("exact.npy")));
    CHECK(run_well({"verify", at.store, "--rebuild"}).code == 0);
    // Once more: the present model is replaced, and what it gave is what comes in.
    const Result again = run({"certify", at.store, "--model", at.file("given.npy"), "--name", "given"});
    CHECK(again.code == 0);
    CHECK(has(again.out, "0 of 24"));
    CHECK(has(again.out, "transposed"));
    CHECK(has(again.out, "no (nothing is added)"));
    CHECK(has(again.out, "yes, by T0"));
  }

  TEST_CASE("certify by newton releases as given from the tau on that it names, and finishes below it") {
    const Foreign at;
    const Json finished = at.figures({"--solver", "newton"});
    CHECK(finished["as_given"] == false);
    CHECK(finished["claim"] == "T1");
    CHECK(finished["steps"] > 0);
    const double tau = finished["given"]["releasing_tau"];
    CHECK(tau == 2 * finished["given"]["gradient_bound"].get<double>());
    const std::string above = std::to_string(tau * 1.001), below = std::to_string(tau * 0.999);
    const Json released = at.figures({"--solver", "newton", "--tau", above});
    CHECK(released["as_given"] == true);
    CHECK(released["certified"] == true);
    CHECK(released["steps"] == 0);
    CHECK(released["residual_bound"] == finished["given"]["gradient_bound"]);
    CHECK(has(at.certify({"--solver", "newton", "--tau", above}).out, "released as given"));
    CHECK(at.figures({"--solver", "newton", "--tau", below})["as_given"] == false);
    CHECK(run_well({"verify", at.store}).code == 0);
    // The public line has nothing of the start.
    const Json line = Json::parse(testing::lines_of(at.store + "/certificates/newton.jsonl").at(1));
    CHECK_FALSE(line.contains("residual_bound"));
    CHECK_FALSE(line["terms"].contains("residual"));
    CHECK(line["claim"] == "T1");
  }

  TEST_CASE("what was certified follows a stream, and its certificates hold") {
    const Foreign at;
    static_cast<void>(at.figures());
    static_cast<void>(at.figures({"--solver", "newton", "--name", "noisy"}));
    run_well({"export", at.store, "--requests", at.file("r"), "--draw", "node", "--count", "4"});
    const Result streamed =
        run_well({"stream", at.store, "--requests", at.file("r"), "--batch", "2", "--solver", "exact", "--json"});
    for (const Json& line : streamed.lines())
      if (line.contains("certified")) CHECK(line["certified"] == true);
    run_well({"stream", at.store, "--requests", "/dev/null", "--name", "noisy"});
    CHECK(has(run_well({"verify", at.store, "--rebuild"}).out, "all checks hold"));
    CHECK(run_well({"verify", at.store + "/certificates/exact.jsonl"}).code == 0);
    run_well({"export", at.store, "--model", at.file("a.npy"), "--solver", "exact"});
    run_well({"train", at.store});
    run_well({"export", at.store, "--model", at.file("b.npy"), "--solver", "exact"});
    CHECK(read_all(at.file("a.npy")) == read_all(at.file("b.npy")));
  }

  TEST_CASE("intercepts in a file of their own are those of a last column") {
    const Foreign at;
    std::vector<double> weights, intercepts;
    for (int k = 0; k < 24; ++k) (k % 6 == 5 ? intercepts : weights).push_back(Foreign::number_of(k));
    write_file(at.dir / "w.npy", npy("<f8", "(4, 5)", weights));
    write_file(at.dir / "b.npy", npy("<f8", "(4,)", intercepts));
    const Json one = at.figures();
    const Json other =
        run_well({"certify", at.store, "--model", at.file("w.npy"), "--intercept", at.file("b.npy"), "--json"}).json();
    CHECK(one["given"]["gradient_bound"] == other["given"]["gradient_bound"]);
    const Json without =
        run_well({"certify", at.store, "--model", at.file("w.npy"), "--no-intercept", "--json"}).json();
    CHECK(without["weights"] == 20);
    CHECK(without["given"]["gradient_bound"] != one["given"]["gradient_bound"]);
  }

  TEST_CASE("classes that the file lacks are told, and printed") {
    const Foreign at;
    const std::vector<double> three(15, 0.5);
    const std::vector<std::int64_t> classes{3, 0, 1};
    testing::write_zip(at.dir / "W.npz",
                       {{"coef.npy", npy("<f8", "(3, 5)", three)}, {"classes.npy", npy("<i8", "(3,)", classes)}},
                       false);
    CHECK(run_well({"certify", at.store, "--model", at.file("W.npz"), "--json"}).json()["given"]["missing_classes"] ==
          Json::array({2}));
    CHECK(has(run_well({"certify", at.store, "--model", at.file("W.npz")}).out, "classes that it lacks"));
  }

  TEST_CASE("what is wrong with weights is told in one line, and the store is as it was") {
    const Foreign at;
    const std::string whole = read_all(at.weights);
    const auto before = at.contents();
    const auto refused = [&](const std::string& bytes, const std::string& name, const std::vector<std::string>& parts,
                             int code = 2) {
      CAPTURE(name);
      write_file(at.dir / name, bytes);
      const Result result = run({"certify", at.store, "--model", at.file(name)});
      CHECK(result.code == code);
      CHECK(result.out.empty());
      testing::check_message(result.error.substr(0, result.error.size() - 1), parts);
    };
    std::vector<double> nan(24, 1);
    nan[13] = NAN;
    refused(npy("<f8", "(4, 6)", nan), "W.npy", {"W.npy: row 2, column 1: ", "finite", "learn the model again"});
    refused(whole.substr(0, whole.size() - 3), "W.npy", {"W.npy: element [3, 5]: ", "cut short"});
    refused(whole.substr(0, 30), "W.npy", {"W.npy: .npy header"});
    refused("", "W.npy", {"W.npy: .npy header"});
    refused(npy("<f8", "(5, 6)", std::vector<double>(30)), "W.npy", {"W.npy: shape (5, 6): ", "4 x 5", "--embeddings"});
    refused(npy("<f8", "(400000000, 600000000)", nan), "W.npy", {"shape (400000000, 600000000)", "4 x 5"});
    refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12), "W.npy", {"64 KiB"});
    refused(npy("<i8", "(4, 6)", std::vector<std::int64_t>(24)), "W.npy", {"float32 or float64"});
    refused("PK\x03\x04 and nothing else", "W.npz", {"W.npz", "zip archive"});
    refused(std::string(8, '\xff'), "W.safetensors", {"W.safetensors: byte 0: "});
    write_file(at.weights, whole);
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
        {{"--solver", "langevin"}, "--solver takes given weights where it is exact, newton"},
        {{"--solver", "none"}, "none"},
        {{"--solver", "retrain", "--head", "mlp"}, "--head"},
        {{"--no-intercept"}, "leave --no-intercept away"},
        {{"--epsilon", "2"}, "--epsilon"},
        {{"--lambda", "-1"}, "lambda"},
        {{"--intercept", at.file("none.npy")}, "shape (4, 6)"},
    };
    for (const auto& one : wrong) {
      CAPTURE(one.second);
      const Result result = at.certify(one.first);
      CHECK(result.code != 0);
      CHECK(has(result.error, one.second));
    }
    CHECK(run({"certify", at.store}).error ==
          "unweave: give --model, a file with the weights; `unweave train` learns a model without one\n");
    CHECK(run({"certify", at.store, "--model", at.file("none.npy")}).code == 2);
    CHECK(at.contents() == before);
  }

  TEST_CASE("a store that no model can be learnt on says why, as for train") {
    const Foreign at;
    const std::string bare = at.file("bare");
    testing::TinyStore contents = testing::random_store(50, 100, 5, 3);
    testing::write_store(bare, contents);
    const auto check_as_train = [&](const std::string& store, const std::string& part) {
      const Result told = run({"certify", store, "--model", at.weights}), trained = run({"train", store});
      CHECK(told.code != 0);
      CHECK(told.code == trained.code);
      CHECK(told.error == trained.error);
      CHECK(has(told.error, part));
    };
    check_as_train(bare, "unweave propagate");
    contents.labels.clear();
    contents.train.clear();
    const std::string dumb = at.file("dumb");
    testing::write_store(dumb, contents);
    testing::propagate_store(dumb, testing::tiny_spec(1));
    check_as_train(dumb, "has no labels");
  }
}

}  // namespace unweave
