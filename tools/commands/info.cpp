// tools/commands/info.cpp - `unweave info`: what a store holds at this moment.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "storage/io/json_text.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_output.h"
#include "unweave/classes.h"
#include "unweave/fields/store.h"
#include "unweave/store.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// The first ones, where they are many.
std::string weights_text(const std::vector<double>& weights) {
  constexpr std::size_t kMost = 5, kFirst = 3;
  std::string text;
  for (std::size_t i = 0; i < (weights.size() <= kMost ? weights.size() : kFirst); ++i)
    text += (i == 0 ? "" : ", ") + number_text(weights[i]);
  if (weights.size() <= kMost) return text;
  return count_text(weights.size()) + ": " + text + ", ... (all with --json)";
}

/// Each type with its ids: `paper 0..736388, author 736389..1871037`.
std::string types_text(const Json& types) {
  std::string text;
  for (const Json& type : types) {
    const auto first = type.at("first").get<std::uint64_t>(), nodes = type.at("nodes").get<std::uint64_t>();
    text += (text.empty() ? "" : ", ") + type.at("name").get<std::string>() + " " + std::to_string(first) + ".." +
            std::to_string(first + nodes - 1);
  }
  return text;
}

std::string cell(const std::string& name, const Json& value) {
  if (value.is_null()) return name == "hops" ? "not propagated" : "-";
  if (value.is_number_unsigned()) return count_text(value.get<std::uint64_t>());
  if (name == "weight_unit") return unit_text(std::ilogb(value.get<double>()));  // four digits would cut it
  if (value.is_number()) return number_text(value.get<double>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array() && name == "class_names") return class_list(value.get<std::vector<std::string>>());
  if (value.is_array() && name == "types") return types_text(value);
  if (value.is_array() && name == "weights") return weights_text(value.get<std::vector<double>>());
  return text_of_json(value);
}

void print_tables(const Json& info, std::ostream& out) {
  Table facts;
  for (const auto& [name, value] : info.items()) {
    std::string label = name == "pending_purge"      ? "purge_begun"
                        : name == "acknowledged"     ? "requests_since_purge"
                        : name == "pending_requests" ? "requests_in_the_journal"
                                                     : name;
    std::replace(label.begin(), label.end(), '_', ' ');
    if (name == "bytes") {
      for (const auto& [folder, bytes] : value.items())
        facts.add_row({"size of " + folder, bytes_text(bytes.get<std::uint64_t>())});
    } else if (name == "models") {
      for (const Json& model : value) {
        facts.add_row({"model " + model_text(model.at("name"), model.at("solver")),
                       model.contains("damage")                ? "damaged"
                       : model.at("other_propagation") == true ? "stands on another propagation"
                       : model.at("outdated") == true          ? "outdated"
                                                               : "up to date"});
        if (model.contains("rows") && model.at("rows") != "levels")
          facts.add_row({"rows of " + model.at("name").get<std::string>(), model.at("rows").get<std::string>()});
        if (!info.at("digest").is_null() && model.contains("digest"))
          facts.add_row({"digest of its weights", model.at("digest").get<std::string>()});
      }
    } else if (name != "levels" &&
               !(value.is_null() &&
                 (name == "max_weight" || name == "weight_sum" || name == "weight_unit" || name == "self_weight" ||
                  name == "digest" || name == "types" || name == "ends" || name == "relations" || name == "subsets" ||
                  name == "pairs" || name == "held_edges" || name == "graphs" || name == "labelled_graphs"))) {
      facts.add_row({label, cell(name, value)});
    }
  }
  facts.print(out);
  if (!info.contains("levels")) return;
  out << '\n';
  Table levels({"level", "rows", "stale rows"});
  for (const Json& level : info.at("levels"))
    levels.add_row(
        {text_of_json(level.at("level")), cell("rows", level.at("rows")), cell("stale", level.at("stale_rows"))});
  levels.print(out);
}

}  // namespace

void run_info(CommandLine& line) {
  line.describe("Prints what a store holds: counts, sizes, the state of every level, requests.", {"STORE"},
                "unweave info demo/debian.store");
  line.options().add_options()(
      "digest", po::bool_switch(),
      "compute the content digest, which --json always holds, and show it beside those of the models' weights");
  if (!line.parse()) return;
  Resources resources({line.common().memory_bytes});
  const bool with_digest = line.common().json || line.get<bool>("digest");
  const StoreInfo store = describe_store(line.positional(0), resources, with_digest);
  if (store.unfinished_bytes > 0)
    line.note("the journal ends with " + counted(store.unfinished_bytes, "byte") +
              " of a batch that is not acknowledged: an append was ended there, or is under way");
  const Json info = json_fields(store);
  if (line.common().json)
    write_json_line(line.out(), info);
  else
    print_tables(info, line.out());
}

}  // namespace unweave
