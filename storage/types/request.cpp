// storage/types/request.cpp - what requests take.
#include "storage/types/request.h"

namespace unweave {

std::uint64_t text_bytes(std::span<const Request> requests) noexcept {
  std::uint64_t bytes = 0;
  for (const Request& request : requests) bytes += request.id.size() + request.value.size();
  return bytes;
}

}  // namespace unweave
