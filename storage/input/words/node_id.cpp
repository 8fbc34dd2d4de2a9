// storage/input/words/node_id.cpp - parses node ids, and words the error for one that is out of
// range.
#include "storage/input/words/node_id.h"

#include <string>

#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"

namespace unweave {

void throw_bad_id(const std::filesystem::path& file, std::string_view place, std::string_view id, std::uint64_t limit) {
  const std::string what = "node id " + std::string(id);
  if (id.starts_with('-')) {
    throw InputError(file, place, what + " is negative", "node ids count from 0");
  }
  if (limit > kMaxNodeId) {
    throw InputError(file, place, what + " is above 4294967294, the largest", "number the nodes from 0");
  }
  throw InputError(file, place, what + " is outside the graph of " + std::to_string(limit) + " nodes",
                   "node ids count from 0; correct the id or the number of nodes");
}

NodeId parse_id(Fields& fields, const LineReader& lines, std::uint64_t limit) {
  Fields start = fields;
  const bool is_missing = fields.after_comma();  // behind the last comma of the line
  std::uint64_t id = 0;
  const std::errc error = fields.number(id);
  if (error == std::errc() && id < limit) return static_cast<NodeId>(id);
  std::int64_t negative = 0;
  const std::errc negative_error = Fields(start).number(negative);
  const std::string_view text = start.take();
  if (error != std::errc::invalid_argument || negative_error != std::errc::invalid_argument) {
    throw_bad_id(lines.name(), lines.place(), text, limit);
  }
  const std::string_view inside = is_quoted(text) ? text.substr(1, text.size() - 2) : std::string_view();
  if (is_quoted(text) && inside.find_first_not_of("0123456789") != std::string_view::npos)
    throw InputError(
        lines.name(), lines.place(), quote_for_message(inside) + " is not a node id",
        inside.find(' ') == std::string_view::npos
            ? "ids are whole numbers from 0"
            : "blanks and another separator part this line; write one kind of separator, as tr ' ' '\\t' does");
  if (is_missing || text == "\"\"")
    throw InputError(lines.name(), lines.place(), "an id is missing", "leave the line out, or write the id");
  if (text.ends_with(".0") && text.substr(0, text.size() - 2).find_first_not_of("0123456789") == std::string_view::npos)
    throw InputError(lines.name(), lines.place(), quote_for_message(text) + " is not a node id",
                     "ids are whole numbers from 0; write them without .0, as pandas does behind .astype('Int64')");
  const bool is_table = text.empty() || text.find(';') != std::string_view::npos;
  throw InputError(
      lines.name(), lines.place(), quote_for_message(text) + " is not a node id",
      "ids are whole numbers from 0; " +
          (text.starts_with('"') ? "fields in quotes are read where columns are named, as in " + lines.name().string() +
                                       "[0,1], or [0] of one column"
           : is_table ? "columns of a table are named by their names or places, as in " + lines.name().string() +
                            (text.empty() ? "[1,2]" : "[0,1]")
                      : "names are known where an import was given a file that lists them, by " + option("ids")));
}

}  // namespace unweave
