// algorithms/models/request_tree.h - commitments to the requests of a batch: who holds the nonce of
// one can show that it was among them, and nobody else can learn or confirm any.
//
//   nonce i      BLAKE2b-256 of i as eight bytes, little endian, keyed by the batch's secret
//   leaf i       BLAKE2b-256 of a byte 2, the nonce and the text of the request with its outcome
//                (request_status.h); of a request whose outcome was not noted a byte 0, the nonce
//                and its text
//   inner node   BLAKE2b-256 of a byte 1 and its two children; the last node of an odd level rises
//                as it is
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/random/hash.h"

namespace unweave {

[[nodiscard]] Hash nonce_of(const Hash& secret, std::uint64_t index) noexcept;
/// `text`: of the request with its outcome behind a tab, or of the request alone.
[[nodiscard]] Hash leaf_of(const Hash& nonce, std::string_view text);

class RequestTree {
 public:
  /// At least one leaf.
  explicit RequestTree(std::vector<Hash> leaves);
  [[nodiscard]] const Hash& root() const { return levels_.back().front(); }
  /// The siblings on the way from a leaf to the root.
  [[nodiscard]] std::vector<Hash> path(std::size_t index) const;

 private:
  std::vector<std::vector<Hash>> levels_;
};

/// The root of a tree of `count` leaves in which leaf `index` has this path; none where the path is
/// too short or too long.
[[nodiscard]] std::optional<Hash> root_of(const Hash& leaf, std::uint64_t index, std::uint64_t count,
                                          const std::vector<Hash>& path);

}  // namespace unweave
