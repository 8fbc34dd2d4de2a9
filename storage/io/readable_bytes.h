// storage/io/readable_bytes.h - sizes for people.
#pragma once

#include <cstdint>
#include <string>

namespace unweave {

/// "512 bytes", "1.5 GiB".
[[nodiscard]] std::string readable_bytes(std::uint64_t bytes);

}  // namespace unweave
