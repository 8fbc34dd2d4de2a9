// tools/service/request_lookup.h - what became of the request that has an id, and its receipt.
//
// An id may have been another request's, which was forgotten (`requests --forget-before`): its
// receipts are in the files, and a note of it may ask for a removal yet. Neither is told of the
// present request.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/service/http_call.h"
#include "unweave/requests.h"

namespace unweave {

/// What the log has of an id.
struct LoggedId {
  std::optional<RequestRecord> request;  ///< or, where that is forgotten, the removal that its note has asked for
  std::optional<RequestRecord> removal;  ///< what its note has asked for
};

class RequestLookup {
 public:
  /// `receipts`: the file that the session writes them to, of each model that follows one; empty:
  /// none.
  RequestLookup(std::filesystem::path store, std::filesystem::path receipts, std::vector<std::string> models);

  [[nodiscard]] LoggedId find(const std::string& id) const;
  [[nodiscard]] bool has_receipts() const noexcept { return !receipts_.empty(); }
  /// The receipt by a model of what the log has of an id, that of a removal before that of the note
  /// that asked for it; empty where there is none. The call's memory holds it.
  [[nodiscard]] std::string receipt(const std::string& model, const std::string& id, const LoggedId& logged,
                                    CallMemory& memory) const;

 private:
  std::filesystem::path store_, receipts_;
  std::vector<std::string> models_;
};

}  // namespace unweave
