// tests/algorithms/models/certificate_golden_test.cpp - what every solver's certificate says,
// member by member, but for its numbers.
//
// tests/golden/certificates.jsonl has a line a release: the first one of every kind of model that
// every solver trains, by bounds that hold and as printed. Numbers stand as "#", since other
// machines' logarithms move them. A change of words or of order is a change of the format of
// certificates; with UNWEAVE_WRITE_GOLDEN set the file is written where it is missing.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "algorithms/models/certificate.h"
#include "algorithms/registry/registry.h"
#include "support/learner_data.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kGolden = std::filesystem::path(UNWEAVE_SOURCE_DIR) / "tests/golden/certificates.jsonl";

Json without_numbers(const Json& json) {
  if (json.is_number()) return "#";
  if (!json.is_structured()) return json;
  Json out = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items()) {
    if (json.is_array())
      out.push_back(without_numbers(value));
    else
      out[key] = key == "id" || key == "weights_digest" ? Json(key) : without_numbers(value);
  }
  return out;
}

/// The certificate of a first release.
std::string certificate_of(const SolverEntry& entry, const SolverOptions& options) {
  const testing::TempDir dir;
  ModelRecord record;
  record.options = options;
  record.release_key = std::string(64, '7');
  Fit fit = entry.make(options, {std::size_t{1} << 24, dir / "f"})->fit(testing::random_rows(40, 3, 3, 5), {});
  record.model = std::move(fit.model);
  return without_numbers(certificate_fields(record, fit.report, {true, "version", {}})).dump();
}

std::vector<std::string> all_certificates() {
  std::vector<std::string> lines;
  for (const SolverEntry* const entry : all_solvers())
    for (const bool network : {false, true})
      for (const BoundRule bound : {BoundRule::kCorrected, BoundRule::kPaper}) {
        SolverOptions options;
        options.lambda = 0.05;
        options.bound = bound;
        if (network) {
          options.head = Head::kSoftmax;
          options.hidden = {2};
          options.activation = entry->activation.value_or(options.activation);
        }
        const bool taken = entry->kind(network).trained && (bound == BoundRule::kCorrected || entry->printed) &&
                           !(network && bound == BoundRule::kPaper);
        if (taken) lines.push_back(certificate_of(*entry, options));
      }
  return lines;
}

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("certificates say what they said") {
    const std::vector<std::string> lines = all_certificates();
    if (std::getenv("UNWEAVE_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(kGolden)) {
      std::ofstream file(kGolden);
      for (const std::string& line : lines) file << line << '\n';
    }
    std::ifstream file(kGolden);
    std::string golden;
    for (const std::string& line : lines) {
      CAPTURE(line.substr(0, 60));
      REQUIRE(std::getline(file, golden));
      CHECK(line == golden);
    }
    CHECK_FALSE(std::getline(file, golden));
  }
}

}  // namespace unweave
