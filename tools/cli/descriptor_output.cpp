// tools/cli/descriptor_output.cpp - writes, and waits where a descriptor does not.
#include "tools/cli/descriptor_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace unweave {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 14;

}  // namespace

DescriptorOutput::DescriptorOutput(int descriptor) : descriptor_(descriptor), buffer_(kBufferBytes) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

DescriptorOutput::~DescriptorOutput() {
  static_cast<void>(write_all());  // whoever must know has flushed before
}

bool DescriptorOutput::write_all() {
  const char* at = pbase();
  bool is_fine = true;
  while (at < pptr() && is_fine) {
    const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
    if (written >= 0) {
      at += written;
    } else if (errno == EAGAIN) {
      pollfd one{descriptor_, POLLOUT, 0};
      is_fine = ::poll(&one, 1, -1) >= 0 || errno == EINTR;
    } else {
      is_fine = errno == EINTR;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return is_fine;
}

DescriptorOutput::int_type DescriptorOutput::overflow(int_type character) {
  if (!write_all()) return traits_type::eof();
  if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
  return traits_type::not_eof(character);
}

int DescriptorOutput::sync() {
  return write_all() ? 0 : -1;
}

}  // namespace unweave
