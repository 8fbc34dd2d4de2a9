// algorithms/unlearning/checks/statements.cpp - comparisons of what is said with what is so.
#include "algorithms/unlearning/checks/statements.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void Statements::same(const std::string& name, const Json& said, const Json& held) {
  if (said != held)
    wrong(name + " is " + text_of_json(said) + " in the certificate and " + text_of_json(held) + " in the model");
}

void Statements::near(const std::string& name, double said, double found, double tolerance) {
  if (!(std::abs(said - found) <= tolerance * std::abs(found)))
    wrong(name + " is " + text_of_json(Json(said)) + " in the certificate, computed again it is " +
          text_of_json(Json(found)));
}

void Statements::at_most(const std::string& name, double value, const std::string& limit_name, double limit) {
  if (!(value <= limit))
    wrong(name + " is " + text_of_json(Json(value)) + ", above " + limit_name + " " + text_of_json(Json(limit)));
}

}  // namespace unweave
