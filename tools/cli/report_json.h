// tools/cli/report_json.h - reports of the library as objects of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/cli/message_style.h"
#include "unweave/fields/field.h"

namespace unweave {

/// What object_by() makes objects of JSON with.
struct JsonMaker {
  using Value = nlohmann::ordered_json;
  using Object = nlohmann::ordered_json;

  // A null object that finds no memory for its first member cannot be destroyed (nlohmann-json
  // 3.11); an empty one can.
  [[nodiscard]] Object object() const { return Object::object(); }
  void add(Object& object, std::string_view name, Value value) const { object[std::string(name)] = std::move(value); }
  [[nodiscard]] Value null() const { return nullptr; }
  template <class Plain>
  [[nodiscard]] Value plain(const Plain& value) const {
    return value;
  }
  [[nodiscard]] Value message(std::string_view text) const { return command_text(text); }
  [[nodiscard]] Value pair(Value first, Value second) const { return list({std::move(first), std::move(second)}); }
  [[nodiscard]] Value list(std::vector<Value> values) const { return Value::array_t(std::move(values)); }
};

/// A field's value.
template <class Field>
[[nodiscard]] nlohmann::ordered_json json_value(const Field& value) {
  return value_by(JsonMaker(), value);
}
/// The object with the fields of a report, and of what describe() takes beside it.
template <class... Report>
[[nodiscard]] nlohmann::ordered_json json_fields(const Report&... report) {
  return object_by(JsonMaker(), report...);
}
template <class... Report>
void add_fields(nlohmann::ordered_json& json, const Report&... report) {
  add_fields_by(JsonMaker(), json, report...);
}

}  // namespace unweave
