// algorithms/models/request_tree.cpp - computes nonces, leaves, paths and roots of a tree of
// requests.
#include "algorithms/models/request_tree.h"

#include <string>

namespace unweave {
namespace {

Hash parent_of(const Hash& left, const Hash& right) {
  return hash_of(std::string("\1") + std::string(text_of(left)) + std::string(text_of(right)));
}

}  // namespace

Hash nonce_of(const Hash& secret, std::uint64_t index) noexcept {
  std::array<char, 8> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(index & 0xFF);
    index >>= 8;
  }
  return hash_of({bytes.data(), bytes.size()}, secret);
}

Hash leaf_of(const Hash& nonce, std::string_view text) {
  const char kind = text.find('\t') == std::string_view::npos ? '\0' : '\2';
  return hash_of(std::string(1, kind) + std::string(text_of(nonce)) + std::string(text));
}

RequestTree::RequestTree(std::vector<Hash> leaves) {
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const std::vector<Hash>& below = levels_.back();
    std::vector<Hash> level;
    level.reserve(below.size() / 2 + 1);
    for (std::size_t i = 0; i + 1 < below.size(); i += 2) level.push_back(parent_of(below[i], below[i + 1]));
    if (below.size() % 2 != 0) level.push_back(below.back());
    levels_.push_back(std::move(level));
  }
}

std::vector<Hash> RequestTree::path(std::size_t index) const {
  std::vector<Hash> out;
  for (const std::vector<Hash>& level : levels_) {
    const std::size_t sibling = index ^ 1;
    if (sibling < level.size()) out.push_back(level[sibling]);
    index /= 2;
  }
  return out;
}

std::optional<Hash> root_of(const Hash& leaf, std::uint64_t index, std::uint64_t count, const std::vector<Hash>& path) {
  Hash node = leaf;
  std::size_t used = 0;
  for (; count > 1; index /= 2, count = count / 2 + count % 2) {
    if ((index ^ 1) >= count) continue;  // the last of an odd level
    if (used == path.size()) return std::nullopt;
    const Hash& sibling = path[used++];
    node = index % 2 == 0 ? parent_of(node, sibling) : parent_of(sibling, node);
  }
  if (used != path.size()) return std::nullopt;
  return node;
}

}  // namespace unweave
