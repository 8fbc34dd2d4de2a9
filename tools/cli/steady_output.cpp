// tools/cli/steady_output.cpp - a thread that writes, and may wait, for all others.
#include "tools/cli/steady_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace unweave {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 20;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 16;
constexpr std::chrono::milliseconds kLast{500};

/// Takes everything and keeps nothing.
class NoBuffer final : public std::streambuf {
  std::streamsize xsputn(const char* /*bytes*/, std::streamsize count) override { return count; }
  int_type overflow(int_type character) override { return traits_type::not_eof(character); }
};

}  // namespace

struct SteadyOutput::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::string kept;  ///< not taken yet; what is being written stands at its beginning
  std::uint64_t left_out = 0;
  bool failed = false, ended = false;

  /// Until the end, or a write that fails. A write that nobody takes never returns.
  void write_all(int descriptor) {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ended || !kept.empty(); });
      if (kept.empty()) return;
      const std::string piece = kept.substr(0, kMostAtOnce);
      lock.unlock();
      pollfd one{descriptor, POLLOUT, 0};  // a descriptor of others may be one whose writes do not wait
      static_cast<void>(::poll(&one, 1, -1));
      const ssize_t taken = ::write(descriptor, piece.data(), piece.size());
      const int error = taken < 0 ? errno : 0;
      lock.lock();
      if (taken > 0) kept.erase(0, static_cast<std::size_t>(taken));
      if (error != 0 && error != EINTR && error != EAGAIN) {
        failed = true;
        kept.clear();
      }
      changed.notify_all();
      if (failed) return;
    }
  }
};

SteadyOutput::SteadyOutput(std::ostream& stream, int descriptor)
    : stream_(stream), state_(std::make_shared<State>()), buffer_(state_) {
  if (descriptor < 0) return;
  stream_.flush();
  std::thread([state = state_, descriptor] { state->write_all(descriptor); }).detach();
  before_ = stream_.rdbuf(&buffer_);
}

SteadyOutput::~SteadyOutput() {
  if (before_ == nullptr) return;
  bool all_taken = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
    all_taken = state_->changed.wait_for(lock, kLast, [&] { return state_->kept.empty(); });
  }
  static NoBuffer nothing;
  const bool failed = !stream_;
  stream_.rdbuf(all_taken ? before_ : &nothing);  // which clears what has failed
  if (failed) stream_.setstate(std::ios::badbit);
}

std::uint64_t SteadyOutput::left_out() {
  const std::scoped_lock lock(state_->mutex);
  return state_->kept.empty() ? std::exchange(state_->left_out, 0) : 0;
}

std::streamsize SteadyOutput::Buffer::xsputn(const char* bytes, std::streamsize count) {
  const std::scoped_lock lock(state_->mutex);
  std::string& kept = state_->kept;
  for (std::string_view rest(bytes, static_cast<std::size_t>(count)); !rest.empty() && !state_->failed;) {
    const std::size_t end = rest.find('\n');
    const std::string_view part = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    rest.remove_prefix(part.size());
    const bool begins = kept.empty() || kept.back() == '\n';
    if (begins && !leaves_out_ && kept.size() >= kMostKept) {
      leaves_out_ = true;
      ++state_->left_out;
    }
    if (!leaves_out_) kept += part;
    if (part.back() == '\n') leaves_out_ = false;
  }
  state_->changed.notify_all();
  return state_->failed ? 0 : count;
}

SteadyOutput::Buffer::int_type SteadyOutput::Buffer::overflow(int_type character) {
  const char byte = traits_type::to_char_type(character);
  return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
}

int SteadyOutput::Buffer::sync() {
  const std::scoped_lock lock(state_->mutex);
  return state_->failed ? -1 : 0;
}

}  // namespace unweave
