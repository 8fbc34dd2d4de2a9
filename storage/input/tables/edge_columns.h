// storage/input/tables/edge_columns.h - which columns of a text of edges have the ends, as far as
// its header and its first lines tell.
#pragma once

#include <string>
#include <string_view>

#include "storage/input/words/line_reader.h"

namespace unweave {

class WeightRule;

/// The columns that a message names as an example of those of the ends, "[source,target]" where the
/// header calls two columns so, else "[0,1]". `header`: empty where there is none.
[[nodiscard]] std::string columns_of_ends(std::string_view header);
/// Likewise of a text of which columns were chosen, or none: `chosen` is the choice. Names and
/// places are those of the whole table.
[[nodiscard]] std::string columns_of_ends(std::string_view header, const std::string& chosen, const LineReader& lines);

/// What the header calls the third column, or the third of those that were chosen; empty where
/// there is none, or no header.
[[nodiscard]] std::string third_column(std::string_view header, const std::string& chosen, const LineReader& lines);

/// Throws InputError where one of the first two columns that were chosen is called as weights are.
/// The table has a header, which was read. `weighted`: weights behind the ends are read, or
/// ignored.
void require_no_weight_first(const std::string& chosen, const LineReader& lines, bool weighted);

/// Throws InputError where the header calls a later column an end of an edge, and not the first
/// two; one of the first two a weight; or the second of two a label. `rule`: of the values behind
/// the ends, which the columns that are proposed have where they are wanted.
void require_ends_first(std::string_view header, const LineReader& lines, const WeightRule& rule);

/// Throws InputError where the header has three names or more, as many as `line`, the first behind
/// it, has words, and does not say that the first two are the ends (end_names.h). `rule`: as
/// require_ends_first() has it.
void require_named_ends(std::string_view header, std::string_view line, const LineReader& lines,
                        const WeightRule& rule);

/// `line`: the first behind the header. Throws InputError where it has one word more, as where R
/// has written a table with the names of its rows.
void require_no_row_names(std::string_view header, std::string_view line, const LineReader& lines);

/// Three columns with commas, of which the first counts the lines, are edges with weights, or edges
/// behind the index of a frame that pandas has written without its header: throws InputError.
/// `line`: a copy of the first one that was given; look_ahead() is called.
void require_no_line_numbers(const std::string& line, LineReader& lines);

}  // namespace unweave
