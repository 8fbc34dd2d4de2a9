// storage/types/ids_are.h - what numbers stand for where nodes have names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace unweave {

/// What a number means, in files and requests, where nodes have names: the name that is written so,
/// or the place among the names, from 0.
enum class IdsAre : std::uint8_t { names, positions };
[[nodiscard]] constexpr std::string_view text_of(IdsAre ids_are) noexcept {
  return ids_are == IdsAre::names ? "names" : "positions";
}
/// The meaning that a text says; nothing for another text.
[[nodiscard]] constexpr std::optional<IdsAre> ids_are_of(std::string_view text) noexcept {
  for (const IdsAre one : {IdsAre::names, IdsAre::positions})
    if (text == text_of(one)) return one;
  return std::nullopt;
}

}  // namespace unweave
