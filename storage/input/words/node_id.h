// storage/input/words/node_id.h - one rule for node ids in users' files, and one wording for its
// violation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "storage/input/request_words.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/types.h"

namespace unweave {

/// Number of ids that are allowed: `num_nodes` where it is declared, else all of [0, kMaxNodeId].
[[nodiscard]] constexpr std::uint64_t id_limit(std::optional<std::uint64_t> num_nodes) {
  constexpr std::uint64_t kAll = std::uint64_t{kMaxNodeId} + 1;
  return num_nodes && *num_nodes < kAll ? *num_nodes : kAll;
}

/// Throws the InputError for an id outside [0, limit); `id` is its text.
[[noreturn]] void throw_bad_id(const std::filesystem::path& file, std::string_view place, std::string_view id,
                               std::uint64_t limit);

/// Reads the id in the next field of the line that `lines` gave last. Throws InputError naming the
/// line.
[[nodiscard]] NodeId parse_id(Fields& fields, const LineReader& lines, std::uint64_t limit);

}  // namespace unweave
