// tools/service/quarantine.cpp - appends what was no request.
#include "tools/service/quarantine.h"

#include <string_view>

#include "storage/io/entry.h"
#include "storage/io/plain_text.h"
#include "storage/io/private_file.h"
#include "storage/io/time_text.h"

namespace unweave {
namespace {

constexpr std::size_t kMostText = 4096;                       // bytes of a line that are kept
constexpr std::uint64_t kMostFile = std::uint64_t{64} << 20;  // bytes of the file, beyond which nothing is added

}  // namespace

Quarantine::Quarantine(const std::filesystem::path& named) {
  if (named.empty()) return;
  const std::filesystem::path file = resolved(named);
  require_replaceable(file);
  file_ = has_entry(file) ? File::open_write(file) : create_private(file);
}

void Quarantine::add(std::span<const BadLine> lines) {
  if (!file_.is_open() || lines.empty()) return;
  std::string text;
  for (const BadLine& line : lines) {
    text.append(time_text(present_time()))
        .append(1, '\t')
        .append(printable(std::string_view(line.text).substr(0, kMostText)));
    text.append(1, '\t').append(printable(line.reason)) += '\n';
  }
  const std::scoped_lock lock(mutex_);
  const std::uint64_t size = file_.size();  // others may have cut it, or added to it
  if (size + text.size() > kMostFile) return;
  file_.write_at(size, std::as_bytes(std::span(text)));
  file_.sync();
}

}  // namespace unweave
