// algorithms/unlearning/checks/statements.cpp - comparisons of what is said with what is so.
#include "algorithms/unlearning/checks/statements.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void Statements::same(const std::string& name, const Json& said, const Json& held) {
  if (said != held) wrong(name + " is " + said.dump() + " in the certificate and " + held.dump() + " in the model");
}

void Statements::near(const std::string& name, double said, double found, double tolerance) {
  if (!(std::abs(said - found) <= tolerance * std::abs(found)))
    wrong(name + " is " + Json(said).dump() + " in the certificate, computed again it is " + Json(found).dump());
}

void Statements::at_most(const std::string& name, double value, const std::string& limit_name, double limit) {
  if (!(value <= limit)) wrong(name + " is " + Json(value).dump() + ", above " + limit_name + " " + Json(limit).dump());
}

}  // namespace unweave
