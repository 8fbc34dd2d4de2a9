// tools/cli/version.cpp - the version of this build, which CMake passes in.
#include "tools/cli/version.h"

namespace unweave {

std::string_view version() noexcept {
  return UNWEAVE_VERSION;
}

}  // namespace unweave
