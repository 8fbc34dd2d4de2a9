// storage/io/hex.h - bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace unweave {

/// Two lower-case digits a byte.
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);

}  // namespace unweave
