// tests/algorithms/verification/verify_models_test.cpp - damaged models and logs, false
// certificates, models that are not the last.
#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/registry/registry.h"
#include "algorithms/verification/verify.h"
#include "algorithms/verification/verify_checks.h"
#include "storage/io/message.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::check_among;
using testing::check_one;
using testing::check_remark;
using testing::Json;
using testing::read_all;
using testing::seeded;
using testing::text_of;
using testing::TrainedStore;
using testing::write_file;

/// Calls read() as long as it returns true, beside a thread that calls write() again and again.
template <class Write>
void read_beside(const Write& write, const std::function<bool()>& read) {
  std::atomic<bool> ended = false;
  std::thread writer([&] {
    do write();
    while (!ended);
  });
  try {
    while (read()) {
    }
  } catch (...) {
    ended = true;
    writer.join();
    throw;
  }
  ended = true;
  writer.join();
}

/// Each file is whole at any moment, as with a real writer.
void replace_file(const fs::path& file, const std::string& bytes) {
  const fs::path whole = write_file(file.string() + ".whole", bytes);
  fs::rename(whole, file);
}

TEST_SUITE("unit") {
  TEST_CASE("a writer that releases again and again beside the reading of models never looks like lost lines") {
    const TrainedStore world;
    std::vector<std::string> releases;
    for (std::uint64_t i = 1; i <= 40; ++i) {
      world.train("newton", seeded(i));
      releases.push_back(read_all(world.model("newton")));
    }
    const fs::path hidden = private_log(world.store, "newton");
    const std::string lines = read_all(world.log("newton")), parts = read_all(hidden);
    const auto end_of = [](const std::string& text, std::size_t from) { return text.find('\n', from) + 1; };
    const std::size_t line = end_of(lines, 0), part = end_of(parts, 0);
    const Manifest manifest = read_manifest(world.store);
    int left = 5;
    std::atomic<bool> running = false;
    const auto start = [&] {
      write_file(world.model("newton"), releases[0]);
      write_file(world.log("newton"), lines.substr(0, line));
      write_file(hidden, parts.substr(0, part));
      running = true;
    };
    start();
    read_beside(
        [&] {
          if (!running) return;
          std::size_t at = line, beside = part;
          for (std::size_t i = 1; i < releases.size(); ++i) {
            replace_file(world.model("newton"), releases[i]);
            const std::size_t next = end_of(lines, at), next_beside = end_of(parts, beside);
            std::ofstream(hidden, std::ios::app) << parts.substr(beside, next_beside - beside) << std::flush;
            std::ofstream(world.log("newton"), std::ios::app) << lines.substr(at, next - at) << std::flush;
            at = next;
            beside = next_beside;
          }
          running = false;
        },
        [&] {
          const bool beside_writer = running;
          VerifyReport report;
          const auto models = read_models(world.store, manifest, {}, testing::ample_budget(), report);
          CHECK(text_of(report).find("lines are missing") == std::string::npos);
          CHECK(report.ok());
          CHECK(models.records.size() == 1);
          if (!beside_writer && --left > 0) start();
          return left > 0;
        });
  }

  TEST_CASE("a model that is removed while models are read is none, and no error of the reader's" *
            doctest::test_suite("slow")) {
    const TrainedStore world;
    world.train("newton");
    const Manifest manifest = read_manifest(world.store);
    const fs::path model = world.model("newton"), away = world.folder / "away";
    int left = 2000;
    read_beside(
        [&] {
          fs::rename(model, away);
          fs::rename(away, model);
        },
        [&] {
          VerifyReport report;
          CHECK_NOTHROW(static_cast<void>(read_models(world.store, manifest, {}, testing::ample_budget(), report)));
          return --left > 0;
        });
  }

  TEST_CASE("true models of every solver pass, also after batches, with a journal and after a checkpoint") {
    const TrainedStore world;
    std::vector<std::string> all;
    std::size_t claiming = 0;  // a release that claims nothing is compared with nothing
    for (const SolverEntry* const entry : all_solvers()) {
      all.emplace_back(entry->name);
      if (entry->kind(!entry->linear.trained).claims) ++claiming;
    }
    for (const std::string& solver : all) world.train(solver);
    const VerifyReport fresh = world.verify();
    CHECK(text_of(fresh) == "");
    CHECK(fresh.models == claiming);
    const VerifyReport again = world.verify();
    CHECK(again.checked() == fresh.checked());

    world.stream({{RequestKind::remove_node, 7, 0}, {RequestKind::remove_edge, 0, 3}}, all);
    world.stream({world.edge_of_training_node()}, all);
    CHECK(text_of(world.verify()) == "");
    CHECK(world.verify().models == claiming);
    StoreWriter(world.store, testing::ample_budget()).checkpoint();
    CHECK(text_of(world.verify()) == "");
    CHECK(world.verify().models == claiming);
  }

  TEST_CASE("models and logs are counted as files, with their bytes") {
    const TrainedStore world;
    const VerifyReport before = world.verify();
    world.train("newton");
    const VerifyReport after = world.verify();
    CHECK(after.files == before.files + 3);
    CHECK(after.bytes == before.bytes + fs::file_size(world.model("newton")) + fs::file_size(world.log("newton")) +
                             fs::file_size(private_log(world.store, "newton")));
    CHECK(after.certificates == 1);
    CHECK(after.checked() == before.checked() + 5);
  }

  TEST_CASE("a flipped byte in a model is damage that names the file and train, and the other models are checked") {
    const TrainedStore world;
    world.train("newton");
    world.train("scalegun");
    const std::string good = read_all(world.model("newton"));
    for (std::size_t at = 0; at < good.size(); at += at < 64 ? 1 : 211) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      write_file(world.model("newton"), bad);
      const VerifyReport report = world.verify();
      check_one(report, true, world.model("newton").string());
      CHECK(text_of(report).find("`train " + world.store.string() + " solver=newton") != std::string::npos);
      CHECK(report.models == 1);
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{20}, good.size() / 2, good.size() - 1}) {
      write_file(world.model("newton"), good.substr(0, size));
      check_one(world.verify(), true, world.model("newton").string());
    }
    write_file(world.model("newton"), good);
    CHECK(text_of(world.verify()) == "");
    fs::remove(world.model("newton"));
    check_remark(world.verify(), "certificates of this model, but no model");
  }

  TEST_CASE("outdated models that claim nothing are told as well, and train's remedy has the options of the log") {
    const TrainedStore world;
    world.train("finetune");
    SolverOptions options = testing::unseeded();
    options.head = Head::kSoftmax;
    options.intercept = false;
    options.lambda = 0.25;
    options.lambda_chosen = "given";
    options.parameters["grid"] = 20;
    options.epsilon = options.delta = 0;
    world.train("exact", options);
    world.stream({world.edge_of_training_node()}, {"exact"});
    const VerifyReport report = world.verify();
    CHECK(report.outdated == 1);
    CHECK(text_of(report).find("finetune: outdated: has absorbed 0 of 1 requests") != std::string::npos);
    fs::remove(world.model("exact"));
    CHECK(plain(train_command(world.store, "exact")) ==
          "`train " + world.store.string() + " solver=exact head=softmax no-intercept lambda=0.25 set=grid=20`");
    // A log is no shell: nothing of it gets into a command but what an option of the solver may be.
    std::string line = read_all(world.log("exact"));
    const std::size_t at = line.rfind("\"softmax\"");
    line.replace(at, 9, "\"a; b\"");
    write_file(world.log("exact"), line);
    CHECK(plain(train_command(world.store, "exact")) == "`train " + world.store.string() + " solver=exact`");
  }

  TEST_CASE("what goes on from noise of a seed claims nothing until it is trained anew") {
    for (const std::string solver : {"langevin", "rewind", "newton", "exact"}) {
      CAPTURE(solver);
      const TrainedStore world;
      const auto is_of_seed = [&] {
        const nlohmann::json line = nlohmann::json::parse(load_model(world.store, solver).certificate);
        CHECK((!line.at("for_tests").get<bool>() || !line.at("certified").get<bool>()));
        return line.at("for_tests").get<bool>();
      };
      world.train(solver, seeded(3));
      CHECK(is_of_seed() == (solver != "exact"));
      world.stream({world.edge_of_training_node()}, {solver});
      CHECK(is_of_seed() == (solver != "exact"));
      world.train(solver);
      CHECK_FALSE(is_of_seed());
      CHECK(text_of(world.verify()) == "");
    }
  }

  TEST_CASE("a model of an earlier release put back is false, trained again or streamed") {
    const TrainedStore world;
    world.train("newton", seeded(1));
    const std::string first = read_all(world.model("newton"));
    world.train("newton", seeded(2));
    const std::string second = read_all(world.model("newton"));
    CHECK(text_of(world.verify()) == "");
    write_file(world.model("newton"), first);
    check_one(world.verify(), false, "a later release");
    write_file(world.model("newton"), second);
    world.stream({world.edge_of_training_node()}, {"newton"});
    CHECK(text_of(world.verify()) == "");
    write_file(world.model("newton"), second);
    check_one(world.verify(), false, "a later release");

    // One whose certificate the log never had.
    ModelRecord record = load_model(world.store, "newton");
    record.model.published *= 2;
    save_model(world.store, record);
    const VerifyReport report = world.verify();
    CHECK(report.findings.size() == 3);
    CHECK(text_of(report).find("4 models: newton: digest of the weights is ") != std::string::npos);
    CHECK(text_of(report).find("4 models: newton: id is \"newton-1-") != std::string::npos);
  }

  TEST_CASE("a log that a crash cut short is only remarked on; one that says something else is false") {
    const TrainedStore world;
    world.train("retrain");
    world.stream({world.edge_of_training_node()}, {"retrain"});
    const std::string good = read_all(world.log("retrain"));
    const std::size_t second = good.find('\n') + 1;
    write_file(world.log("retrain"), good.substr(0, second));
    check_remark(world.verify(), "is not in it yet");
    CHECK(world.verify().models == 1);
    fs::remove(world.log("retrain"));
    check_one(world.verify(), false,
              "it ends with certificate 0, the model's is number 2: lines are missing at its end");
    write_file(world.log("retrain"), good + "{\"id\":");
    check_remark(world.verify(), "6 bytes of a line that was never finished");
    write_file(world.log("retrain"), good.substr(0, second) + good.substr(second, 20));
    CHECK(world.verify().ok());
    CHECK(world.verify().remarks.size() == 2);

    const auto replace_last = [&](const char* key, const Json& value) {
      ModelRecord record = load_model(world.store, "retrain");
      Json json = whole_certificate(record);
      json[key] = value;
      seal_certificate(record, json, SigningKey::of_store(world.store));
      write_file(world.log("retrain"), good.substr(0, second) + record.certificate + "\n");
      return world.verify();
    };
    check_one(replace_last("budget", 1e-7), false, "line 2: the budget is not tau");
    check_one(replace_last("id", "retrain-2-0123456789abcdef"), false, "line 2: its id is not that of its digest");
    check_one(replace_last("version", "another"), false, "certificate 2 differs from the one in the model file");
    check_one(replace_last("release", 3), false, "line 2: release 3 cannot follow release 1");
  }

  TEST_CASE("a line of the log that is no certificate is damage, with file and line") {
    const TrainedStore world;
    world.train("newton");
    for (int i = 0; i < 2; ++i) world.stream({{RequestKind::remove_node, static_cast<NodeId>(20 + i), 0}}, {"newton"});
    const std::string good = read_all(world.log("newton"));
    const std::size_t second = good.find('\n') + 1, third = good.find('\n', second) + 1;
    const std::string place = world.log("newton").string() + ": line 2: ";
    const auto with = [&](const std::string& line) {
      write_file(world.log("newton"), good.substr(0, second) + line + "\n" + good.substr(third));
      return world.verify();
    };
    for (const char* line : {"", "garbage \xff\x01", "[1]", "{\"id\":\"newton-2-00\",", "7", "{\"format\":1}"})
      check_one(with(line), true, place + "this is no certificate");
    const std::string second_line = good.substr(second, third - second - 1);
    const auto put = [&](const std::string& before, const std::string& after) {
      std::string line = second_line;
      REQUIRE(line.find(before) != std::string::npos);
      return line.replace(line.find(before), before.size(), after);
    };
    check_one(with(put("\"epsilon\":1.0", "\"epsilon\":0.5")), true, place + "the certificate was altered");
    const auto sealed = [&](const std::function<void(Json&)>& change) {
      Json json = Json::parse(second_line);
      json["nonce"] = "";
      json["residual_bound"] = json["retrained"] = 0;
      change(json);
      ModelRecord record;
      seal_certificate(record, json, SigningKey::of_store(world.store));
      return record.certificate;
    };
    for (const char* member : {"id", "release", "sequence", "log", "previous", "budget", "constants", "batch"})
      check_one(with(sealed([&](Json& json) { json.erase(member); })), true, place + "something is missing");
    check_one(with(sealed([](Json& json) { json["sequence"] = -1; })), true, place + "something is missing");
    CHECK(with("garbage").models == 1);
    write_file(world.log("newton"), good.substr(0, second) + good.substr(third) + good.substr(second));
    check_one(world.verify(), false, "line 2: certificate 3 does not follow certificate 1");
    write_file(world.log("newton"), good);
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("every public number of a certificate is held against the model or computed again") {
    const TrainedStore world;
    world.train("newton");
    world.train("cgu");
    const auto files = world.files_of("newton");
    const auto found = [&](const char* path, const Json& value, const std::string& words) {
      world.forge_certificate("newton", [&](Json& json) { json[Json::json_pointer(path)] = value; });
      const VerifyReport report = world.verify();
      check_among(report, "models: newton: " + words);
      CHECK(report.models == 1);  // cgu alone
      TrainedStore::restore(files);
    };
    const Json good = whole_certificate(load_model(world.store, "newton"));
    const double sigma = good["terms"]["sigma"];
    const std::size_t rows = good["constants"]["training_rows"]["value"];
    found("/id", "newton-1-0123456789abcdef", "id is \"newton-1-0123456789abcdef\"");
    found("/solver", "retrain", "solver is");
    found("/release", 2, "release is 2");
    found("/epsilon", 0.5, "epsilon is 0.5");
    found("/delta/target", 1e-5, "delta is 1e-05");
    found("/constants/training_rows/value", rows + 1, "training_rows is " + std::to_string(rows + 1));
    found("/constants/lambda/value", 0.02, "lambda is 0.02 in the certificate and 0.01 in the model");
    found("/constants/weights/value", Json{0, 0, 2}, "weights is");
    found("/constants/head/value", "least-squares", "head is");
    found("/terms/mu", 1.0, "mu is 1.0");
    found("/terms/distance", 1e-9, "distance is");
    found("/terms/sensitivity", 1e-9, "sensitivity is");
    found("/terms/sigma", 0.99 * sigma, "sigma is");
    found("/terms/grid", 2 * good["terms"]["grid"].get<double>(), "grid is");
    found("/budget", 1.0, "budget is 1.0");
    found("/residual_bound", 1e-9, "the residual bound is 1e-09 in the certificate, computed again it is");
    world.forge_certificate("newton", [](Json& json) {
      json["residual_bound"] = json["terms"]["residual"] = 2e-6;
      json["terms"]["float_error"] = json["terms"]["approximation"] = 0.0;
    });
    check_among(world.verify(), "the residual bound is 2e-06, above the budget 1e-06");
    check_among(world.verify(), "line 1: certificate 1 is certified above its budget");
    TrainedStore::restore(files);
    found("/delta/reached", 0.9e-4, "the delta reached is 9e-05");
    world.forge_certificate("newton", [](Json& json) { json.erase("constants"); });
    const std::string text = text_of(world.verify());
    CHECK(text.find("2 " + world.model("newton").string() + ": the certificate in it is malformed") !=
          std::string::npos);
    CHECK(text.find("2 " + world.log("newton").string() + ": line 1: something is missing") != std::string::npos);
  }

  TEST_CASE("standardised features and solvers without a theorem are never certified") {
    const TrainedStore world;
    Manifest manifest = read_manifest(world.store);
    manifest.standardized = true;
    write_manifest(world.store, manifest);
    world.train("newton");
    world.train("ceu");
    CHECK(text_of(world.verify()) == "");
    CHECK(world.verify().models == 2);
    world.forge_certificate("ceu", [](Json& json) { json["certified"] = true; });
    CHECK(text_of(world.verify()).find("ceu: it is certified, and no theorem covers this solver") != std::string::npos);
    world.train("ceu");
    world.forge_certificate("newton", [](Json& json) {
      json["certified"] = true;
      json["delta"]["reached"] = 1e-5;
    });
    CHECK(text_of(world.verify()).find("newton: it is certified, on features that were standardised") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace unweave
