// tools/cli/steady_output.cpp - asks a descriptor whether it takes bytes before it writes them.
#include "tools/cli/steady_output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

namespace unweave {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 20;

}  // namespace

SteadyOutput::SteadyOutput(std::ostream& stream, int descriptor) : stream_(stream), buffer_(descriptor) {
  if (descriptor < 0) return;
  stream_.flush();
  before_ = stream_.rdbuf(&buffer_);
}

SteadyOutput::~SteadyOutput() {
  if (before_ == nullptr) return;
  const bool failed = !stream_;
  buffer_.write_kept(500);
  stream_.rdbuf(before_);  // which clears what has failed
  if (failed) stream_.setstate(std::ios::badbit);
}

void SteadyOutput::Buffer::write_kept(int milliseconds) {
  const std::scoped_lock lock(mutex_);
  write_kept_locked(milliseconds);
}

void SteadyOutput::Buffer::write_kept_locked(int milliseconds) {
  using Time = std::chrono::steady_clock;
  const Time::time_point end = Time::now() + std::chrono::milliseconds(milliseconds);
  std::size_t at = 0;
  while (at < kept_.size() && !failed_) {
    pollfd one{descriptor_, POLLOUT, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Time::now()).count();
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, milliseconds)));
    if (ready == 0) break;
    if (ready < 0) {
      if (errno == EINTR) continue;
      failed_ = true;
      break;
    }
    // A pipe that is ready has room for so many bytes.
    const ssize_t taken = ::write(descriptor_, kept_.data() + at, std::min<std::size_t>(kept_.size() - at, PIPE_BUF));
    if (taken >= 0)
      at += static_cast<std::size_t>(taken);
    else if (errno != EINTR && errno != EAGAIN)
      failed_ = true;
  }
  kept_.erase(0, at);
}

std::uint64_t SteadyOutput::Buffer::left_out() {
  const std::scoped_lock lock(mutex_);
  return kept_.empty() ? std::exchange(left_out_, 0) : 0;
}

std::streamsize SteadyOutput::Buffer::xsputn(const char* bytes, std::streamsize count) {
  const std::scoped_lock lock(mutex_);
  for (std::string_view rest(bytes, static_cast<std::size_t>(count)); !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view part = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    rest.remove_prefix(part.size());
    const bool begins = kept_.empty() || kept_.back() == '\n';
    if (begins && !leaves_out_ && kept_.size() >= kMostKept) {
      leaves_out_ = true;
      ++left_out_;
    }
    if (!leaves_out_) kept_ += part;
    if (part.back() == '\n') leaves_out_ = false;
  }
  return failed_ ? 0 : count;
}

SteadyOutput::Buffer::int_type SteadyOutput::Buffer::overflow(int_type character) {
  const char byte = traits_type::to_char_type(character);
  return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
}

int SteadyOutput::Buffer::sync() {
  const std::scoped_lock lock(mutex_);
  write_kept_locked(0);
  return failed_ ? -1 : 0;
}

}  // namespace unweave
