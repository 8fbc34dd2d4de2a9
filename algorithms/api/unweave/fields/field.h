// algorithms/api/unweave/fields/field.h - the fields of reports, each named once for everybody who
// hands them on.
//
// The headers of this folder have a function describe(report, field) for each report. It calls
// field(name, value) for every field, in the order in which `--json` prints them. A value is a
// number, a text, a MessageText, a report of its own, an optional or a list of such, or values by
// name. A front end says how it writes each kind, as a class of this form, and has object_by(maker,
// report) make objects of all reports:
//
//   struct Maker {
//     using Value = ..., Object = ...;
//     Object object() const;                                        // without members
//     void add(Object&, std::string_view name, Value) const;
//     Value null() const, plain(const auto& number_or_text) const, message(std::string_view) const;
//     Value pair(Value, Value) const, list(std::vector<Value>) const;
//   };
#pragma once

#include <cmath>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace unweave {
inline namespace v0 {

/// A message (storage/io/message.h), which each front end shows in its own style.
struct MessageText {
  std::string_view text;
};

/// What `make` makes of each in a list.
template <class List, class Make>
[[nodiscard]] auto each_of(const List& list, const Make& make) {
  std::vector<std::decay_t<decltype(make(*std::begin(list)))>> made;
  made.reserve(std::size(list));
  for (const auto& one : list) made.push_back(make(one));
  return made;
}
[[nodiscard]] inline std::vector<MessageText> message_texts(const std::vector<std::string>& messages) {
  return each_of(messages, [](const std::string& message) { return MessageText{message}; });
}

/// A report that is a part of another one: `fields` is a function like describe() that takes
/// `field` alone.
template <class Fields>
struct Nested {
  Fields fields;
};
template <class Fields>
Nested(Fields) -> Nested<Fields>;
template <class Fields, class Visit>
void describe(const Nested<Fields>& nested, Visit&& field) {
  nested.fields(field);
}

/// No value where it means nothing.
template <class Value>
[[nodiscard]] std::optional<Value> only_if(bool means_something, Value value) {
  return means_something ? std::optional<Value>(std::move(value)) : std::nullopt;
}

struct AnyVisitor {
  template <class Value>
  void operator()(std::string_view, const Value&) const {}
};
template <class Value>
concept Described = requires(const Value& value, const AnyVisitor& field) {
  describe(value, field);
};
template <class Value>
concept MaybeThere = requires(const Value& value) {
  value.has_value(), *value;
};
template <class Value>
concept PairOfValues = requires(const Value& value) {
  value.first, value.second;
};
template <class Value>
concept ListOfValues = std::ranges::range<Value> && !std::is_convertible_v<const Value&, std::string_view>;
template <class Value>
concept ValuesByName = ListOfValues<Value> && PairOfValues<std::ranges::range_value_t<Value>> &&
    requires(const std::ranges::range_value_t<Value>& one) {
  std::string_view(one.first);
};

template <class Maker, class... Report>
typename Maker::Object object_by(const Maker& make, const Report&... report);

/// A value as the front end has it. What is not there, and a number that is not finite, is null.
template <class Maker, class Value>
typename Maker::Value value_by(const Maker& make, const Value& value) {
  if constexpr (std::is_same_v<Value, MessageText>) {
    return make.message(value.text);
  } else if constexpr (MaybeThere<Value>) {
    return value ? value_by(make, *value) : make.null();
  } else if constexpr (std::is_floating_point_v<Value>) {
    return std::isfinite(value) ? make.plain(value) : make.null();
  } else if constexpr (Described<Value>) {
    return object_by(make, value);
  } else if constexpr (ValuesByName<Value>) {
    typename Maker::Object object = make.object();
    for (const auto& [name, one] : value) make.add(object, name, value_by(make, one));
    return object;
  } else if constexpr (PairOfValues<Value>) {
    return make.pair(value_by(make, value.first), value_by(make, value.second));
  } else if constexpr (ListOfValues<Value>) {
    return make.list(each_of(value, [&](const auto& one) { return value_by(make, one); }));
  } else {
    return make.plain(value);
  }
}

/// The fields of a report as members of an object that may have others. What describe() takes
/// beside the report goes along.
template <class Maker, class... Report>
void add_fields_by(const Maker& make, typename Maker::Object& object, const Report&... report) {
  describe(report..., [&](std::string_view name, const auto& value) { make.add(object, name, value_by(make, value)); });
}
template <class Maker, class... Report>
typename Maker::Object object_by(const Maker& make, const Report&... report) {
  typename Maker::Object object = make.object();
  add_fields_by(make, object, report...);
  return object;
}

}  // namespace v0
}  // namespace unweave
