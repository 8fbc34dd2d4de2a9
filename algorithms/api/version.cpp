// algorithms/api/version.cpp - the version of this build, which CMake passes in.
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {

std::string_view version() noexcept {
  return UNWEAVE_VERSION;
}

}  // namespace v0
}  // namespace unweave
