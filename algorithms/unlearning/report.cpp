// algorithms/unlearning/report.cpp - adds and finds the terms of a report by name.
#include "algorithms/unlearning/report.h"

#include <stdexcept>

namespace unweave {

void Terms::publish(std::string_view name, double value) {
  add(name, value);
  published_.emplace_back(name);
}

double Terms::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::out_of_range("a report without the term " + std::string(name));
  return found->second;
}

}  // namespace unweave
