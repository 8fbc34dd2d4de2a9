// tools/service/call_target.h - what the target of a call says: a path of two words and a query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// One of the calls by its path: what stands before and behind the first slash, decoded.
struct Path {
  std::string name, rest;
};

/// A path without its query; none where an escape in it is none.
[[nodiscard]] std::optional<Path> read_path(std::string_view target);

/// What stands behind the question mark.
[[nodiscard]] std::string_view query_of(std::string_view target);
/// What is wrong with a query that may have these members, with commas between, once each; nothing
/// is passed over.
[[nodiscard]] std::optional<std::string> fault_of_query(std::string_view target, std::string_view members);
/// The value of a member of the query, decoded; none where it is missing. Throws UsageError for an
/// escape that is none.
[[nodiscard]] std::optional<std::string> query_member(std::string_view target, std::string_view name);

}  // namespace unweave
