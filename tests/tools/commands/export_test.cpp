// tests/tools/commands/export_test.cpp - what `export` writes of rows that are not all there and of
// models, and where.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/rows/row_maker.h"
#include "storage/input/linear_model.h"
#include "support/input_files.h"
#include "support/npy_file.h"
#include "support/program.h"
#include "support/temp_dir.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::Npy;
using testing::read_all;
using testing::Result;
using testing::run;
using testing::TrainedStore;
using testing::write_file;
using Ids = std::vector<std::int64_t>;

struct Exports : TrainedStore {
  [[nodiscard]] std::string file(const std::string& name) const { return (folder / name).string(); }
  [[nodiscard]] Result with(std::vector<std::string> words) const {
    words.insert(words.begin(), {"export", store.string()});
    return run(words);
  }
  /// One that goes well.
  Result ok(const std::vector<std::string>& words) const {
    Result result = with(words);
    CAPTURE(result.error);
    REQUIRE(result.code == 0);
    return result;
  }
  /// One that is refused, with a message that names these things.
  void refused(const std::vector<std::string>& words, const std::vector<std::string>& parts) const {
    const Result result = with(words);
    CHECK(result.code == 1);
    CHECK(result.out.empty());
    testing::check_message(result.error.substr(0, result.error.size() - 1), parts);
  }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("after removals embeddings are the rows that there are, by id, and the others are told of") {
    const Exports data;
    const std::string z = data.file("z.npy"), ids = data.file("ids.npy");
    data.ok({"--embeddings", z, "--ids", ids});
    const Ids before = Npy<std::int64_t>(ids).values;
    REQUIRE(before.size() > 2);
    const NodeId gone = static_cast<NodeId>(before[1]), bare = static_cast<NodeId>(before[2]);
    data.stream({{RequestKind::remove_node, gone, 0}, {RequestKind::remove_feature, bare, 0}});
    const Result result = data.ok({"--embeddings", z, "--ids", ids});
    CHECK(result.out.empty());
    Ids wanted = before;
    wanted.erase(wanted.begin() + 1, wanted.begin() + 3);
    CHECK(Npy<std::int64_t>(ids).values == wanted);
    const std::string missing = std::to_string(200 - wanted.size()) + " of 200 nodes";
    for (const std::string& part : {missing, std::string("--ids"), std::string("--missing nan"),
                                    "unweave propagate " + data.store.string() + " --rows all"})
      CHECK(result.error.find(part) != std::string::npos);
    CHECK(data.ok({"--embeddings", z, "--quiet"}).error.empty());

    // They are the rows that a list of these nodes gives.
    std::string list;
    for (const std::int64_t id : wanted) list += std::to_string(id) + "\n";
    write_file(data.folder / "list.txt", list);
    data.ok({"--embeddings", data.file("list.npy"), "--nodes", data.file("list.txt")});
    CHECK(read_all(z) == read_all(data.file("list.npy")));

    // A node without a row has to be asked for knowingly.
    write_file(data.folder / "two.txt", std::to_string(before[0]) + "\n" + std::to_string(gone) + "\n");
    data.refused({"--embeddings", z, "--nodes", data.file("two.txt")},
                 {"node " + std::to_string(gone) + " has no embedding", "--missing nan"});
    data.ok({"--embeddings", z, "--nodes", data.file("two.txt"), "--missing", "nan"});
    const Npy<float> two(z);
    REQUIRE(two.values.size() == 64);
    CHECK(two.values[0] == Npy<float>(data.file("list.npy")).values[0]);
    CHECK_FALSE(std::isnan(two.values[31]));
    CHECK(std::isnan(two.values[32]));
    CHECK(std::isnan(two.values[63]));
  }

  TEST_CASE("--missing nan writes a row for every node, in any order of the store") {
    for (const std::string order : {"none", "degree"}) {
      CAPTURE(order);
      const testing::TempDir dir;
      const auto path = [&](const char* name) { return (dir / name).string(); };
      write_file(dir / "e", "0 1\n1 2\n2 3\n3 4\n2 4\n2 5\n");
      write_file(dir / "x", "1\n.5\n.25\n.125\n1\n1\n");
      write_file(dir / "y", "0\n-1\n1\n0\n-1\n1\n");
      write_file(dir / "train", "# nodes\n0\n2\n3\n5\n");
      REQUIRE(run({"import", path("s"), "--edges", path("e"), "--features", path("x"), "--nodes", "6", "--labels",
                   path("y"), "--split", "train=" + path("train"), "--order", order})
                  .code == 0);
      REQUIRE(run({"propagate", path("s")}).code == 0);
      REQUIRE(run({"export", path("s"), "--embeddings", path("some.npy"), "--ids", path("ids.npy")}).code == 0);
      const Result all =
          run({"export", path("s"), "--embeddings", path("all.npy"), "--ids", path("all_ids.npy"), "--missing", "nan"});
      CHECK(all.code == 0);
      CHECK(all.error.find("2 of 6 nodes") != std::string::npos);
      CHECK(Npy<std::int64_t>(path("ids.npy")).values == Ids{0, 2, 3, 5});
      CHECK(Npy<std::int64_t>(path("all_ids.npy")).values == Ids{0, 1, 2, 3, 4, 5});
      const Npy<float> some(path("some.npy")), whole(path("all.npy"));
      REQUIRE(whole.values.size() == 6);
      REQUIRE(some.values.size() == 4);
      CHECK(std::isnan(whole.values[1]));
      CHECK(std::isnan(whole.values[4]));
      CHECK(std::vector<float>{whole.values[0], whole.values[2], whole.values[3], whole.values[5]} == some.values);
    }
  }

  TEST_CASE("the file name - is standard output; names that promise another format are refused") {
    const Exports data;
    data.ok({"--embeddings", data.file("z.npy"), "--labels", data.file("y.npy")});
    CHECK(data.ok({"--embeddings", "-", "--quiet"}).out == read_all(data.file("z.npy")));
    CHECK(data.ok({"--labels", "-"}).out == read_all(data.file("y.npy")));
    data.ok({"--requests", data.file("r.txt"), "--draw", "edge", "--count", "3"});
    CHECK(data.ok({"--requests", "-", "--draw", "edge", "--count", "3"}).out == read_all(data.file("r.txt")));
    CHECK_FALSE(fs::exists("-"));
    for (const std::string name : {"z.csv", "z.parquet", "z.npz"})
      data.refused({"--embeddings", data.file(name)}, {"--embeddings", name, "z.npy", "NumPy"});
    data.refused({"--embeddings", "-", "--ids", "-"}, {"--embeddings", "--ids", "same"});
    data.refused({"--labels", data.file("a.npy"), "--train", data.file("a.npy")}, {"same", "a.npy"});
    data.refused({"--labels", data.file("y.npy"), "--ids", data.file("i.npy")}, {"--ids needs --embeddings"});
    data.refused({"--embeddings", data.file("z.npy"), "--missing", "zero"}, {"zero", "nan"});
    data.refused({"--embeddings", data.store.string() + "/z.npy"}, {"outside the store"});

    std::ostringstream out, error;
    CHECK(run_program(all_commands(), {"export", data.store.string(), "--labels", "-"}, {out, error, false, true}) ==
          1);
    CHECK(out.str().empty());
    CHECK(error.str().find("terminal") != std::string::npos);
  }

  TEST_CASE("a model is exported as what may be published: weights, and the public line") {
    Exports data;
    const Result none = data.with({"--model", data.file("w.npy")});
    CHECK(none.error.find("unweave train") != std::string::npos);
    data.train("newton");
    data.ok({"--model", data.file("w.npy")});
    const ModelRecord record = load_model(data.store, "newton");
    const Npy<double> weights(data.file("w.npy"));
    CHECK(weights.header.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                                     std::to_string(record.model.published.rows()) + ", 4), }"));
    REQUIRE(weights.values.size() == size_of(record.model.published.size()));
    CHECK(std::equal(weights.values.begin(), weights.values.end(), record.model.published.data()));
    const auto lines_of = [](const ModelRecord& of) { return of.certificate + "\n" + weights_key_line(of) + "\n"; };
    CHECK(read_all(data.file("w.jsonl")) == lines_of(record));
    CHECK(read_all(data.log("newton")) == record.certificate + "\n");
    CHECK(std::distance(fs::directory_iterator(data.folder.path()), {}) == 3);  // the store and these two

    data.train("retrain");
    data.refused({"--model", data.file("w.npy")}, {"--solver", "newton, retrain"});
    data.refused({"--model", data.file("w.npy"), "--solver", "none"}, {"none"});
    data.refused({"--model", "-", "--solver", "newton"}, {"two files"});
    for (const char* const mine : {"", "{\"mine\": 1}\n{\"of\": \"somebody who keeps it\"}\n"}) {
      write_file(data.file("mine.jsonl"), mine);
      data.refused({"--model", data.file("mine.npy"), "--solver", "newton"},
                   {"mine.jsonl", "no certificate", "another name"});
      CHECK(read_all(data.file("mine.jsonl")) == mine);
      CHECK_FALSE(fs::exists(data.file("mine.npy")));
    }
    fs::remove(data.file("mine.jsonl"));
    data.refused({"--labels", data.file("y.npy"), "--solver", "newton"}, {"--solver needs --model"});

    // An outdated model is told of.
    data.stream({data.edge_of_training_node()}, {"newton"});
    CHECK(data.ok({"--model", data.file("w.npy"), "--solver", "newton"}).error.empty());
    CHECK(read_all(data.file("w.jsonl")) == lines_of(load_model(data.store, "newton")));
    CHECK(data.ok({"--model", data.file("r.npy"), "--solver", "retrain"}).error.find("outdated") != std::string::npos);
  }

  TEST_CASE("--rows writes what a model learns on, of its training nodes or of a list, some at a time") {
    const Exports data;
    const std::string file = data.file("r.npy"), store = data.store.string();
    CHECK(data.with({"--rows", file}).error.find("unweave train") != std::string::npos);
    data.train("newton");
    data.ok({"--rows", file, "--train", data.file("t.npy")});
    data.ok({"--embeddings", data.file("z.npy"), "--nodes", data.file("t.npy")});
    CHECK(read_all(file) == read_all(data.file("z.npy")));  // a model of levels alone

    REQUIRE(
        run({"train", store, "--name", "wide", "--rows-of", "stack,degree,labels", "--lift", "1024,bias=0.5"}).code ==
        0);
    data.refused({"--rows", file}, {"--name", "newton", "wide"});
    data.refused({"--rows", file, "--name", "narrow"}, {"narrow"});
    data.ok({"--rows", file, "--name", "wide"});
    const Ids train = Npy<std::int64_t>(data.file("t.npy")).values;
    const auto rows_of = [&](const Ids& ids) {
      const StoreReader live(data.store, testing::ample_budget());
      const RowMaker maker(row_source(live), load_model(data.store, "wide").rows);
      const std::vector<NodeId> nodes(ids.begin(), ids.end());
      std::vector<float> rows(nodes.size() * maker.width());
      maker.rows(nodes, rows.data());
      return rows;
    };
    const std::size_t width = 3 * 32 + 4 + 32 + 1024;
    CHECK(Npy<float>(file).header.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                                              std::to_string(train.size()) + ", " + std::to_string(width) + "), }"));
    CHECK(Npy<float>(file).values == rows_of(train));

    // In their order, with repeats, in more blocks than one.
    Ids list;
    std::string lines;
    for (std::size_t i = 0; i < 1000; ++i) {
      list.push_back(train[(7 * i) % train.size()]);
      lines += std::to_string(list.back()) + "\n";
    }
    write_file(data.folder / "list.txt", "# nodes\n" + lines);
    data.ok({"--rows", file, "--name", "wide", "--nodes", data.file("list.txt"), "--memory", "16M"});
    CHECK(Npy<float>(file).values == rows_of(list));
    CHECK(data.ok({"--rows", "-", "--name", "wide", "--nodes", data.file("list.txt"), "--quiet"}).out ==
          read_all(file));

    // Predictions for them are those for their nodes.
    const auto predict = [&](const std::string& option, const std::string& of, const std::string& scores) {
      CHECK(run({"predict", store, "--name", "wide", option, data.file(of), "--scores", data.file(scores)}).code == 0);
      return read_all(data.file(scores));
    };
    CHECK(predict("--embeddings", "r.npy", "a.npy") == predict("--nodes", "list.txt", "b.npy"));
    data.ok({"--embeddings", data.file("z.npy")});
    const Result narrow = run({"predict", store, "--name", "wide", "--embeddings", data.file("z.npy")});
    CHECK(narrow.code == 2);
    CHECK(narrow.error.find("unweave export --rows") != std::string::npos);

    data.refused({"--labels", data.file("y.npy"), "--name", "wide"}, {"--name needs --model or --rows"});
    data.refused({"--rows", data.file("r.csv"), "--name", "wide"}, {"r.csv", "NumPy"});
    data.refused({"--rows", file, "--name", "wide", "--missing", "nan"}, {"--missing needs --embeddings"});
    data.stream({{RequestKind::remove_node, static_cast<NodeId>(train[0]), 0}}, {"wide"});
    write_file(data.folder / "gone.txt", "# nodes\n" + std::to_string(train[0]) + "\n");
    data.refused({"--rows", file, "--name", "wide", "--nodes", data.file("gone.txt")},
                 {"node " + std::to_string(train[0]), "it was removed", "it has no row", "take it out of the list"});
    CHECK(data.ok({"--rows", file, "--name", "newton"}).error.find("outdated") != std::string::npos);
    REQUIRE(run({"propagate", store, "--hops", "1"}).code == 0);
    const Result other = data.with({"--rows", file, "--name", "wide"});
    CHECK(other.code == 2);
    CHECK(other.error.find("wide") != std::string::npos);
  }

  TEST_CASE("an exported model is bound to its certificate: no weight, key or line may change") {
    Exports data;
    for (const char* solver : {"exact", "newton", "scalegun"}) {
      CAPTURE(solver);
      data.train(solver);
      data.ok({"--model", data.file("w.npy"), "--solver", solver});
      const std::string weights = read_all(data.file("w.npy")), lines = read_all(data.file("w.jsonl"));
      const auto verdict = [&](const std::string& npy, const std::string& jsonl) {
        write_file(data.file("w.npy"), npy);
        write_file(data.file("w.jsonl"), jsonl);
        return run({"verify", data.file("w.npy")});
      };
      CHECK(verdict(weights, lines).code == 0);
      std::string other = weights;
      other.back() = static_cast<char>(other.back() ^ 1);  // the sign or exponent of the last weight
      CHECK(verdict(other, lines).code == 4);
      CHECK(verdict(other, lines).error.find("not the weights that the certificate speaks of") != std::string::npos);
      CHECK(verdict(weights.substr(0, weights.size() - 8), lines).code == 2);
      const std::size_t end = lines.find('\n') + 1;
      CHECK(verdict(weights, lines.substr(0, end)).code == 2);
      std::string bad = lines;
      bad[100] = bad[100] == '1' ? '2' : '1';
      CHECK(verdict(weights, bad).code == 2);
      bad = lines;
      bad[bad.size() - 5] = bad[bad.size() - 5] == '1' ? '2' : '1';  // a digit of the key
      CHECK(verdict(weights, bad).code == 4);
      data.train(solver);  // another release of the same weights, or nearly
      const ModelRecord again = load_model(data.store, solver);
      CHECK(verdict(weights, again.certificate + lines.substr(end - 1)).code == 4);
      CHECK(verdict(weights, lines.substr(0, end) + weights_key_line(again) + "\n").code == 4);
      CHECK(verdict(weights, lines).code == 0);
      CHECK(run({"verify", data.file("w.npy"), "--public-key", std::string(64, '0')}).code == 4);
      CHECK(run({"verify", data.file("w.npy"), "--rebuild"}).code == 1);
      // Files that are none.
      for (const std::string& npy : {std::string(), std::string("x"), weights.substr(0, 60)})
        CHECK(verdict(npy, lines).code == 2);
      for (const std::string& jsonl : {std::string(), std::string("\n\n"), lines.substr(0, end) + "{\"key\":7}\n",
                                       lines.substr(0, end) + "[]\n", std::string("{}\n{}\n")})
        CHECK(verdict(weights, jsonl).code == 2);
      fs::remove(data.file("w.jsonl"));
      CHECK(run({"verify", data.file("w.npy")}).code == 2);
      CHECK(run({"verify", data.file("none.npy")}).code == 2);
      fs::create_directory(data.folder / "folder.npy");
      CHECK(run({"verify", data.file("folder.npy")}).code == 2);
      fs::remove(data.folder / "folder.npy");
      CHECK(run({"verify", data.store.string(), "--before", data.file("none")}).code == 2);
    }
  }

  TEST_CASE("a model for scikit-learn or PyTorch has the same weights by names, bound to its certificate as well") {
    Exports data;
    for (const bool intercept : {true, false}) {
      CAPTURE(intercept);
      SolverOptions options = testing::unseeded();
      options.intercept = intercept;
      data.train("newton", options);
      const ModelRecord record = load_model(data.store, "newton");
      const Matrix& published = record.model.published;
      data.ok({"--model", data.file("m.npz")});
      data.ok({"--model", data.file("m.safetensors")});
      const LinearShape shape{4, 32};
      for (const char* name : {"m.npz", "m.safetensors"}) {
        CAPTURE(name);
        const LinearModel read = read_linear_model(data.file(name), shape);
        REQUIRE(read.intercepts.size() == 4);
        for (Eigen::Index c = 0; c < 4; ++c) {
          for (Eigen::Index j = 0; j < 32; ++j) CHECK(read.coefficients[size_of(32 * c + j)] == published(j, c));
          CHECK(read.intercepts[size_of(c)] == (intercept ? published(32, c) : 0));
        }
        CHECK(run({"verify", data.file(name)}).code == 0);
        CHECK(read_all(data.file("m.jsonl")).starts_with(record.certificate + "\n"));
        // Another weight, a cut file, and one that is none.
        const std::string whole = read_all(data.file(name));
        std::string other = whole;
        const double first = published(0, 0);
        const std::size_t at = whole.find(std::string(reinterpret_cast<const char*>(&first), sizeof first));
        REQUIRE(at != std::string::npos);
        other[at] = static_cast<char>(other[at] ^ 1);
        for (const std::string& bytes : {other, whole.substr(0, whole.size() / 2), std::string("x"), std::string()}) {
          write_file(data.file(name), bytes);
          CHECK(run({"verify", data.file(name)}).code != 0);
        }
        write_file(data.file(name), whole);
      }
    }
    data.refused({"--model", data.file("m.npz.gz")}, {"m.npz.gz", "NumPy array"});
    data.refused({"--model", (data.store / "m.npz").string()}, {"--model"});
    SolverOptions network = testing::unseeded();
    network.head = Head::kSoftmax;
    network.hidden = {3};
    data.train("retrain", network);
    data.refused({"--model", data.file("n.npz"), "--solver", "retrain"}, {"network", ".npy"});
    CHECK_FALSE(fs::exists(data.file("n.npz")));
    CHECK_FALSE(fs::exists(data.file("n.jsonl")));
  }

  TEST_CASE("of a network all parameters are exported in one row") {
    Exports data;
    SolverOptions options = testing::seeded();
    options.head = Head::kSoftmax;
    options.hidden = {5};
    data.train("retrain", options);
    data.ok({"--model", data.file("w.npy")});
    const Npy<double> weights(data.file("w.npy"));
    CHECK(weights.header.find("'shape': (" + std::to_string(33 * 5 + 6 * 4) + ",)") != std::string::npos);
  }
}

}  // namespace unweave
