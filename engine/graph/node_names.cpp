// engine/graph/node_names.cpp - turns names into numbers and numbers into names.
#include "engine/graph/node_names.h"

#include <charconv>

#include "engine/graph/node_set.h"
#include "storage/formats/manifest.h"
#include "storage/formats/name_file.h"
#include "storage/input/request_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/plain_text.h"

namespace unweave {

struct NodeNames::Parts {
  explicit Parts(const Manifest& manifest)
      : nodes(manifest.user_nodes()),
        ids_are(manifest.ids_are),
        relations(relation_names(manifest.layers)),
        lost(manifest.user_nodes()) {}

  NodeId nodes;
  std::optional<IdsAre> ids_are;
  std::vector<std::string> relations;
  NodeSet lost;
  std::optional<NameList> list;
  std::optional<NameIndex> index;  ///< refers to the list
};

NodeNames::NodeNames(const std::filesystem::path& store, const Manifest& manifest)
    : parts_(std::make_unique<Parts>(manifest)) {
  if (!manifest.names) return;
  parts_->list.emplace(store, manifest.names->names, manifest.user_nodes());
  parts_->index.emplace(store, manifest.names->index, *parts_->list);
}

NodeNames::~NodeNames() = default;

bool NodeNames::given() const noexcept {
  return parts_->list.has_value();
}

std::uint64_t NodeNames::named() const noexcept {
  return given() ? parts_->list->named() - parts_->lost.size() : 0;
}

std::string_view NodeNames::name(NodeId user) const {
  return has_lost(user) ? std::string_view() : name_in_files(user);
}

std::string_view NodeNames::name_in_files(NodeId user) const {
  return given() ? parts_->list->name(user) : std::string_view();
}

void NodeNames::lose(NodeId user) {
  if (!name_in_files(user).empty()) parts_->lost.insert(user);
}

bool NodeNames::has_lost(NodeId user) const noexcept {
  return parts_->lost.contains(user);
}

const NodeSet& NodeNames::lost() const noexcept {
  return parts_->lost;
}

const std::vector<std::string>& NodeNames::relations() const noexcept {
  return parts_->relations;
}

std::optional<IdsAre> NodeNames::ids_are() const noexcept {
  return parts_->ids_are;
}

const NameList& NodeNames::list() const noexcept {
  return *parts_->list;
}

const NameIndex& NodeNames::index() const noexcept {
  return *parts_->index;
}

namespace {

/// kUnknownName for what is no number, or too large a one.
std::uint64_t number_in(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : kUnknownName;
}

}  // namespace

std::string NodeNames::word_of_name(std::string_view name) const {
  const bool seems_a_position = ids_are() == IdsAre::positions && is_whole_number(name);
  return seems_a_position ? in_quotes(name) : as_word(printable(name));
}

std::string NodeNames::plain_text(std::uint64_t user) const {
  if (!given()) return std::to_string(user);
  if (user == kUnknownName) return "?";
  const std::string_view found = user < parts_->nodes ? name(static_cast<NodeId>(user)) : std::string_view();
  return found.empty() ? "#" + std::to_string(user) : printable(found);
}

std::string NodeNames::text(std::uint64_t user) const {
  const std::string_view found = given() && user < parts_->nodes ? name(static_cast<NodeId>(user)) : std::string_view();
  return found.empty() ? plain_text(user) : word_of_name(found);
}

NodeWord NodeNames::read(std::string_view word) const {
  if (word.starts_with('#')) return {number_in(word.substr(1)), false};
  if (ids_are() == IdsAre::positions && is_whole_number(word)) return {number_in(word), false};
  return {is_quoted(word) ? find(unquoted(word)) : find(word), true};
}

std::uint64_t NodeNames::find(std::string_view name) const {
  const NodeId found = index().find(name);
  return found == kNoNode || has_lost(found) ? kUnknownName : found;
}

std::string NodeNames::text_of(const Request& request, bool names_nobody) const {
  const auto write = [&](std::uint64_t user, bool by_name) {
    if (!by_name || user >= parts_->nodes || !has_lost(static_cast<NodeId>(user))) return text(user);
    return names_nobody ? text(kUnknownName) : word_of_name(name_in_files(static_cast<NodeId>(user)));
  };
  return unweave::text_of(request, write, relations());
}

}  // namespace unweave
