// algorithms/api/unweave/version.h - the version of this build.
#pragma once

#include <string_view>

namespace unweave {
inline namespace v0 {

/// "0.1.0", as in CMakeLists.txt.
[[nodiscard]] std::string_view version() noexcept;

}  // namespace v0
}  // namespace unweave
