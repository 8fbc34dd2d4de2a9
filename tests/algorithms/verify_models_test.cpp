// tests/algorithms/verify_models_test.cpp - damaged models and logs, false certificates, models that are not the last.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/learner.h"
#include "algorithms/verify.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::check_one;
using testing::check_remark;
using testing::Json;
using testing::read_all;
using testing::seeded;
using testing::text_of;
using testing::TrainedStore;
using testing::write_file;

TEST_SUITE("unit") {
  TEST_CASE("true models of every solver pass, also after batches, with a journal and after a checkpoint") {
    const TrainedStore world;
    std::vector<std::string> all;
    for (const std::string_view solver : solver_names()) all.emplace_back(solver);
    for (const std::string& solver : all) world.train(solver);
    const VerifyReport fresh = world.verify();
    CHECK(text_of(fresh) == "");
    CHECK(fresh.models == 13);
    const VerifyReport again = world.verify();
    CHECK(again.checked() == fresh.checked());

    world.stream({{RequestKind::remove_node, 7, 0}, {RequestKind::remove_edge, 0, 3}}, all);
    world.stream({world.edge_of_training_node()}, all);
    CHECK(text_of(world.verify()) == "");
    CHECK(world.verify().models == 13);
    LiveStore(world.store, Access::write, testing::ample_budget()).checkpoint();
    CHECK(text_of(world.verify()) == "");
    CHECK(world.verify().models == 13);
  }

  TEST_CASE("models and logs are counted as files, with their bytes") {
    const TrainedStore world;
    const VerifyReport before = world.verify();
    world.train("newton");
    const VerifyReport after = world.verify();
    CHECK(after.files == before.files + 2);
    CHECK(after.bytes == before.bytes + fs::file_size(world.model("newton")) + fs::file_size(world.log("newton")));
    CHECK(after.checked() == before.checked() + 3);
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
      CHECK(text_of(report).find("`unweave train " + world.store.string() + " --solver newton`") != std::string::npos);
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
    CHECK(report.findings.size() == 2);
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
    check_remark(world.verify(), "is not in it yet");
    write_file(world.log("retrain"), good + "{\"id\":");
    check_remark(world.verify(), "6 bytes of a line that was never finished");
    write_file(world.log("retrain"), good.substr(0, second) + good.substr(second, 20));
    CHECK(world.verify().ok());
    CHECK(world.verify().remarks.size() == 2);

    const auto replace_last = [&](const char* key, const Json& value) {
      Json json = Json::parse(good.substr(second));
      json[key] = value;
      json.erase("digest");
      write_file(world.log("retrain"), good.substr(0, second) + seal_certificate(json.dump()) + "\n");
      return world.verify();
    };
    check_one(replace_last("budget", 1e-7), false, "line 2: the certificate of retrain-2-");
    check_one(replace_last("id", "retrain-2-0123456789abcdef"), false,
              "line 2: the last certificate is that of \"retrain-2-0123456789abcdef\"");
    check_one(replace_last("release", 3), false, "differs from the one in the model file");
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
    for (const char* line : {"", "garbage \xff\x01", "[1]", "{\"id\":\"newton-2-00\",", "7"})
      check_one(with(line), true, place + "this is no certificate");
    check_one(with(seal_certificate("{\"id\":5,\"release\":2,\"sequence\":1}")), true,
              place + "the certificate has no id");
    check_one(with(seal_certificate("{\"id\":\"x\",\"sequence\":1}")), true, place + "the certificate has no release");
    check_one(with(seal_certificate("{\"id\":\"x\",\"release\":2,\"sequence\":-1}")), true,
              place + "the certificate has no sequence");
    CHECK(with("garbage").models == 1);
    write_file(world.log("newton"), good.substr(0, second) + good.substr(third) + good.substr(second));
    check_one(world.verify(), true, "line 3: release 2 cannot follow release 3");
    write_file(world.log("newton"), good);
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("every public number of a certificate is held against the model or computed again") {
    const TrainedStore world;
    world.train("newton");
    world.train("cgu");
    const std::string model = read_all(world.model("newton")), log = read_all(world.log("newton"));
    const auto found = [&](const char* path, const Json& value, const std::string& words) {
      world.forge_certificate("newton", [&](Json& json) { json[Json::json_pointer(path)] = value; });
      const VerifyReport report = world.verify();
      check_one(report, false, words);
      CHECK(report.models == 1);  // cgu alone
      write_file(world.model("newton"), model);
      write_file(world.log("newton"), log);
    };
    const Json good = Json::parse(load_model(world.store, "newton").certificate);
    const double sigma = good["terms"]["sigma"];
    const std::size_t rows = good["constants"]["training_rows"]["value"];
    found("/id", "newton-1-0123456789abcdef", "models: newton: id is \"newton-1-0123456789abcdef\"");
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
    check_one(world.verify(), false, "the residual bound is 2e-06, above the budget 1e-06");
    write_file(world.model("newton"), model);
    write_file(world.log("newton"), log);
    found("/delta/reached", 0.9e-4, "the delta reached is 9e-05");
    world.forge_certificate("newton", [](Json& json) { json.erase("terms"); });
    check_one(world.verify(), true, world.model("newton").string() + ": the certificate in it is malformed");
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
