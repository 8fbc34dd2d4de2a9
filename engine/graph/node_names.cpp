// engine/graph/node_names.cpp - turns names into numbers and numbers into names.
#include "engine/graph/node_names.h"

#include <charconv>

#include "storage/input/request_reader.h"

namespace unweave {

NodeNames::NodeNames(const std::filesystem::path& store, const Manifest& manifest) : nodes_(manifest.nodes) {
  if (!manifest.names) return;
  list_.emplace(store, manifest.names->names, manifest.nodes);
  index_.emplace(store, manifest.names->index, *list_);
}

std::string NodeNames::text(std::uint64_t user) const {
  if (!given()) return std::to_string(user);
  if (user == kUnknownName) return "?";
  const std::string_view found = user < nodes_ ? name(static_cast<NodeId>(user)) : std::string_view();
  return found.empty() ? "#" + std::to_string(user) : std::string(found);
}

std::uint64_t NodeNames::number(std::string_view word) const {
  if (word.starts_with('#')) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size() ? number : kUnknownName;
  }
  const NodeId found = index_->find(word);
  return found == kNoNode ? kUnknownName : found;
}

std::string NodeNames::text_of(const Request& request) const {
  return unweave::text_of(request, [this](std::uint64_t user) { return text(user); });
}

}  // namespace unweave
