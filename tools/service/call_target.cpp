// tools/service/call_target.cpp - takes targets apart.
#include "tools/service/call_target.h"

#include <algorithm>
#include <set>
#include <utility>

#include "storage/io/error.h"
#include "tools/service/request_body.h"

namespace unweave {

std::optional<Path> read_path(std::string_view target) {
  const std::string_view path =
      target.substr(1, target.find('?') == std::string_view::npos ? target.size() : target.find('?') - 1);
  const std::size_t slash = std::min(path.find('/'), path.size());
  std::optional<std::string> name = percent_decoded(path.substr(0, slash));
  std::optional<std::string> rest = percent_decoded(path.substr(std::min(slash + 1, path.size())));
  if (!name || !rest || path.substr(std::min(slash + 1, path.size())).find('/') != std::string_view::npos)
    return std::nullopt;
  return Path{*std::move(name), *std::move(rest)};
}

std::string_view query_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::optional<std::string> fault_of_query(std::string_view target, std::string_view members) {
  std::set<std::string_view> seen;
  for (std::string_view query = query_of(target); !query.empty();) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), member.size() + 1));
    const std::string_view name = member.substr(0, member.find('='));
    const std::string listed = "," + std::string(members) + ",";
    if (name.empty() || listed.find("," + std::string(name) + ",") == std::string::npos)
      return members.empty() ? "this call has no query"
                             : "the query of this call has no other members than " + std::string(members);
    if (!seen.insert(name).second) return "a member of the query stands there twice; give each once";
  }
  return std::nullopt;
}

std::optional<std::string> query_member(std::string_view target, std::string_view name) {
  std::string_view query = query_of(target);
  while (!query.empty()) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), member.size() + 1));
    const std::size_t equals = std::min(member.find('='), member.size());
    if (member.substr(0, equals) != name) continue;
    std::optional<std::string> value = percent_decoded(member.substr(std::min(equals + 1, member.size())));
    if (!value) throw UsageError("an escape in the query is none; write a percent sign as %25");
    return value;
  }
  return std::nullopt;
}

}  // namespace unweave
