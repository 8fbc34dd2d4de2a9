// algorithms/models/receipts.h - what a requester gets: a proof that one certificate covers the
// request, checked without the store against the public log of certificates.
//
// A certificate holds the root of a tree of commitments (request_tree.h) to the requests since the
// release before and to what became of each. A receipt is one line of JSON: request, whether it was
// applied or why not, its number in the store's life, nonce, path to the root, number and digest of
// the certificate. Receipts are written while streaming or never: secret and requests are kept with
// the model until its next release, for the receipts that a crash kept from being written, and
// nowhere else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "algorithms/models/model_record.h"
#include "algorithms/models/request_tree.h"
#include "storage/io/file.h"

namespace unweave {

inline constexpr std::string_view kReceiptFormat = "unweave receipt 2";
/// The format before it: neither these receipts nor the leaves that they prove tell what became of
/// the request.
inline constexpr std::string_view kReceiptFormatWithoutStatus = "unweave receipt 1";

/// Over the commitments to record.requests, of which there is at least one.
[[nodiscard]] RequestTree tree_of(const ModelRecord& record);

/// A file of receipts that is written to.
class ReceiptFile {
 public:
  /// Opens a file, or makes it, for this object alone. Throws DataError for a file of something
  /// else, which stays as it is, ResourceError for one that another object or process writes.
  explicit ReceiptFile(const std::filesystem::path& path);
  /// Cuts off a line that a crash left incomplete, and appends the receipts of the record's newest
  /// certificate that are not there yet; these are durable on return.
  void add(const ModelRecord& record);

 private:
  void find_end(const std::filesystem::path& path);

  File file_;
  std::uint64_t end_ = 0;
  std::string last_;         // digest of the certificate of the last receipt
  std::uint64_t count_ = 0;  // receipts of this certificate at the end
};

}  // namespace unweave
