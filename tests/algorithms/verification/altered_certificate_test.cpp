// tests/algorithms/verification/altered_certificate_test.cpp - every number of a certificate,
// altered in turn.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "algorithms/models/certificate_log.h"
#include "algorithms/registry/registry.h"
#include "algorithms/verification/verify_log.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::Json;
using testing::text_of;
using testing::TrainedStore;

/// A model that has followed a batch, up to date.
struct Followed {
  TrainedStore world;
  std::string solver;
  std::map<std::filesystem::path, std::string> files;

  explicit Followed(std::string_view name) : solver(name) {
    world.train(solver);
    world.stream({world.edge_of_training_node(), {RequestKind::remove_node, world.rows().nodes()[5], 0}}, {solver});
    files = world.files_of(solver);
    CHECK(text_of(world.verify()) == "");
  }
  [[nodiscard]] Json certificate() const { return whole_certificate(load_model(world.store, solver)); }
  void restore() const { TrainedStore::restore(files); }
};

/// JSON pointers of all numbers.
std::vector<std::string> numbers_of(const Json& json) {
  std::vector<std::string> out;
  const Json flat = json.flatten();
  for (const auto& [pointer, value] : flat.items())
    if (value.is_number()) out.push_back(pointer);
  return out;
}

/// Members stay in the part that has them, digests and signature as they are.
void put_unsealed(ModelRecord& record, const Json& whole) {
  for (std::string* part : {&record.certificate, &record.private_part}) {
    const Json old = Json::parse(*part);
    Json out;
    for (const auto& [name, value] : old.items()) {
      out[name] = name == "terms" ? Json::object() : whole.at(name);
      if (name == "terms")
        for (const auto& item : value.items()) out[name][item.key()] = whole.at(name).at(item.key());
    }
    *part = out.dump();
  }
}

void alter(Json& number) {
  if (number.is_number_unsigned())
    number = number.get<std::uint64_t>() + 1;
  else
    number = number == 0.0 ? 1e-3 : number.get<double>() * 1.001;
}

TEST_SUITE("unit") {
  TEST_CASE("a number altered in log and model, all checksums of files right, is found in every solver's certificate" *
            doctest::test_suite("slow")) {
    for (const std::string_view name : solver_names()) {
      const Followed followed(name);
      const Json good = followed.certificate();
      const std::vector<std::string> numbers = numbers_of(good);
      CHECK(numbers.size() > 20);
      for (const std::string& pointer : numbers) {
        CAPTURE(followed.solver);
        CAPTURE(pointer);
        Json bad = good;
        alter(bad[Json::json_pointer(pointer)]);
        const ModelRecord before = load_model(followed.world.store, name);
        ModelRecord record = before;
        put_unsealed(record, bad);
        followed.world.replace(before, record);
        CHECK_FALSE(followed.world.verify().ok());
        followed.restore();
      }
      CHECK(text_of(followed.world.verify()) == "");
    }
  }

  TEST_CASE("with the digest made anew, T1 and T2 still find every number that follows from others or from rows" *
            doctest::test_suite("slow")) {
    // What remains of rows that are gone.
    const std::set<std::string> held_by_digest{"/terms/removed_weight", "/terms/moved_weight", "/terms/own_distance"};
    for (const char* name : {"newton", "retrain", "langevin", "langevin-full"}) {
      const Followed followed(name);
      for (const std::string& pointer : numbers_of(followed.certificate())) {
        if (held_by_digest.contains(pointer)) continue;
        CAPTURE(followed.solver);
        CAPTURE(pointer);
        followed.world.forge_certificate(followed.solver,
                                         [&](Json& json) { alter(json[Json::json_pointer(pointer)]); });
        CHECK_FALSE(followed.world.verify().ok());
        followed.restore();
      }
    }
  }

  TEST_CASE("a public line is certified by its solver's own theorem, and has every term that this needs") {
    const std::map<std::string, std::string> theorems{
        {"exact", "T0"},    {"replay", "T0'"},       {"newton", "T1"}, {"retrain", "T1"}, {"descent-to-delete", "T1"},
        {"langevin", "T2"}, {"langevin-full", "T2"}, {"rewind", "T4"}, {"descend", "T4"}};
    for (const auto& certified : theorems) {
      const std::string& name = certified.first;
      const std::string& theorem = certified.second;
      CAPTURE(name);
      const Followed followed(name);
      const auto audit_with = [&](const std::function<void(Json&)>& change) {
        followed.world.forge_certificate(name, change);
        VerifyReport report = verify_log(followed.world.log(name), {}, {});
        followed.restore();
        return report;
      };
      const Json good = followed.certificate();
      REQUIRE(good["theorem"] == theorem);
      for (const char* other : {"T0", "T0'", "T1", "T2", "T3", "T4"}) {
        CAPTURE(other);
        const VerifyReport report = audit_with([&](Json& json) { json["theorem"] = json["claim"] = other; });
        if (other == theorem)
          CHECK(testing::is_sound(report));
        else
          testing::check_one(report, false, " is not what certifies " + name);
      }
      for (const Json& term : good["public_terms"]) {
        CAPTURE(term);
        testing::check_one(audit_with([&](Json& json) { json["terms"].erase(term.get<std::string>()); }), true,
                           "something is missing");
      }
      testing::check_one(audit_with([&](Json& json) { json["terms"] = Json::object(); }), true, "something is missing");
      testing::check_one(audit_with([&](Json& json) { json["delta"]["reached"] = 1e-9; }), false, "the delta reached");
      const std::vector<std::pair<std::string, double>> false_numbers{{"/constants/clip/value", 50},
                                                                      {"/constants/training_rows/value", -156},
                                                                      {"/constants/training_rows/value", 2.5},
                                                                      {"/budget", -1},
                                                                      {"/budget", 5}};
      for (const auto& number : false_numbers) {
        CAPTURE(number.first);
        CAPTURE(number.second);
        const VerifyReport report =
            audit_with([&](Json& json) { json[Json::json_pointer(number.first)] = number.second; });
        CHECK_FALSE(report.findings.empty());
      }
      testing::check_one(audit_with([&](Json& json) { json.erase("certified"); }), false,
                         "it does not say whether it is certified, and says");
      if (theorem == "T4")
        testing::check_one(audit_with([&](Json& json) { json["terms"]["capacity"] = -9; }), false, "its capacity");
      if (!theorem.starts_with("T0") && theorem != "T2")
        testing::check_one(audit_with([&](Json& json) { json["terms"]["sigma"] = json["terms"]["grid"]; }), false,
                           "sigma is not above three grid steps");
    }
  }

  TEST_CASE("what counts in a public line is a whole number") {
    const Followed followed("newton");
    const fs::path log = followed.world.log("newton");
    for (const char* pointer : {"/number", "/release", "/sequence", "/batch/first", "/batch/last"}) {
      CAPTURE(pointer);
      followed.world.forge_certificate("newton", [&](Json& json) {
        Json& number = json[Json::json_pointer(pointer)];
        number = number.get<double>() + 0.5;
      });
      testing::check_one(verify_log(log, {}, {}), true, "something is missing in the certificate or malformed");
      CHECK_FALSE(followed.world.verify().ok());
      followed.restore();
    }
    followed.world.forge_certificate("newton", [](Json& json) { json["number"] = 2.5; });
    const std::string line = load_model(followed.world.store, "newton").certificate;
    CHECK(certificate_number(line) == 0);
    CHECK_THROWS_AS(place_after(line, log), DataError);
  }

  TEST_CASE("a line is sealed by digest and signature, of which no byte may change") {
    const Followed followed("newton");
    const std::string line = load_model(followed.world.store, "newton").certificate;
    CHECK(is_sealed(line));
    for (std::size_t i = 0; i < line.size(); ++i) {
      std::string bad = line;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      CHECK_FALSE(is_sealed(bad));
    }
    CHECK_FALSE(is_sealed(""));
    CHECK_FALSE(is_sealed("{\"a\":1}"));
    CHECK_FALSE(is_sealed(line + " "));
    CHECK_FALSE(is_sealed(line.substr(0, line.size() - 1)));
  }
}

}  // namespace
}  // namespace unweave
