// algorithms/models/row_program_json.h - a program of rows as models and certificates have it.
#pragma once

#include <nlohmann/json.hpp>

#include "algorithms/rows/row_program.h"

namespace unweave {

/// All of it but the weights of the levels, which stand beside it.
[[nodiscard]] nlohmann::ordered_json program_json(const RowProgram& program);

/// Puts what program_json() gave beside the weights. Throws an exception of the library of JSON,
/// std::runtime_error or UsageError for what is no program.
void read_program(RowProgram& program, const nlohmann::ordered_json& json);

}  // namespace unweave
