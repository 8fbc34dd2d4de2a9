// tools/service/line_feed.cpp - polls what tells when it has more, and looks again at what does
// not.
#include "tools/service/line_feed.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "engine/resources/memory_shares.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {
namespace {

constexpr std::chrono::milliseconds kLookAgain{50};  // at a file, which does not tell when it grows

constexpr std::uint64_t kMostLine = std::uint64_t{16} << 20;
constexpr std::uint64_t kLineCopies = 8;  // as it comes, cut out, its values as text and as numbers

}  // namespace

std::uint64_t most_line_bytes(const MemoryBudget& budget) {
  return std::min(kMostLine, memory_shares::kRequestLine.of(budget));
}

Reservation reserve_line(MemoryBudget& budget) {
  return budget.reserve(kLineCopies * most_line_bytes(budget), "a line of requests");
}

LineFeed::LineFeed(std::filesystem::path path, bool follow, std::uint64_t most_line)
    : path_(std::move(path)), follow_(follow), most_line_(most_line) {
  open();
}

LineFeed::~LineFeed() {
  if (descriptor_ > 0) ::close(descriptor_);
}

void LineFeed::open() {
  if (path_ == "-") {
    descriptor_ = 0;
  } else {
    struct stat found {};
    const bool is_pipe = ::stat(path_.c_str(), &found) == 0 && S_ISFIFO(found.st_mode);
    // A named pipe that is followed is not waited for: it has no end before its first writer, and
    // one behind its last.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | (is_pipe && follow_ ? O_NONBLOCK : 0));
    if (descriptor_ < 0) throw_system_error("open", path_, errno);
  }
  struct stat opened {};
  if (::fstat(descriptor_, &opened) != 0) throw_system_error("look at", path_, errno);
  if (S_ISDIR(opened.st_mode)) throw DataError(path_.string() + ": is a folder; name a file, a pipe or -");
  is_regular_ = S_ISREG(opened.st_mode);
  read_ = 0;
}

bool LineFeed::wait(Deadline deadline) const {
  using std::chrono::milliseconds;
  constexpr milliseconds kMostPoll{60'000};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return false;
    if (is_regular_) {
      std::this_thread::sleep_for(std::min(left, kLookAgain));
      return true;
    }
    pollfd one{descriptor_, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(std::min(left, kMostPoll).count())) != 0) return true;
  }
}

bool LineFeed::was_replaced() const {
  struct stat here {
  }, named{};
  const bool is_named = ::stat(path_.c_str(), &named) == 0;
  if (::fstat(descriptor_, &here) != 0) throw_system_error("look at", path_, errno);
  if (static_cast<std::uint64_t>(here.st_size) < read_)
    throw DataError(
        path_.string() +
        ": it became shorter while it was followed: lines may be missing; let it grow, or replace it by a new file");
  // What was written to it before it lost its name is there when the name is another file's.
  return is_named && (named.st_ino != here.st_ino || named.st_dev != here.st_dev) &&
         static_cast<std::uint64_t>(here.st_size) == read_;
}

void LineFeed::reopen() {
  const int before = descriptor_;
  open();  // first: what a writer has put into a pipe stays while somebody reads it
  ::close(before);
  number_ = 0;
  starts_anew_ = false;
}

LineFeed::Next LineFeed::next(std::string& line, Deadline deadline) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n', at_); end != std::string::npos) {
      line.assign(buffer_, at_, end - at_);
      at_ = end + 1;
      break;
    }
    if (ended_) {
      if (at_ == buffer_.size()) return Next::end;
      line.assign(buffer_, at_);
      at_ = buffer_.size();
      break;
    }
    if (starts_anew_ && at_ < buffer_.size()) {
      line.assign(buffer_, at_);
      at_ = buffer_.size();
      ++number_;
      return Next::cut;
    }
    if (starts_anew_) reopen();
    buffer_.erase(0, std::exchange(at_, 0));
    if (buffer_.size() > most_line_)
      throw DataError(path_.string() + ": line " + std::to_string(number_ + 1) + " is longer than " +
                      readable_bytes(most_line_) + "; raise " + option("memory"));
    if (!is_regular_ && !wait(deadline)) return Next::timeout;
    std::array<char, 1 << 16> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got < 0 && errno != EINTR && errno != EAGAIN) throw_system_error("read", path_, errno);
    if (got > 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(got));
      read_ += static_cast<std::uint64_t>(got);
    } else if (got == 0 && (!follow_ || path_ == "-")) {
      ended_ = true;
    } else if (got == 0 && is_regular_) {
      if (was_replaced())
        starts_anew_ = true;
      else if (!wait(deadline))
        return Next::timeout;
    } else if (got == 0) {
      starts_anew_ = true;  // the last writer of a pipe has closed it
    }
  }
  if (line.ends_with('\r')) line.pop_back();
  ++number_;
  return Next::line;
}

}  // namespace unweave
