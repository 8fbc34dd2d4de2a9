// tools/service/quarantine.cpp - appends what was no request.
#include "tools/service/quarantine.h"

#include <algorithm>

#include "storage/io/private_file.h"
#include "storage/io/time_text.h"

namespace unweave {
namespace {

constexpr std::size_t kMostText = 4096;  // bytes of a line that are kept

}  // namespace

Quarantine::Quarantine(const std::filesystem::path& file) {
  if (file.empty()) return;
  require_replaceable(file);
  file_ = std::filesystem::exists(file) ? File::open_write(file) : create_private(file);
  end_ = file_.size();
}

void Quarantine::add(std::span<const BadLine> lines) {
  if (!file_.is_open() || lines.empty()) return;
  std::string text;
  for (const BadLine& line : lines) {
    std::string plain = line.text.substr(0, kMostText);
    std::replace_if(
        plain.begin(), plain.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    text.append(time_text(present_time())).append(1, '\t').append(plain).append(1, '\t').append(line.reason) += '\n';
  }
  const std::scoped_lock lock(mutex_);
  file_.write_at(end_, std::as_bytes(std::span(text)));
  end_ += text.size();
  file_.sync();
}

}  // namespace unweave
