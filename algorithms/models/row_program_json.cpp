// algorithms/models/row_program_json.cpp - the members of a program.
#include "algorithms/models/row_program_json.h"

#include <stdexcept>

#include "algorithms/rows/row_block.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnit = "node";  // what a row is of

}  // namespace

Json program_json(const RowProgram& program) {
  Json lift;
  if (program.lift) lift = {{"width", program.lift->width}, {"key", program.lift->key}, {"bias", program.lift->bias}};
  Json json = {{"unit", kUnit}, {"blocks", program.blocks}};
  if (program.copies > 1) json["copies"] = program.copies;
  json["scale"] = scale_name(program.scale);
  json["lift"] = std::move(lift);
  return json;
}

void read_program(RowProgram& program, const Json& json) {
  if (json.at("unit").get<std::string>() != kUnit) throw std::runtime_error("its rows are of a unit that is none");
  program.blocks = json.at("blocks").get<std::vector<std::string>>();
  if (json.contains("copies")) program.copies = whole_number<std::uint32_t>(json.at("copies"));
  program.scale = scale_named(json.at("scale").get<std::string>());
  if (const Json& lift = json.at("lift"); !lift.is_null())
    program.lift = {whole_number<std::uint32_t>(lift.at("width")), whole_number<std::uint64_t>(lift.at("key")),
                    real_number(lift.at("bias"))};
  if (json != program_json(program)) throw std::runtime_error("its program of rows has a member that is none");
  require_blocks(program.blocks);
}

}  // namespace unweave
