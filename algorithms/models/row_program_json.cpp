// algorithms/models/row_program_json.cpp - the members of a program.
#include "algorithms/models/row_program_json.h"

#include <stdexcept>

#include "algorithms/rows/row_block.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// The options' words, or for a sum its divisor.
Json pool_json(const Pool& pool) {
  if (pool.by == Pool::By::number) return {{"sum", pool.divisor}};
  return text_of(pool);
}

Pool pool_from(const Json& json) {
  if (!json.is_object()) return pool_named(json.get<std::string>());
  return pool_named("sum=" + std::to_string(whole_number<std::uint32_t>(json.at("sum"))));
}

/// `how` in the option's word, and what multiplies.
Json pair_json(const PairForm& pair) {
  return {{"how", text_of(PairForm{pair.how, 1})}, {"by", pair.by}};
}

PairForm pair_from(const Json& json) {
  return pair_form_named(json.at("how").get<std::string>() +
                         ",by=" + std::to_string(whole_number<std::uint32_t>(json.at("by"))));
}

}  // namespace

Json program_json(const RowProgram& program) {
  Json lift;
  if (program.lift) lift = {{"width", program.lift->width}, {"key", program.lift->key}, {"bias", program.lift->bias}};
  if (program.lift && program.lift->of_nodes) lift["at"] = "node";
  Json json = {{"unit", name_of(program.unit())}, {"blocks", program.blocks}};
  if (program.copies > 1) json["copies"] = program.copies;
  if (program.level_0_once) json["level_0"] = "once";
  json["scale"] = scale_name(program.scale);
  if (program.pair) json["pair"] = pair_json(*program.pair);
  if (program.pool) json["pool"] = pool_json(*program.pool);
  json["lift"] = std::move(lift);
  return json;
}

void read_program(RowProgram& program, const Json& json) {
  program.blocks = json.at("blocks").get<std::vector<std::string>>();
  if (json.contains("copies")) program.copies = whole_number<std::uint32_t>(json.at("copies"));
  program.level_0_once = json.contains("level_0");
  program.scale = scale_named(json.at("scale").get<std::string>());
  if (json.contains("pair")) program.pair = pair_from(json.at("pair"));
  if (json.contains("pool")) program.pool = pool_from(json.at("pool"));
  if (program.pair && program.pool) throw std::runtime_error("its rows are of pairs and of graphs");
  if (json.at("unit").get<std::string>() != name_of(program.unit()))
    throw std::runtime_error("its rows are of another unit than what makes them");
  if (const Json& lift = json.at("lift"); !lift.is_null())
    program.lift = {whole_number<std::uint32_t>(lift.at("width")), whole_number<std::uint64_t>(lift.at("key")),
                    real_number(lift.at("bias")), lift.contains("at")};
  if (program.lift && program.lift->of_nodes && program.unit() == RowUnit::node)
    throw std::runtime_error("its lift is at nodes, of which its rows are anyway");
  if (json != program_json(program)) throw std::runtime_error("its program of rows has a member that is none");
  require_blocks(program.blocks);
}

}  // namespace unweave
