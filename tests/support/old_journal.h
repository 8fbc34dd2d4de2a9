// tests/support/old_journal.h - journals of older programs, which took words that no program takes
// now.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>

#include "storage/io/checksum.h"

namespace unweave::testing {

/// The bytes of a journal with `to` in the place of `from`, which is as long, in its last record,
/// which begins at byte `record`; its checksum fits. Throws std::invalid_argument where that cannot
/// be done.
inline std::string with_words(std::string bytes, std::size_t record, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from, record);
  if (from.size() != to.size() || at == std::string::npos) throw std::invalid_argument("there are no such words");
  bytes.replace(at, from.size(), to);
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  const Checksum128 sum = checksum128(all.subspan(record, 16), all.subspan(record + 24));
  std::memcpy(bytes.data() + record + 16, sum.data(), 8);
  return bytes;
}

/// Does so in the only journal of a store, whose only record is its first one.
inline void put_words_into_journal(const std::filesystem::path& store, const std::string& from, const std::string& to) {
  constexpr std::size_t kHeader = 40;
  for (const auto& journal : std::filesystem::directory_iterator(store / "journal")) {
    std::ifstream in(journal.path(), std::ios::binary);
    const std::string bytes = with_words({std::istreambuf_iterator<char>(in), {}}, kHeader, from, to);
    std::ofstream(journal.path(), std::ios::binary) << bytes;
  }
}

}  // namespace unweave::testing
