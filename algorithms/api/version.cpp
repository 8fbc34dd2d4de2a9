// algorithms/api/version.cpp - the version of this build, which CMake passes in.
#include "unweave/version.h"

namespace unweave::inline v0 {

std::string_view version() noexcept {
  return UNWEAVE_VERSION;
}

}  // namespace unweave::inline v0
